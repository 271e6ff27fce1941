//! A router between two packet sockets, and where its frames go.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockgate_forward::home::{Home, Kind};
use lockgate_forward::router::Router;
use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::xdp::Xdp;
use lockgate_forward::topology::plan::{self, Side};
use lockgate_forward::topology::{Family, Topology};
use net::{Journal, Netlink};
use sys::packet::{Batch, PacketSocket};
use wire::{Stamp, TestFrame, stamp_of};
use xdp::Counters;
use xdp::path::{Control, Fib};

use crate::support::{built, spec};

pub const FRAMES: u64 = 8;
pub const BURST: usize = 64;
const FRAME_BYTES: u32 = 128;
/// Maximum time for them on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for frames that must not come.
const SILENCE: Duration = Duration::from_millis(100);

pub enum Running {
    Kernel(Box<Kernel>),
    Fib(Box<Xdp<Fib>>),
}

pub type Start = fn(&Topology) -> Running;

pub fn kernel(topology: &Topology) -> Running {
    Running::Kernel(Box::new(Kernel::start(topology).unwrap()))
}

pub fn fib(topology: &Topology) -> Running {
    Running::Fib(Box::new(Xdp::fib(topology).unwrap()))
}

pub fn cached(topology: &Topology) -> Running {
    Running::Fib(Box::new(Xdp::fib_cached(topology).unwrap()))
}

impl Running {
    pub fn router(&mut self) -> &mut dyn Router {
        match self {
            Self::Kernel(router) => &mut **router,
            Self::Fib(router) => &mut **router,
        }
    }

    /// What its program counted; nothing where it has none.
    pub fn counters(&self) -> Counters {
        match self {
            Self::Kernel(_) => Counters::default(),
            Self::Fib(router) => router.program().counters().unwrap(),
        }
    }
}

pub struct Bench {
    pub running: Running,
    pub family: Family,
    pub entrance: [u8; 6],
    pub topology: Topology,
    inlet: PacketSocket,
    outlet: PacketSocket,
    trial: u8,
    _home: Home,
}

/// Where a frame went: Ethernet destination and source.
pub type Outcome = BTreeSet<(String, String)>;

impl Bench {
    pub fn start(journal: &Journal, start: Start, family: Family) -> Self {
        let (home, topology) = built(journal, Kind::Namespace, &spec()).unwrap();
        let open = |side: Side| {
            let side = topology.side(side);
            let mut netlink = side.tester.netlink().unwrap();
            let index = netlink.link(&side.names.tester).unwrap().index;
            side.tester
                .run(|| PacketSocket::open(index).unwrap())
                .unwrap()
        };
        Self {
            running: start(&topology),
            family,
            inlet: open(Side::Zero),
            outlet: open(Side::One),
            entrance: topology.side(Side::Zero).router_mac,
            trial: 0,
            topology,
            _home: home,
        }
    }

    pub fn inside(&self) -> Netlink {
        self.topology.router().netlink().unwrap()
    }

    pub fn exit(&self) -> &str {
        self.topology.router_link(Side::One)
    }

    pub fn exit_index(&self) -> u32 {
        self.inside().link(self.exit()).unwrap().index
    }

    /// Sends frames and says where they went: all, if some are to come.
    pub fn look(&mut self, comes: bool) -> Outcome {
        self.look_with(FRAME_BYTES, comes)
    }

    /// With frames of so many bytes.
    pub fn look_with(&mut self, frame_bytes: u32, comes: bool) -> Outcome {
        let behind = plan::network_behind(Side::One, self.family);
        let same = [first_of(behind.address); FRAMES as usize];
        let ways = self.ways_of(frame_bytes, &same, if comes { same.len() } else { 0 });
        let arrived = ways.iter().filter(|way| !way.is_empty()).count();
        assert!(
            arrived == 0 || arrived == same.len(),
            "{arrived} of {FRAMES}"
        );
        ways.into_iter().flatten().collect()
    }

    /// Sends a frame to each and says where it went, if it came; this many are to
    /// come.
    pub fn ways(&mut self, destinations: &[IpAddr], comes: usize) -> Vec<Outcome> {
        self.ways_of(FRAME_BYTES, destinations, comes)
    }

    fn ways_of(&mut self, frame_bytes: u32, destinations: &[IpAddr], comes: usize) -> Vec<Outcome> {
        self.trial = self.trial.wrapping_add(1);
        self.send(frame_bytes, destinations);
        let until = Instant::now() + if comes > 0 { PATIENCE } else { SILENCE };
        let mut arrived = 0;
        let mut ways = vec![Outcome::new(); destinations.len()];
        let mut batch = Batch::new(BURST);
        while (comes == 0 || arrived < comes) && Instant::now() < until {
            self.outlet.receive(&mut batch).unwrap();
            for frame in batch.frames() {
                let stamp = stamp_of(frame).filter(|stamp| stamp.trial == self.trial);
                if let Some(stamp) = stamp {
                    arrived += 1;
                    let way = (self.label(&frame[..6]), self.label(&frame[6..12]));
                    ways[stamp.sequence as usize].insert(way);
                }
            }
            sleep(Duration::from_millis(1));
        }
        ways
    }

    /// Looks until the program's counters say so: a busy machine may delay the
    /// watcher, and frames are the kernel's meanwhile.
    pub fn look_until(&mut self, is_so: impl Fn(&Counters, &Counters) -> bool) {
        let counted = || {
            let before = self.running.counters();
            self.look(true);
            (before, self.running.counters())
        };
        testing::until(counted, |(before, after)| is_so(before, after));
    }

    /// Looks until the program has forwarded all of it.
    pub fn look_until_forwarded(&mut self) {
        self.look_until(|before, after| after.forwarded - before.forwarded == FRAMES);
    }

    /// Sends some frames and does not look where they go.
    pub fn send_on(&self) {
        let behind = plan::network_behind(Side::One, self.family);
        self.send(FRAME_BYTES, &[first_of(behind.address); FRAMES as usize]);
    }

    pub fn control(&self) -> Control {
        match &self.running {
            Running::Kernel(_) => panic!("the kernel has no program"),
            Running::Fib(router) => router.program().control(),
        }
    }

    fn send(&self, frame_bytes: u32, destinations: &[IpAddr]) {
        let mut batch = Batch::new(BURST);
        for (sequence, &destination) in (0..).zip(destinations) {
            let frame = TestFrame {
                source_ethernet: self.topology.side(Side::Zero).tester_mac,
                destination_ethernet: self.entrance,
                vlan: None,
                source: plan::tester_address(Side::Zero, self.family),
                destination,
                source_port: 5000,
                frame_bytes,
            };
            let stamp = Stamp {
                trial: self.trial,
                stream: 0,
                sequence,
                due_ns: 0,
            };
            assert!(batch.push(&frame.to_bytes(stamp).unwrap()));
        }
        let taken = self.inlet.send(&mut batch).unwrap().taken;
        assert_eq!(taken, destinations.len());
    }

    /// What is as it was in the beginning has a name that all benches share.
    fn label(&self, mac: &[u8]) -> String {
        let side = self.topology.side(Side::One);
        match mac {
            mac if mac == side.tester_mac => "tester".to_owned(),
            mac if mac == side.router_mac => "router".to_owned(),
            mac => format!("{mac:02x?}"),
        }
    }
}

pub fn first_of(network: IpAddr) -> IpAddr {
    match network {
        IpAddr::V4(network) => std::net::Ipv4Addr::from_bits(network.to_bits() + 1).into(),
        IpAddr::V6(network) => std::net::Ipv6Addr::from_bits(network.to_bits() + 1).into(),
    }
}
