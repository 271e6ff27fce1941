//! One router under test.

use std::time::{Duration, Instant};

use trial::Verdict;

use super::churn::Churn;
use super::ports::{self, Place};
use super::result::{Changes, DirectionResult};
use super::start::{Started, start};
use super::usage::{Usage, Watched};
use super::{BenchError, Directions, Offer, Setup, TcpResult, TrialResult, ceiling, tcp, together};
use crate::router::Counters;
use crate::router::path::Path;
use crate::tester::port::Port;
use crate::tester::stream::{FrameSize, Link, Stream};
use crate::tester::trial::{HostUse, Moment, Placement, Way};
use crate::tester::validity::{Claim, OwnCpu, Seen};
use crate::topology::Family;
use crate::topology::address::{Layer, assign_tester};
use crate::topology::plan::Side;

/// How long to wait for a first frame: containers and cold caches included.
const FIRST_FRAME_WAIT: Duration = Duration::from_secs(10);

/// One router, wired and ready.
///
/// Everything it made is gone when it is dropped; after `kill -9`, at the next
/// start of any program that uses [`net`].
pub struct Bench {
    setup: Setup,
    ready: Duration,
    ports: Option<[Port; 2]>,
    started: Started,
    tester_has_addresses: bool,
    trials: u8,
    /// Changes of routes so far.
    changes: u64,
    warm_for: Option<Kind>,
}

/// The parts of an offer that decide which of a router's caches it fills.
type Kind = (FrameSize, Family, Directions, u32, u32);

fn kind(offer: &Offer) -> Kind {
    (
        offer.size,
        offer.family,
        offer.directions,
        offer.destinations,
        offer.sources,
    )
}

impl Bench {
    /// Makes the topology, the home and the router, and waits until a frame
    /// passes, 10 s at most.
    ///
    /// # Errors
    /// [`BenchError::NotSupported`] names what this host or build lacks and the
    /// remedy; the others, what failed. Nothing is left half up.
    pub fn start(setup: &Setup) -> Result<Self, BenchError> {
        Self::start_while(setup, &|| true)
    }

    /// [`start`](Self::start) that stops when `go_on` returns false. `go_on` is asked
    /// first, and then while a frame is awaited.
    ///
    /// # Errors
    /// [`BenchError::Interrupted`] if it was; else as [`start`](Self::start).
    pub fn start_while(setup: &Setup, go_on: &dyn Fn() -> bool) -> Result<Self, BenchError> {
        if !go_on() {
            return Err(BenchError::Interrupted);
        }
        let begun = Instant::now();
        let mut bench = Self {
            started: start(setup)?,
            setup: setup.clone(),
            ready: Duration::ZERO,
            ports: None,
            tester_has_addresses: false,
            trials: 0,
            changes: 0,
            warm_for: None,
        };
        bench.started.limit(setup.cpu_limit)?;
        bench.wait_for_first_frame(go_on)?;
        bench.ready = begun.elapsed();
        Ok(bench)
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// How long the start took until a frame passed.
    pub fn ready(&self) -> Duration {
        self.ready
    }

    /// The first process of the container that the router lives in, by its
    /// number in the host.
    pub fn container(&self) -> Option<u32> {
        self.started.home.process()
    }

    /// One trial, with its verdict. It takes `offer.duration` and about 100 ms more:
    /// frames under way are awaited, as RFC 2544, section 23, asks (2 s there, for
    /// slower networks). Before the first trial with frames of another kind, a short
    /// one is sent and discarded: no router is measured cold.
    ///
    /// # Errors
    /// [`BenchError`]; a trial that is merely not valid is a result.
    pub fn trial(&mut self, offer: &Offer) -> Result<TrialResult, BenchError> {
        self.trial_while(offer, &|| true)
    }

    /// [`trial`](Self::trial) that stops early when `go_on` returns false; it is
    /// asked ten times a second.
    ///
    /// # Errors
    /// [`BenchError::Interrupted`] if it was; else as [`trial`](Self::trial).
    pub fn trial_while(
        &mut self,
        offer: &Offer,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TrialResult, BenchError> {
        let mut results = together::trial(&mut [self], &[*offer], go_on)?;
        Ok(results.remove(0))
    }

    /// The most that generator and sink themselves can do at this offer's size,
    /// family and directions, frames/s received: the same kind of ports with a
    /// cable in the router's place. Measured once in a process (0.1 s).
    pub fn ceiling_pps(&mut self, offer: &Offer) -> Result<f64, BenchError> {
        self.ceiling_for(offer, 0.0)
    }

    /// [`ceiling_pps`](Self::ceiling_pps), measured again a limited number of times
    /// if a result comes near it.
    pub(super) fn ceiling_for(&self, offer: &Offer, received_pps: f64) -> Result<f64, BenchError> {
        offer.check(&self.setup)?;
        ceiling::pps(&self.started.journal, &self.setup, offer, received_pps)
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
        self.tcp_while(directions, duration, &|| true)
    }

    /// [`tcp`](Self::tcp) whose processes are killed as soon as `go_on` returns
    /// false; it is asked a hundred times a second.
    ///
    /// # Errors
    /// [`BenchError::Interrupted`] if it was; else as [`tcp`](Self::tcp).
    pub fn tcp_while(
        &mut self,
        directions: Directions,
        duration: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TcpResult, BenchError> {
        // The sinks take every frame.
        self.ports = None;
        if !self.tester_has_addresses {
            // Devmap sends frames on as they came: to whom they are addressed.
            let layer = match self.setup.path {
                Path::XdpDevmap => Layer::Two,
                _ => self.layer(),
            };
            assign_tester(&self.started.topology, layer)?;
            self.tester_has_addresses = true;
        }
        let two_way = directions == Directions::TwoWay;
        let (host, used) = (Moment::now(), self.watched().tcp_usage()?);
        let report = tcp::run(&self.started.topology, two_way, duration, go_on)?;
        let host = Moment::now().since(&host, &self.placement());
        let used = self.watched().tcp_usage()?.since(used);
        let seen = Seen {
            host,
            placement: self.placement(),
            own_cpu: report.cpu.map(|ends| OwnCpu {
                generators: ends.client,
                behind: ends.server + used.kernel(),
            }),
            ..Seen::default()
        };
        Ok(TcpResult::new(report, used.router_ns, &seen))
    }

    fn watched(&mut self) -> Watched<'_> {
        Watched {
            started: &mut self.started,
            ports: self.setup.ports,
        }
    }

    /// Limits the router to this many CPUs (from 0.01; a cgroup's quota), or lifts
    /// the limit.
    ///
    /// # Errors
    /// [`BenchError::NotSupported`] without a `cpu` cgroup.
    pub fn limit(&mut self, cpus: Option<f64>) -> Result<(), BenchError> {
        self.started.limit(cpus)?;
        self.setup.cpu_limit = cpus;
        Ok(())
    }

    fn layer(&self) -> Layer {
        if self.setup.path.is_layer_two() {
            Layer::Two
        } else {
            Layer::Three
        }
    }

    /// Sends a few frames at a time until one arrives.
    fn wait_for_first_frame(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), BenchError> {
        let offer = Offer {
            duration: Duration::from_millis(1),
            frames_max: Some(8),
            ..Offer::default()
        };
        let deadline = Instant::now() + FIRST_FRAME_WAIT;
        loop {
            let (results, _) =
                together::send(&mut [self], &[offer], FIRST_FRAME_WAIT / 100, go_on)?;
            if results.iter().any(|result| result.received() > 0) {
                return Ok(());
            }
            if !go_on() {
                return Err(BenchError::Interrupted);
            }
            if Instant::now() > deadline {
                let counted = self.started.router.counters()?;
                return Err(BenchError::NothingPasses {
                    path: self.setup.path.name(),
                    waited: FIRST_FRAME_WAIT,
                    received: counted.received,
                    forwarded: counted.forwarded,
                });
            }
        }
    }

    pub(super) fn begin(&mut self, offer: &Offer) -> Result<Counters, BenchError> {
        offer.check(&self.setup)?;
        self.trials = self.trials.wrapping_add(1);
        if self.ports.is_none() {
            self.ports = Some(self.open_ports()?);
        }
        Ok(self.started.router.counters()?)
    }

    /// Changes the table of routes from now on, if the offer says so.
    pub(super) fn churn(&self, offer: &Offer) -> Result<Option<Churn>, BenchError> {
        let topology = &self.started.topology;
        (offer.changes_per_s > 0)
            .then(|| Churn::start(topology, offer.changes_per_s, self.changes))
            .transpose()
    }

    pub(super) fn note_changes(&mut self, changes: u64) {
        self.changes += changes;
    }

    fn open_ports(&self) -> Result<[Port; 2], BenchError> {
        let [zero, one] = self.started.topology.sides();
        let place = |side| Place::of(side, &self.setup.topology);
        ports::open_both(self.setup.ports, [place(zero), place(one)])
    }

    pub(super) fn is_warm_for(&self, offer: &Offer) -> bool {
        self.warm_for == Some(kind(offer))
    }

    pub(super) fn set_warm_for(&mut self, offer: &Offer) {
        self.warm_for = Some(kind(offer));
    }

    pub(super) fn streams(&self, offer: &Offer) -> Result<Vec<Stream>, BenchError> {
        let from = match offer.directions {
            Directions::OneWay => &[Side::Zero][..],
            Directions::TwoWay => &Side::BOTH,
        };
        from.iter().map(|&from| self.stream(offer, from)).collect()
    }

    pub(super) fn parts(&mut self, streams: Vec<Stream>) -> (Vec<Way<'_>>, Watched<'_>) {
        let generator_cpu = self.setup.topology.cpus.generator;
        let ports = self.ports.as_mut().expect("opened when the trial began");
        let watched = Watched {
            started: &mut self.started,
            ports: self.setup.ports,
        };
        (ports::ways(ports, streams, generator_cpu), watched)
    }

    fn stream(&self, offer: &Offer, from: Side) -> Result<Stream, BenchError> {
        let topology = &self.started.topology;
        let destination = match self.layer() {
            Layer::Two => topology.side(from.other()).tester_mac,
            Layer::Three => topology.side(from).router_mac,
        };
        let link = Link {
            source: topology.side(from).tester_mac,
            destination,
            vlan: self.setup.topology.vlan,
        };
        offer.stream(&self.setup.topology, from, link, self.trials)
    }

    /// Combines the counts of the ports and of the router, not judged yet. `used` is
    /// the router's use of CPUs while frames were sent.
    pub(super) fn finish(
        &mut self,
        offer: &Offer,
        directions: Vec<DirectionResult>,
        before: Counters,
        used: Usage,
    ) -> Result<TrialResult, BenchError> {
        let counters = self.started.router.counters()?;
        Ok(TrialResult {
            offer: *offer,
            router: counters.since(before),
            changes: Changes::default(),
            router_cpu: used.cpu,
            generator_cpu_ns: directions.iter().map(|way| way.sent.cpu_ns).sum(),
            sink_cpu_ns: directions.iter().map(|way| way.counting.cpu_ns).sum(),
            directions,
            seen: Seen {
                waited_behind: used.waited_ns.map(Duration::from_nanos),
                ..Seen::default()
            },
            verdict: Verdict::valid(),
        })
    }

    /// Whether a result is valid. `own_cpu` is the CPU time of the whole
    /// experiment.
    pub(super) fn judge(
        &self,
        result: &mut TrialResult,
        host: HostUse,
        ceiling_pps: f64,
        own_cpu: OwnCpu,
    ) {
        result.seen = Seen {
            host,
            placement: self.placement(),
            ceiling_pps: Some(ceiling_pps),
            threaded: Some(self.is_threaded()),
            own_cpu: Some(own_cpu),
            waited_behind: result.seen.waited_behind,
            kept_waiting: None,
            lost_by_ports: 0,
        };
        result.verdict = result.verdict_for(match result.offer.rate_pps {
            Some(_) => Claim::WITHOUT_LOSS,
            None => Claim::Rate,
        });
        if result.verdict.is_valid()
            && let Some(short) = result.short_of_changes()
        {
            result.verdict = short;
        }
    }

    /// Whether the kernel's threads still receive for the router; another program may
    /// have turned them off.
    fn is_threaded(&self) -> bool {
        let mut threads = self.started.topology.router_threads();
        threads.all(|thread| std::path::Path::new(&format!("/proc/{}", thread.pid)).exists())
    }

    pub(super) fn placement(&self) -> Placement {
        let cpus = &self.setup.topology.cpus;
        Placement {
            generator: vec![cpus.generator],
            device: cpus.router.clone(),
            sink: vec![cpus.sink],
        }
    }
}
