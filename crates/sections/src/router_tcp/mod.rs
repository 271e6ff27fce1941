//! The section `router-tcp`: TCP through each path, one way and both, in the
//! form of table 3 of source 004.

mod findings;

use std::collections::HashSet;

use forward::bench::{Directions, Offer, TcpResult};
use forward::router::path::Path;
use forward::topology::Cpus;
use kit::prelude::*;
use kit::routers::ground;
use kit::routers::metrics::{RECEIVED_MBIT, spot};
use kit::routers::rig::Routers;
use kit::routers::way::Way;

/// Namespaces, interfaces, and until a frame passes.
const START_S: f64 = 0.5;

const FORTH: Measure = Measure::higher("forth_mbit_per_s", "Mbit/s");
const BACK: Measure = Measure::higher("back_mbit_per_s", "Mbit/s");
const AGAIN: Measure = Measure::lower("retransmits", "segments");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Paths through which TCP goes
        paths: List<Name<Way>> = ["kernel", "bridge", "xdp-fib", "xdp-fib-cached"],
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Tcp(Config);

/// Those that say most: what every host has, and what forwards most frames.
fn rank(way: Way, directions: Directions) -> u8 {
    let says_most = matches!(way.path, Path::Kernel | Path::XdpFibCached);
    match (directions, says_most) {
        (Directions::OneWay, true) => 0,
        (Directions::OneWay, false) => 1,
        (Directions::TwoWay, _) => 2,
    }
}

/// Without what TCP chooses itself, and packet ports, which take no part.
fn place(way: Way, directions: Directions, host: &Host) -> Spot {
    let offer = Offer {
        directions,
        ..Offer::default()
    };
    let own = spot(&way.setup(&Cpus::among(&host.cpus)), &offer);
    let own = own.only(|name| !["frame", "destinations", "ports"].contains(&name));
    Spot::new().with("procedure", "tcp", "TCP").and(own)
}

impl Experiment for Tcp {
    const NAME: &'static str = "router-tcp";
    const TITLE: &'static str = "TCP through each path, one way and both";
    const PRIVILEGES: &'static [&'static str] = &[ground::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES, "iperf3 processes"];
    const STEADY: Option<Measure> = Some(RECEIVED_MBIT);
    const QUESTION: Question = Question {
        what: "What TCP gets through each path",
        against: "the source's table 3 (210 to 749 Mbit/s one way through KVM guests)",
    };

    type Config = Config;
    type Place = Directions;
    type Arm = Way;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self(config))
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::check(probe).map(drop)
    }

    fn subjects(&self, host: &Host) -> Vec<Subject<Directions, Way>> {
        let both = [Directions::OneWay, Directions::TwoWay];
        let of = |way: Way, directions| Subject {
            overhead_s: if way.spins() { START_S } else { 0.0 },
            ..Subject::new(directions, way, place(way, directions, host))
                .ranked(rank(way, directions))
        };
        let ways = self.0.paths.iter().map(|name| name.0);
        ways.flat_map(|way| both.map(|directions| of(way, directions)))
            .collect()
    }

    /// TCP finds its rate within some round trips, here of microseconds, and
    /// iperf3 takes whole seconds. It starts and ends at both ends.
    fn times(&self) -> Times {
        Times::new((1.0, 3.0), 1.0)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let ways: HashSet<_> = subjects.iter().map(|subject| subject.arm).collect();
        START_S * ways.len() as f64
    }

    fn steps(&self) -> Vec<String> {
        vec!["with iperf3, one connection each way".to_owned()]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(on(self, host, Routers::of_host()))
    }

    fn measures(&self) -> Vec<Measure> {
        vec![RECEIVED_MBIT, FORTH, BACK, AGAIN]
    }

    /// Each path against kernel routing, in the same direction.
    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Directions, Way>> {
        let others = subjects.iter().filter(|one| one.arm != Way::KERNEL);
        others
            .map(|one| Pair::at(one.place, (one.arm, Way::KERNEL), RECEIVED_MBIT))
            .collect()
    }

    fn views(&self) -> Vec<View<Self::Place, Self::Arm>> {
        Vec::new()
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn more(&self, results: &Results<'_, Self>) -> Vec<Event> {
        let table = findings::table_3(results).map(Event::Table);
        table.into_iter().collect()
    }
}

/// Trials on those routers.
fn on(_: &Tcp, host: &Host, mut routers: Routers) -> Box<dyn Rig<Tcp>> {
    let cpus = Cpus::among(&host.cpus);
    trials::<Tcp>(move |subject, slice, go_on| {
        let setup = subject.arm.setup(&cpus);
        let result = routers.with(&[setup], go_on, |rig| rig.tcp(subject.place, slice, go_on))?;
        Ok(reading(&result))
    })
}

fn reading(result: &TcpResult) -> Reading {
    let rates = &result.received_mbit_per_s;
    let again = result.retransmits.iter().sum::<u64>();
    let both = [(RECEIVED_MBIT, rates.iter().sum()), (AGAIN, again as f64)];
    let each = [FORTH, BACK].into_iter().zip(rates.iter().copied());
    Reading {
        verdict: result.verdict.clone(),
        ..Reading::new(both.into_iter().chain(each).collect())
    }
}

#[cfg(test)]
mod tests;
