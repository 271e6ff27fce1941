//! One router under test.

use std::time::Duration;

use super::result::DirectionResult;
use super::{BenchError, Directions, Offer, Setup, TcpResult, TrialResult};
use crate::router::{Counters, Router};
use crate::tester::length::Lengths;
use crate::tester::port::Port;
use crate::tester::stream::{Link, Stream};
use crate::tester::trial::{HostUse, Placement, Way, run};
use crate::tester::validity::{Claim, Evidence};
use crate::topology::plan::{self, Side};

/// One router, wired and ready.
///
/// Everything it made is gone when it is dropped; after `kill -9`, at the next
/// start of any program that uses [`net`].
pub struct Bench {
    setup: Setup,
    ready: Duration,
    router: Box<dyn Router>,
    ports: [Port; 2],
    /// Ethernet addresses of the router's ports.
    router_macs: [[u8; 6]; 2],
    trials: u8,
}

impl Bench {
    /// Makes the topology, the home and the router, and waits until a frame
    /// passes (5 s at most; containers 20 s).
    ///
    /// # Errors
    /// [`BenchError::NotSupported`] names what this host or build lacks and the
    /// remedy; the others, what failed. Nothing is left half up.
    pub fn start(setup: &Setup) -> Result<Self, BenchError> {
        setup.topology.check()?;
        Err(BenchError::NotSupported {
            what: format!("a {} router", setup.path.name()),
            remedy: "take a later version".to_owned(),
        })
    }

    /// What it was made from.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// How long the start took until a frame passed.
    #[must_use]
    pub fn ready(&self) -> Duration {
        self.ready
    }

    /// One trial, with its verdict. It takes `offer.duration` and up to half a
    /// second more: frames under way are waited for, as RFC 2544, section 23,
    /// asks (2 s there, for slower networks).
    ///
    /// # Errors
    /// [`BenchError`]; a trial that is merely not to be believed is a result.
    pub fn trial(&mut self, offer: &Offer) -> Result<TrialResult, BenchError> {
        self.trial_while(offer, &|| true)
    }

    /// [`trial`](Self::trial) that stops early when `go_on` says so; it is asked
    /// ten times a second.
    ///
    /// # Errors
    /// [`BenchError::Interrupted`] if it was; else as [`trial`](Self::trial).
    pub fn trial_while(
        &mut self,
        offer: &Offer,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TrialResult, BenchError> {
        let before = self.begin(offer)?;
        let cpus = self.placement().cpus();
        let residual = Lengths::short(offer.duration).residual;
        let ran = run(&mut self.ways(offer)?, &cpus, residual, go_on)?;
        self.finish(offer, ran.directions, ran.host, before)
    }

    /// The most that generator and sink themselves can do at this offer's size,
    /// directions and destinations, frames/s received: the same ports with a
    /// cable in the router's place. Measured once (0.5 s) and kept.
    ///
    /// # Errors
    /// [`BenchError`].
    pub fn ceiling_pps(&mut self, offer: &Offer) -> Result<f64, BenchError> {
        self.trial(offer).map(|result| result.received_pps())
    }

    /// TCP through the router with `iperf3`, one stream each way.
    ///
    /// # Errors
    /// [`BenchError::NotSupported`] without `iperf3`.
    pub fn tcp(
        &mut self,
        directions: Directions,
        duration: Duration,
    ) -> Result<TcpResult, BenchError> {
        let _ = (directions, duration);
        Err(BenchError::NotSupported {
            what: "TCP through a router".to_owned(),
            remedy: "take a later version".to_owned(),
        })
    }

    /// Limits the router to so many CPUs (0.01 and up; a cgroup's quota), or
    /// lifts the limit.
    ///
    /// # Errors
    /// [`BenchError::NotSupported`] without a `cpu` cgroup.
    pub fn limit(&mut self, cpus: Option<f64>) -> Result<(), BenchError> {
        self.setup.cpu_limit = cpus;
        Ok(())
    }

    /// Checks the offer, counts the trial, and reads what the router has
    /// counted so far.
    pub(super) fn begin(&mut self, offer: &Offer) -> Result<Before, BenchError> {
        offer.check(&self.setup)?;
        self.trials = self.trials.wrapping_add(1);
        Ok(Before {
            counters: self.router.counters()?,
            cpu_ns: self.router.cpu_ns()?,
        })
    }

    /// What is sent by whom and counted by whom.
    pub(super) fn ways(&mut self, offer: &Offer) -> Result<Vec<Way<'_>>, BenchError> {
        let forth = self.stream(offer, Side::Zero)?;
        let back = match offer.directions {
            Directions::OneWay => None,
            Directions::TwoWay => Some(self.stream(offer, Side::One)?),
        };
        let generator_cpu = self.setup.topology.cpus.generator;
        let [zero, one] = &mut self.ports;
        let mut ways = vec![Way {
            transmitter: zero.transmitter.as_mut(),
            receiver: one.receiver.as_mut(),
            stream: forth,
            generator_cpu,
        }];
        ways.extend(back.map(|stream| Way {
            transmitter: one.transmitter.as_mut(),
            receiver: zero.receiver.as_mut(),
            stream,
            generator_cpu,
        }));
        Ok(ways)
    }

    fn stream(&self, offer: &Offer, from: Side) -> Result<Stream, BenchError> {
        let spec = &self.setup.topology;
        let destination = if self.setup.path.is_layer_two() {
            self.ports[from.other().index()].address
        } else {
            self.router_macs[from.index()]
        };
        Ok(Stream {
            trial: self.trials,
            id: u8::from(from == Side::One),
            link: Link {
                source: self.ports[from.index()].address,
                destination,
                vlan: spec.vlan,
            },
            addresses: plan::addresses(spec, from, offer.family, offer.destinations)?,
            size: offer.size,
            rate_pps: offer.rate_pps,
            duration: offer.duration,
            frames_max: offer.frames_max,
        })
    }

    /// Puts together what the ports and the router say, and judges it.
    pub(super) fn finish(
        &mut self,
        offer: &Offer,
        directions: Vec<DirectionResult>,
        host: HostUse,
        before: Before,
    ) -> Result<TrialResult, BenchError> {
        let counters = self.router.counters()?;
        let cpu_ns = self.router.cpu_ns()?;
        let mut result = TrialResult {
            offer: *offer,
            router: Counters {
                received: counters.received.saturating_sub(before.counters.received),
                forwarded: counters.forwarded.saturating_sub(before.counters.forwarded),
                dropped: counters.dropped.saturating_sub(before.counters.dropped),
            },
            router_cpu_ns: cpu_ns.saturating_sub(before.cpu_ns),
            generator_cpu_ns: directions.iter().map(|way| way.sent.cpu_ns).sum(),
            sink_cpu_ns: directions.iter().map(|way| way.received.cpu_ns).sum(),
            directions,
            verdict: trial::Verdict::valid(),
        };
        result.verdict = self.judge(&result, host);
        Ok(result)
    }

    /// Whether a result may be believed.
    fn judge(&self, result: &TrialResult, host: HostUse) -> trial::Verdict {
        let claim = match result.offer.rate_pps {
            Some(_) => Claim::Loss,
            None => Claim::Rate,
        };
        Evidence {
            claim,
            directions: &result.directions,
            host,
            placement: &self.placement(),
            ceiling_pps: None,
            threaded: None,
            counters: Some(result.router),
            device_cpu: Some(Duration::from_nanos(result.router_cpu_ns)),
        }
        .verdict()
    }

    /// Which CPUs do what.
    pub(super) fn placement(&self) -> Placement {
        let cpus = &self.setup.topology.cpus;
        Placement {
            generator: vec![cpus.generator],
            device: cpus.router.clone(),
            sink: vec![cpus.sink],
        }
    }
}

/// What the router had counted when a trial began.
pub(super) struct Before {
    counters: Counters,
    cpu_ns: u64,
}
