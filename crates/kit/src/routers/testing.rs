//! Routers of known speed, for the tests.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use forward::bench::{
    BenchError, DirectionResult, Directions, Offer, Setup, TcpResult, TrialResult,
};
use forward::home;
use forward::router::path::{AfXdp, Path, Poll};
use forward::router::{Counters, Cpu};
use forward::tester::port::{Received, Transmitted};
use forward::tester::stream::{Addresses, Link, Stream};
use forward::tester::trial::{Counting, Sender};
use forward::tester::validity::{Claim, Seen};
use forward::topology::Routes;
use trial::{Event, Finding, Validity, Verdict, Weight};

use crate::experiment::{self, Experiment};
use crate::host::Host;
use crate::plan;
use crate::routers::rig::{Rig, Routers};
use crate::routers::trial::Trial;
use crate::section::run_with;
pub use crate::testing::{
    Collector, assert_has, assert_refused, comparisons, findings, points, section, tables,
};

/// A generator's best, frames/s.
const GENERATOR_PPS: f64 = 10e6;

/// One second in which this many frames were offered and received; the router
/// was busy all the time.
pub fn result(offered: u64, received: u64) -> TrialResult {
    of(&Offer::default(), 1.0, offered, received)
}

fn of(offer: &Offer, elapsed_s: f64, offered: u64, received: u64) -> TrialResult {
    let elapsed_ns = (elapsed_s * 1e9) as u64;
    let way = DirectionResult {
        stream: stream(offer),
        sender: Sender::default(),
        sent: Transmitted {
            due: offered,
            offered,
            elapsed_ns,
            ..Transmitted::default()
        },
        received: Received {
            received,
            bytes: (received as f64 * offer.size.mean_bytes()) as u64,
            elapsed_ns,
            ..Received::default()
        },
        counting: Counting {
            frames: received,
            cpu_ns: elapsed_ns / 10,
        },
    };
    let ways = if offer.directions == Directions::TwoWay {
        2
    } else {
        1
    };
    TrialResult {
        changes: forward::bench::Changes::default(),
        offer: *offer,
        directions: vec![way; ways as usize],
        router: Counters {
            received: ways * offered,
            forwarded: ways * received,
            dropped: ways * (offered - received),
            unsure: 0,
            own: None,
        },
        router_cpu: Cpu::of_kernel(elapsed_ns),
        generator_cpu_ns: elapsed_ns,
        sink_cpu_ns: elapsed_ns / 10,
        seen: Seen::default(),
        verdict: Verdict::valid(),
    }
}

fn stream(offer: &Offer) -> Stream {
    let none = std::net::Ipv4Addr::UNSPECIFIED;
    Stream {
        trial: 0,
        id: 0,
        link: Link {
            source: [2; 6],
            destination: [4; 6],
            vlan: None,
        },
        addresses: Addresses::V4 {
            source: none,
            sources: 1,
            first: none,
            count: offer.destinations,
            stride: 1,
        },
        size: offer.size,
        rate_pps: offer.rate_pps,
        duration: offer.duration,
        frames_max: offer.frames_max,
        in_flight_max: offer.in_flight_max,
    }
}

/// Measures a section of the kit in as many rounds as it wants, with a rig on
/// that host; `rig` makes it of the section, the host and its routers.
///
/// # Panics
/// Where the options of `text` are not allowed.
pub fn measured<E: Experiment>(
    text: &str,
    fake: &Fake,
    rig: impl FnOnce(&E, &Host, Routers) -> Box<dyn experiment::Rig<E>>,
) -> Vec<Event> {
    let experiment: E = section(text).expect("allowed");
    let host = Host::with_cpus([0, 1]);
    let job = plan::job(
        &experiment,
        &experiment.subjects(&host),
        Duration::from_secs(3600),
    );
    let own = fake.clone();
    let routers = Routers::built_by(move |setups, _| own.build(setups));
    let (mut rig, mut sink) = (rig(&experiment, &host, routers), Collector::default());
    let job = job.expect("it fits");
    run_with(&experiment, &host, &job, rig.as_mut(), &mut sink).expect("it ends well");
    sink.events
}

/// A host with routers of known speed.
#[derive(Clone, Default)]
pub struct Fake {
    /// Trials so far, of all rigs.
    pub trials: Rc<Cell<usize>>,
    /// Paths that it cannot do.
    pub missing: Vec<&'static str>,
    /// Homes that it does not have.
    pub missing_homes: Vec<&'static str>,
    /// Paths whose trials are never valid.
    pub noisy: Vec<&'static str>,
    /// Paths that lose three frames of ten.
    pub lossy: Vec<&'static str>,
}

struct FakeRig {
    setups: Vec<Setup>,
    host: Fake,
}

impl Fake {
    pub fn build(&self, setups: &[Setup]) -> Result<Box<dyn Rig>, BenchError> {
        let paths = setups.iter().map(|setup| setup.path.name());
        let homes = setups.iter().map(|setup| setup.home.name());
        let missing = paths
            .filter(|name| self.missing.contains(name))
            .chain(homes.filter(|name| self.missing_homes.contains(name)))
            .next();
        match missing {
            Some(name) => Err(BenchError::NotSupported {
                what: format!("a {name} router"),
                remedy: format!("install {name}"),
            }),
            None => Ok(Box::new(FakeRig {
                setups: setups.to_vec(),
                host: self.clone(),
            })),
        }
    }
}

/// What such a router can carry, frames/s.
pub fn capacity_pps(setup: &Setup, offer: &Offer) -> f64 {
    let many = offer.destinations > 256;
    let factor = match setup.path {
        Path::Kernel if setup.topology.routes == Routes::Table(100_000) => 0.5,
        Path::Kernel => 1.0,
        Path::Bridge => 1.1,
        Path::XdpCpumap | Path::Testpmd | Path::Planted(_) => 0.8,
        Path::XdpDevmap => 3.2,
        Path::XdpFib => 1.7,
        Path::XdpFibCached if many => 2.3,
        Path::XdpFibCached => 3.0,
        Path::AfXdp(AfXdp { poll, batch, .. }) => {
            let waits = if poll == Poll::Polled { 1.0 } else { 0.5 };
            waits * if batch >= 32 { 1.0 } else { 0.4 }
        }
    };
    let home = if setup.home == home::Kind::Namespace {
        1.0
    } else {
        0.95
    };
    let bytes = 1.0 + offer.size.mean_bytes() / 10_000.0;
    let share = setup.cpu_limit.unwrap_or(1.0);
    factor * home * share * 900_000.0 / bytes
}

impl Rig for FakeRig {
    fn trial(&mut self, offers: &[Offer], go_on: &dyn Fn() -> bool) -> Result<Trial, BenchError> {
        if !go_on() {
            return Err(BenchError::Interrupted);
        }
        let count = self.host.trials.get();
        self.host.trials.set(count + 1);
        assert_eq!(offers.len(), self.setups.len());
        let jitter = 1.0 + (count % 7) as f64 * 0.001;
        let one = |(setup, offer): (&Setup, &Offer)| {
            let ways = if offer.directions == Directions::TwoWay {
                2.0
            } else {
                1.0
            };
            let most = capacity_pps(setup, offer) * jitter / ways / offers.len() as f64;
            let seconds = offer.duration.as_secs_f64();
            let is_lossy = self.host.lossy.contains(&setup.path.name());
            let kept = if is_lossy { 0.7 } else { 1.0 };
            // A generator that follows what comes offers no more.
            let flood = match offer.in_flight_max {
                Some(_) => most / kept,
                None => GENERATOR_PPS,
            };
            let offered = offer.rate_pps.unwrap_or(flood) * seconds;
            let received = (offered * kept).min(most * seconds);
            let mut result = of(offer, seconds, offered as u64, received as u64);
            if is_lossy {
                result.verdict = result.verdict_for(Claim::Rate);
            }
            if self.host.noisy.contains(&setup.path.name()) {
                let ways = result.directions.iter_mut();
                ways.for_each(|way| way.sent.gap_ns_max = 20_000_000);
                result.verdict = noisy();
            }
            result
        };
        let routers = self.setups.iter().zip(offers).map(one).collect();
        Ok(Trial { routers })
    }

    fn tcp(
        &mut self,
        directions: Directions,
        _: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TcpResult, BenchError> {
        if !go_on() {
            return Err(BenchError::Interrupted);
        }
        let rates = match directions {
            Directions::OneWay => vec![10_000.0],
            Directions::TwoWay => vec![6000.0, 5000.0],
        };
        let name = self.setups[0].path.name();
        let verdict = match self.host.noisy.contains(&name) {
            true => noisy(),
            false => Verdict::valid(),
        };
        Ok(TcpResult {
            retransmits: vec![0; rates.len()],
            received_mbit_per_s: rates,
            router_cpu_ns: 1_000_000,
            congestion_control: "cubic".to_owned(),
            verdict,
        })
    }
}

fn noisy() -> Verdict {
    Verdict::new(Validity::Noisy, "a pause of 20 ms", "a quiet host")
}

/// What a section says first: always its one headline.
pub fn headline(events: &[Event]) -> &Finding {
    let mut findings = events.iter().filter_map(|event| match event {
        Event::Finding(finding) => Some(finding),
        _ => None,
    });
    let first = findings.next().expect("a section says something");
    assert_eq!(first.weight, Weight::Headline, "{first:?}");
    assert!(findings.all(|other| other.weight != Weight::Headline));
    first
}
