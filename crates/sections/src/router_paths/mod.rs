//! The section `router-paths`: what each path of this host carries, and what
//! polling, batching and queues bound to cores give (source 004, section 3.4).

mod findings;
mod load;
mod questions;

use kit::prelude::*;
use kit::routers::ground;
use kit::routers::metrics::{IDLE_POLLS, LOSS, PER_CPU, RECEIVED_PPS, ROUTER_CPU, measures, spot};
use kit::routers::options::{Destinations, Frame, TableRoutes};
use kit::routers::rig::Routers;
use kit::routers::trial::Trial;
use kit::routers::way::Way;
use trial::Price;

use load::{IN_FLIGHT_MAX, Load};

/// The shortest trial that means something, several times a scheduler's slice,
/// and the longest, seconds.
const SLICE_S: (f64, f64) = (0.15, 0.5);
/// Starting the port, waiting for frames on their way, counting.
const OVERHEAD_S: f64 = 0.15;
/// Namespaces, interfaces, routes, and until a frame passes.
const START_S: f64 = 0.5;
/// More is a slip of the finger: each stands ready with namespaces of its own.
const SUBJECTS_MAX: usize = 128;
const SOURCES_MAX: usize = forward::topology::plan::SOURCES_MAX as usize;
/// More than a kernel takes from one thread.
const CHANGES_MAX: usize = 100_000;

/// Every path, and AF_XDP in the ways that say what each of its settings gives.
const PATHS: [&str; 16] = [
    "kernel",
    "bridge",
    "xdp-devmap",
    "xdp-fib",
    "xdp-fib-cached",
    "xdp-cpumap",
    "af-xdp:polled:1",
    "af-xdp:polled:8",
    "af-xdp:polled:32",
    "af-xdp:polled:64",
    "af-xdp:interrupt:1",
    "af-xdp:interrupt:32",
    "af-xdp:busy-poll:32",
    "af-xdp:polled:32:2",
    "af-xdp:polled:32:2:unbound",
    "testpmd",
];
/// The paths that say most, where time is short.
const FEW: [&str; 6] = [
    "kernel",
    "xdp-devmap",
    "xdp-fib",
    "xdp-fib-cached",
    "af-xdp:polled:1",
    "af-xdp:polled:32",
];

const OFFERED: Measure = Measure::fact("offered_frames", "frames");
const RECEIVED: Measure = Measure::fact("received_frames", "frames");
const LOST: Measure = Measure::fact("lost_frames", "frames");
const GIVEN_UP: Measure = Measure::fact("given_up_frames", "frames");
const CHANGES: Measure = Measure::fact("changed_routes", "routes");

kit::keys! {
    /// What is measured.
    pub struct Config {
        /// Paths to forward on
        paths: List<Name<Way>> = PATHS,
        /// Bytes of a frame with its check sequence, or imix
        frame: Frame = 64,
        /// Frames go both ways at the same time
        two_way: bool = false,
        /// IPv6 in place of IPv4
        ipv6: bool = false,
        /// Different destinations; all paths have the first, those to which they can matter the others
        destinations: List<Destinations> = [1, 256, 65_536],
        /// Routes of the kernel's table besides the links', on the paths that ask it
        routes: Several<TableRoutes> = [1000, 100_000],
        /// Different sources, hosts on the link, where there is a table of routes: powers of two
        sources: List<Count<1, SOURCES_MAX>> = [1],
        /// Routes of a table that become others, each second
        changes: List<Count<0, CHANGES_MAX>> = [0],
    }
}

/// The section, configured.
#[derive(Clone)]
pub struct Paths(Config);

impl Paths {
    /// Conditions in words: under tables and charts.
    fn note(&self) -> String {
        format!(
            "Offered as fast as frames come through, {IN_FLIGHT_MAX} under way at most: what arrives is the most that the path carries, not RFC 2544's throughput. A trial that loses more than {:.0}% is not valid. Generator on one CPU; router and sink on others, or on one where there are two. Over veth pairs.",
            forward::tester::validity::WINDOW_LOSS_MAX * 100.0
        )
    }
}

impl Experiment for Paths {
    const NAME: &'static str = "router-paths";
    const TITLE: &'static str =
        "Forwarding paths: what XDP, AF_XDP, polling, batching and queues give";
    const PRIVILEGES: &'static [&'static str] = &[ground::PRIVILEGES];
    const CREATES: &'static [&'static str] = &[ground::CREATES];
    const STEADY: Option<Measure> = Some(RECEIVED_PPS);
    const QUESTION: Question = Question {
        what: "What the forwarding paths of this host give over kernel routing",
        against: "the project's targets (BENCHMARKING.md, \"Forwarding\")",
    };

    type Config = Config;
    type Place = Load;
    type Arm = Way;
    type Notes = ();

    fn new(config: Config) -> Result<Self, ConfigError> {
        if config.ipv6 {
            config.frame.check_v6("frame")?;
            if !config.routes.is_empty() {
                let reason = "tables of routes are IPv4's; with ipv6 = true write routes = []";
                return Err(ConfigError::value("routes", reason));
            }
        }
        if config.routes.is_empty() {
            let given = [
                ("sources", config.sources[..] != [1.into()]),
                ("changes", config.changes[..] != [0.into()]),
            ];
            if let Some((key, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                let reason = "these are of a table; name one in routes";
                return Err(ConfigError::value(key, reason));
            }
        }
        if let Some(odd) = config
            .sources
            .iter()
            .find(|count| !count.get().is_power_of_two())
        {
            let reason = format!("{} is no power of two", odd.get());
            return Err(ConfigError::value("sources", reason));
        }
        let own = Self(config);
        let count = own.grid().len();
        if count > SUBJECTS_MAX {
            let reason = format!(
                "{count} routers with their loads; the limit is {SUBJECTS_MAX}; name fewer paths, destinations or routes"
            );
            return Err(ConfigError::value("paths", reason));
        }
        Ok(own)
    }

    fn config(&self) -> &Config {
        &self.0
    }

    fn needs(&self, probe: &Probe) -> Result<(), PlanError> {
        ground::check(probe).map(drop)
    }

    /// What spins is started anew for every trial.
    fn subjects(&self, host: &Host) -> Vec<Subject<Load, Way>> {
        let of = |(load, way): (Load, Way)| {
            let setup = self.setup(way, load, &host.cpus);
            let words = Spot::new().also("procedure", "saturation");
            let words = words.and(spot(&setup, &self.offer(&setup, load)));
            Subject {
                overhead_s: if way.spins() { START_S } else { 0.0 },
                ..Subject::new(load, way, words).ranked(self.rank(way, load))
            }
        };
        self.grid().into_iter().map(of).collect()
    }

    fn times(&self) -> Times {
        Times::new(SLICE_S, OVERHEAD_S)
    }

    fn start_s(&self, subjects: &Subjects<Self>) -> f64 {
        let staying = subjects.iter().filter(|one| !one.arm.spins());
        START_S * staying.count() as f64
    }

    fn steps(&self) -> Vec<String> {
        vec![ground::ports_step()]
    }

    fn rig(&self, host: &Host, _: &Subjects<Self>) -> Result<Box<dyn Rig<Self>>, Stopped> {
        Ok(on(self, host, Routers::of_host()))
    }

    fn measures(&self) -> Vec<Measure> {
        let counts = [OFFERED, RECEIVED, LOST, GIVEN_UP, CHANGES];
        measures().into_iter().chain(counts).collect()
    }

    /// The router's CPU time of one frame, by the kernel and by the fastest that
    /// routes as it does.
    fn prices(&self, results: &Results<'_, Self>) -> Vec<Price> {
        let load = self.first();
        let price = |way: Way| {
            let rounds_ns = results.series(&load, &way)?.values(ROUTER_CPU);
            let price = Price::of_rounds(format!("frame, {}", way.what()), &rounds_ns);
            price.filter(|_| results.is_valid(&load, &way))
        };
        [Way::KERNEL, questions::CACHED]
            .into_iter()
            .filter_map(price)
            .collect()
    }

    fn pairs(&self, subjects: &Subjects<Self>) -> Vec<Pair<Load, Way>> {
        questions::pairs(self, subjects)
    }

    fn views(&self) -> Vec<View<Load, Way>> {
        let title = "What each path carries";
        let note = format!(
            "{} The CPU time of idle polls is a lower bound where the driver's threads share the CPU.",
            self.note()
        );
        let columns = [
            Cells::of(RECEIVED_PPS, "received"),
            Cells::Ratio(RECEIVED_PPS, Way::KERNEL, "over kernel routing"),
            Cells::of(LOSS, "lost"),
            Cells::of(GIVEN_UP, "not waited for"),
            Cells::of(ROUTER_CPU, "router's CPU"),
            Cells::of(PER_CPU, "per CPU-second"),
            Cells::of(IDLE_POLLS, "idle polls"),
            Cells::Verdict,
        ];
        let whiskers = format!("{} Whiskers: 95% interval of the median.", self.note());
        let received = Rows::new(title, whiskers, "received", Shown::Value(RECEIVED_PPS))
            .series("destinations")
            .only(|load: &Load, _| load.routes.is_none());
        vec![Sheet::new(title, note, columns).into(), received.into()]
    }

    fn answer(&self, results: &Results<'_, Self>) -> Option<Answer> {
        findings::answer(results)
    }

    fn findings(&self, results: &Results<'_, Self>) -> Vec<Finding> {
        findings::findings(results)
    }
}

/// Trials on those routers.
fn on(paths: &Paths, host: &Host, mut routers: Routers) -> Box<dyn Rig<Paths>> {
    let (paths, cpus) = (paths.clone(), host.cpus.clone());
    trials::<Paths>(move |subject, slice, go_on| {
        let setup = paths.setup(subject.arm, subject.place, &cpus);
        let mut offer = paths.offer(&setup, subject.place);
        offer.duration = slice;
        let trial = routers.with(&[setup], go_on, |rig| rig.trial(&[offer], go_on))?;
        Ok(reading(&trial))
    })
}

fn reading(trial: &Trial) -> Reading {
    let router = &trial.routers[0];
    let given_up: u64 = router.directions.iter().map(|way| way.sent.given_up).sum();
    let counts = [
        (OFFERED, router.offered()),
        (RECEIVED, router.received()),
        (LOST, router.lost()),
        (GIVEN_UP, given_up),
        (CHANGES, router.changes.made),
    ];
    let mut reading = Reading::from(trial);
    let counts = counts.map(|(measure, count)| (measure, count as f64));
    reading.values.extend(counts);
    reading
}

#[cfg(test)]
mod tests;
