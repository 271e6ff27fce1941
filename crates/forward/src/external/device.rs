//! The device with the tester's ports at both ends: trials.

use std::time::{Duration, Instant};

use net::netlink::LinkStatistics;
use net::{Journal, Tag};

use super::attach::{Attached, PortFacts};
use super::tasks::{Used, holders, used};
use super::{ExternalError, Setup, neighbour};
use crate::bench::offer::ETHERNET_BYTES;
use crate::bench::{Directions, PortKind, ports};
use crate::tester::line;
use crate::tester::port::Port;
use crate::tester::procedure::Outcome;
use crate::tester::stream::{FrameSize, Link, Stream};
use crate::tester::trial::{Direction, Placement, latency_of, outcome, run};
use crate::tester::validity::{Claim, Evidence, OwnCpu, Seen};
use crate::topology::address::Layer;
use crate::topology::plan::Side;

/// RFC 2544, section 23: two seconds for frames that are still under way. A look ends
/// as soon as all have come, or no more come.
const RESIDUAL: Duration = Duration::from_secs(2);
/// How long a device may take until it passes a first frame, each way.
const FIRST_FRAME_WAIT: Duration = Duration::from_secs(10);
/// Frames of a first look, and how long it waits for them.
const FIRST_FRAMES: u64 = 8;
const FIRST_RESIDUAL: Duration = Duration::from_millis(200);
/// A device with caches is warm after it, a bridge knows its hosts.
const WARM_UP: Duration = Duration::from_millis(50);
/// Frames that a driver may not have counted yet: those in its ring.
const UNCOUNTED_MAX: u64 = 4096;

/// What to offer, to all ports that send together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    pub size: FrameSize,
    /// Frames a second; `None`: as many as the ports can.
    pub rate_pps: Option<f64>,
    pub duration: Duration,
    /// A burst of that many frames.
    pub frames: Option<u64>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub directions: Vec<Direction>,
    pub seen: Seen,
}

impl Tried {
    pub fn outcome(&self, claim: Claim) -> Outcome {
        let evidence = Evidence {
            claim,
            directions: &self.directions,
            counters: None,
            seen: &self.seen,
        };
        outcome(&self.directions, evidence.verdict())
    }

    /// Frames/s that came, all directions.
    pub fn received_pps(&self) -> f64 {
        self.directions.iter().map(Direction::received_pps).sum()
    }

    pub fn sum(&self, of: impl Fn(&Direction) -> u64) -> u64 {
        self.directions.iter().map(of).sum()
    }

    pub fn longest_ns(&self) -> Option<u64> {
        latency_of(&self.directions).max_ns()
    }
}

/// A device, and the ports at both its ends. When it is dropped the ports are back.
pub struct External {
    setup: Setup,
    kind: PortKind,
    /// To whom the frames that enter on a side are addressed.
    next: [[u8; 6]; 2],
    ports: [Port; 2],
    ends: [Attached; 2],
    tasks: Vec<i32>,
    trials: u8,
    warm_for: Option<FrameSize>,
    _journal: Journal,
}

impl External {
    /// Takes the ports, asks the device for its addresses if it is a router, and waits
    /// until frames pass both ways, 10 s at most.
    ///
    /// # Errors
    /// [`ExternalError`]; the ports are back then.
    pub fn connect(setup: &Setup, go_on: &dyn Fn() -> bool) -> Result<Self, ExternalError> {
        setup.check()?;
        if !rustix::process::geteuid().is_root() {
            return Err(ExternalError::NotSupported {
                what: "a test between two ports".to_owned(),
                remedy: "run as root: ports are moved to network namespaces of the tester"
                    .to_owned(),
            });
        }
        setup.look()?;
        let journal = Journal::open()?;
        let tag = Tag::fresh();
        let [zero, one] = Side::BOTH.map(|side| Attached::take(&journal, &tag, setup, side));
        let mut ends = [zero?, one?];
        for end in &mut ends {
            end.await_carrier(go_on)?;
        }
        let mut next = [ends[1].facts.address, ends[0].facts.address];
        if setup.is_routed() {
            for (index, end) in ends.iter().enumerate() {
                let addresses = &setup.addressing.0[index];
                next[index] =
                    neighbour::resolve(&end.namespace, &end.facts.name, addresses, go_on)?;
            }
        }
        let taps = ends.iter().filter(|end| end.facts.kind == "tun");
        let mut tasks: Vec<i32> = taps.flat_map(|end| holders(&end.facts.name)).collect();
        tasks.extend(&setup.tasks);
        tasks.sort_unstable();
        tasks.dedup();
        let (kind, ports) = open(setup, &ends, &next)?;
        let mut device = Self {
            setup: setup.clone(),
            kind,
            next,
            ports,
            ends,
            tasks,
            trials: 1,
            warm_for: None,
            _journal: journal,
        };
        device.wait_for_first_frames(go_on)?;
        Ok(device)
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    pub fn facts(&self) -> [&PortFacts; 2] {
        let [zero, one] = &self.ends;
        [&zero.facts, &one.facts]
    }

    /// How frames are sent and counted.
    pub fn kind(&self) -> PortKind {
        self.kind
    }

    /// Processes on this host that are known to be the device's.
    pub fn tasks(&self) -> &[i32] {
        &self.tasks
    }

    /// The MTU of both ports allows frames of this many bytes at most, with their
    /// frame check sequence.
    pub fn frame_bytes_max(&self) -> u32 {
        self.ends.iter().map(|end| end.facts.mtu).min().unwrap_or(0) + ETHERNET_BYTES
    }

    /// One trial. Before the first with frames of another size, a short one is sent
    /// and discarded.
    ///
    /// # Errors
    /// [`ExternalError`]; a trial that is merely not valid is a result.
    pub fn trial(&mut self, ask: &Ask, go_on: &dyn Fn() -> bool) -> Result<Tried, ExternalError> {
        if self.warm_for != Some(ask.size) {
            let short = Ask {
                duration: ask.duration.min(WARM_UP),
                ..*ask
            };
            self.send(&short, self.setup.directions, RESIDUAL, go_on)?;
            self.warm_for = Some(ask.size);
        }
        self.send(ask, self.setup.directions, RESIDUAL, go_on)
    }

    fn send(
        &mut self,
        ask: &Ask,
        directions: Directions,
        residual: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Tried, ExternalError> {
        self.trials = self.trials.wrapping_add(1);
        let from = match directions {
            Directions::OneWay => &[Side::Zero][..],
            Directions::TwoWay => &Side::BOTH,
        };
        let ways = from.len() as u32;
        let streams = from
            .iter()
            .map(|&side| {
                stream(
                    &self.setup,
                    &self.ends,
                    &self.next,
                    (ask, ways),
                    (side, self.trials),
                )
            })
            .collect();
        let placement = self.placement();
        let before = self.statistics()?;
        let (tasks, threads) = (&self.tasks, self.threads());
        let mut read = || (used(tasks), used(&threads));
        let mut ways = ports::ways(&mut self.ports, streams, self.setup.cpus.generator);
        let ran = run(&mut ways, &placement, residual, &mut read, go_on)?;
        drop(ways);
        let [(device, sink), (device_last, sink_last)] = ran.readings;
        let (device, sink) = (device_last.since(device), sink_last.since(sink));
        let lost_by_ports = self.lost_by_ports(&before, &ran.directions)?;
        let sum = |of: fn(&Direction) -> u64| ran.directions.iter().map(of).sum();
        let own_cpu = OwnCpu {
            generators: Duration::from_nanos(sum(|one| one.sent.cpu_ns)),
            behind: Duration::from_nanos(sum(|one| one.counting.cpu_ns)) + device.cpu(),
        };
        Ok(Tried {
            seen: Seen {
                host: ran.host,
                placement,
                own_cpu: Some(own_cpu),
                waited_behind: self.waited_behind(device, sink),
                kept_waiting: self.kept_waiting(device, ran.host.elapsed),
                lost_by_ports,
                ..Seen::default()
            },
            directions: ran.directions,
        })
    }

    /// The kernel's threads that receive for the tester.
    fn threads(&self) -> Vec<i32> {
        let threads = self.ends.iter().flat_map(|end| &end.threads);
        threads.map(|thread| thread.pid).collect()
    }

    /// Where a device on this host is not known by its processes, it is not known who
    /// waited for whom.
    fn waited_behind(&self, device: Used, sink: Used) -> Option<Duration> {
        let counts_by_threads =
            self.kind == PortKind::LiveFrame && self.ends.iter().all(|end| !end.threads.is_empty());
        let is_known = !self.is_on_this_host() || !self.tasks.is_empty();
        let waited = device.waited_ns? + sink.waited_ns?;
        (counts_by_threads && is_known).then(|| Duration::from_nanos(waited))
    }

    /// All the time, where it is not known.
    fn kept_waiting(&self, device: Used, elapsed: Duration) -> Option<Duration> {
        let known = match self.tasks.is_empty() {
            true => None,
            false => device.waited_ns.map(Duration::from_nanos),
        };
        self.is_on_this_host().then(|| known.unwrap_or(elapsed))
    }

    fn is_on_this_host(&self) -> bool {
        !self.setup.is_joined && self.ends.iter().any(|end| end.facts.is_of_this_host())
    }

    fn placement(&self) -> Placement {
        let cpus = &self.setup.cpus;
        let on_host = self.is_on_this_host();
        Placement {
            generator: vec![cpus.generator],
            device: if on_host { cpus.router.clone() } else { vec![] },
            sink: vec![cpus.sink],
        }
    }

    fn statistics(&self) -> Result<[LinkStatistics; 2], ExternalError> {
        let [zero, one] = &self.ends;
        Ok([zero.statistics()?, one.statistics()?])
    }

    /// Frames that the tester's own cards did not take, or did not give.
    fn lost_by_ports(
        &self,
        before: &[LinkStatistics; 2],
        directions: &[Direction],
    ) -> Result<u64, ExternalError> {
        let now = self.statistics()?;
        let mut lost = 0;
        for (index, direction) in directions.iter().enumerate() {
            let (from, to) = (index, 1 - index);
            lost += now[to].rx_missed.saturating_sub(before[to].rx_missed);
            // What a veth or a tap does not take, the other end did not make room for.
            if !self.ends[from].facts.is_of_this_host() {
                let left = now[from].tx_packets.saturating_sub(before[from].tx_packets);
                let short = direction.sent.offered.saturating_sub(left);
                lost += if short > UNCOUNTED_MAX { short } else { 0 };
            }
        }
        Ok(lost)
    }

    /// Both ways, whatever is tested: a bridge learns where its hosts are.
    fn wait_for_first_frames(&mut self, go_on: &dyn Fn() -> bool) -> Result<(), ExternalError> {
        let first = first(&self.setup);
        let deadline = Instant::now() + FIRST_FRAME_WAIT;
        loop {
            let tried = self.send(&first, Directions::TwoWay, FIRST_RESIDUAL, go_on)?;
            let came = [0, 1].map(|way: usize| tried.directions[way].received.received > 0);
            let is_enough = match self.setup.directions {
                Directions::OneWay => came[0],
                Directions::TwoWay => came[0] && came[1],
            };
            if is_enough {
                return Ok(());
            }
            if !go_on() {
                return Err(ExternalError::Interrupted);
            }
            if Instant::now() > deadline {
                return Err(self.nothing_passes(&tried));
            }
        }
    }

    fn nothing_passes(&self, tried: &Tried) -> ExternalError {
        let [zero, one] = &self.setup.ports;
        let came = |way: usize| tried.directions[way].received.received;
        let remedy = match self.setup.layer {
            _ if self.setup.is_joined => "join them by a cable, with nothing between".to_owned(),
            Layer::Two => {
                "is it a bridge, and do its ports forward? A router is tested without --layer 2"
                    .to_owned()
            }
            Layer::Three => {
                let [a, b] = &self.setup.addressing.0;
                format!(
                    "it must forward, with a route to {}/{} by {} and one to {}/{} by {}",
                    a.behind.address,
                    a.behind.bits,
                    a.tester.address,
                    b.behind.address,
                    b.behind.bits,
                    b.tester.address
                )
            }
        };
        ExternalError::NothingPasses(format!(
            "no frames pass: of {FIRST_FRAMES} each way, {} came from {zero} to {one} and {} from {one} to {zero}; {remedy}",
            came(0),
            came(1)
        ))
    }
}

fn first(setup: &Setup) -> Ask {
    Ask {
        size: FrameSize::Fixed(line::bytes_min(setup.addressing.family())),
        rate_pps: Some(20_000.0),
        duration: FIRST_FRAME_WAIT,
        frames: Some(2 * FIRST_FRAMES),
    }
}

fn stream(
    setup: &Setup,
    ends: &[Attached; 2],
    next: &[[u8; 6]; 2],
    (ask, ways): (&Ask, u32),
    (from, trial): (Side, u8),
) -> Stream {
    Stream {
        trial,
        id: u8::from(from == Side::One),
        link: Link {
            source: ends[from.index()].facts.address,
            destination: next[from.index()],
            vlan: None,
        },
        addresses: setup.addresses(from),
        size: ask.size,
        rate_pps: ask.rate_pps.map(|rate| rate / f64::from(ways)),
        duration: ask.duration,
        frames_max: ask.frames.map(|frames| frames.div_ceil(ways.into())),
        in_flight_max: None,
    }
}

/// Ports of the kind that was asked for; else of the quickest that both links take
/// frames by.
fn open(
    setup: &Setup,
    ends: &[Attached; 2],
    next: &[[u8; 6]; 2],
) -> Result<(PortKind, [Port; 2]), ExternalError> {
    let open = |kind| {
        let places = [0, 1].map(|side: usize| ports::Place {
            namespace: &ends[side].namespace,
            interface: &ends[side].facts.name,
            threads: &ends[side].threads,
            sink_cpu: setup.cpus.sink,
            tap: None,
        });
        ports::open_both(kind, places).map_err(|error| match error {
            crate::bench::BenchError::Port(error) => ExternalError::Port(error),
            crate::bench::BenchError::Network(error) => ExternalError::Network(error),
            other => ExternalError::NothingPasses(other.to_string()),
        })
    };
    if let Some(kind) = setup.frames {
        return Ok((kind, open(kind)?));
    }
    if cfg!(feature = "bpf")
        && let Ok(mut ports) = open(PortKind::LiveFrame)
        && takes_live_frames(setup, ends, next, &mut ports)?
    {
        return Ok((PortKind::LiveFrame, ports));
    }
    Ok((PortKind::AfPacket, open(PortKind::AfPacket)?))
}

/// Whether frames of an XDP program leave both links: a driver may take a program and
/// no frames, and a veth whose other end has no NAPI loses them.
fn takes_live_frames(
    setup: &Setup,
    ends: &[Attached; 2],
    next: &[[u8; 6]; 2],
    ports: &mut [Port; 2],
) -> Result<bool, ExternalError> {
    let before = [ends[0].statistics()?, ends[1].statistics()?];
    let ask = first(setup);
    let streams = Side::BOTH.map(|side| stream(setup, ends, next, (&ask, 2), (side, 1)));
    let mut ways = ports::ways(ports, streams.to_vec(), setup.cpus.generator);
    let nothing = &mut || ();
    let ran = run(
        &mut ways,
        &Placement::default(),
        FIRST_RESIDUAL,
        nothing,
        &|| true,
    );
    drop(ways);
    let Ok(ran) = ran else {
        return Ok(false);
    };
    let mut takes = true;
    for (index, end) in ends.iter().enumerate() {
        let left = end
            .statistics()?
            .tx_packets
            .saturating_sub(before[index].tx_packets);
        let came = ran.directions[index].received.received;
        takes &= left >= FIRST_FRAMES || came > 0;
    }
    Ok(takes)
}
