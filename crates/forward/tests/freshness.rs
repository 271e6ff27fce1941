//! 100 ms after a route, neighbour, link, address, rule or setting changed, no
//! frame is forwarded by what was true before: XDP paths, one with a cache, do
//! what kernel routing does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "bpf")]

mod support;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lockgate_forward::home::{Home, Kind};
use lockgate_forward::router::Router;
use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::xdp::Xdp;
use lockgate_forward::topology::Topology;
use lockgate_forward::topology::plan::Side;
use net::netlink::{Route, RouteKind};
use net::{Journal, Netlink};
use support::{built, is_root, spec};
use sys::packet::{Batch, PacketSocket};
use wire::{Stamp, TestFrame, stamp_of};

/// Within which a change must show.
const STALE_MAX: Duration = Duration::from_millis(100);
/// Frames of a look.
const FRAMES: u64 = 8;
/// A busy machine may take so long for them.
const PATIENCE: Duration = Duration::from_secs(20);
/// What is not to come is waited for so long.
const SILENCE: Duration = Duration::from_millis(100);

const OTHER_NEIGHBOUR: [u8; 6] = [2, 0, 0, 0, 0, 0x22];
const OTHER_ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 0x33];

struct Bench {
    router: Box<dyn Router>,
    inlet: PacketSocket,
    outlet: PacketSocket,
    /// Of the router's first port, as it is now.
    entrance: [u8; 6],
    trial: u8,
    topology: Topology,
    _home: Home,
}

/// Where a frame went: Ethernet destination and source.
type Outcome = BTreeSet<(String, String)>;
type Start = fn(&Topology) -> Box<dyn Router>;

impl Bench {
    fn start(journal: &Journal, start: Start) -> Self {
        let (home, topology) = built(journal, Kind::Namespace, &spec()).unwrap();
        let router = start(&topology);
        Self::over(topology, home, router)
    }

    fn over(topology: Topology, home: Home, router: Box<dyn Router>) -> Self {
        let open = |side: Side| {
            let side = topology.side(side);
            let mut netlink = side.tester.netlink().unwrap();
            let index = netlink.link(&side.names.tester).unwrap().index;
            side.tester
                .run(|| PacketSocket::open(index).unwrap())
                .unwrap()
        };
        Self {
            router,
            inlet: open(Side::Zero),
            outlet: open(Side::One),
            entrance: topology.side(Side::Zero).router_mac,
            trial: 0,
            topology,
            _home: home,
        }
    }

    fn inside(&self) -> Netlink {
        self.topology.router().netlink().unwrap()
    }

    fn exit(&self) -> &str {
        self.topology.router_link(Side::One)
    }

    fn exit_index(&self) -> u32 {
        self.inside().link(self.exit()).unwrap().index
    }

    /// Sends frames and says where they went: all, if some are to come.
    fn look(&mut self, comes: bool) -> Outcome {
        self.trial += 1;
        self.send();
        let until = Instant::now() + if comes { PATIENCE } else { SILENCE };
        let mut arrived = 0;
        let mut outcome = Outcome::new();
        let mut batch = Batch::new(64);
        while arrived < FRAMES && Instant::now() < until {
            self.outlet.receive(&mut batch).unwrap();
            for frame in batch.frames() {
                let stamp = stamp_of(frame);
                if stamp.is_some_and(|stamp| stamp.trial == self.trial) {
                    arrived += 1;
                    outcome.insert((self.label(&frame[..6]), self.label(&frame[6..12])));
                }
            }
            sleep(Duration::from_millis(1));
        }
        assert!(arrived == 0 || arrived == FRAMES, "{arrived} of {FRAMES}");
        outcome
    }

    fn send(&self) {
        let frame = TestFrame {
            source_ethernet: self.topology.side(Side::Zero).tester_mac,
            destination_ethernet: self.entrance,
            vlan: None,
            source: ip("192.0.2.2"),
            destination: ip("198.19.0.1"),
            source_port: 5000,
            frame_bytes: 128,
        };
        let mut batch = Batch::new(64);
        for sequence in 0..FRAMES {
            let stamp = Stamp {
                trial: self.trial,
                stream: 0,
                sequence,
                due_ns: 0,
            };
            assert!(batch.push(&frame.to_bytes(stamp).unwrap()));
        }
        assert_eq!(self.inlet.send(&mut batch).unwrap().taken as u64, FRAMES);
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

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn behind() -> (IpAddr, u8) {
    (ip("198.19.0.0"), 16)
}

/// A change, and whether frames come through afterwards.
type Change = (&'static str, fn(&mut Bench), bool);

/// In this order: each begins where the last one ended.
const CHANGES: [Change; 20] = [
    ("nothing", |_| (), true),
    (
        "a neighbour moves",
        |bench| neighbour(bench, OTHER_NEIGHBOUR),
        true,
    ),
    (
        "and back",
        |bench| {
            let mac = bench.topology.side(Side::One).tester_mac;
            neighbour(bench, mac);
        },
        true,
    ),
    (
        "a narrower route to a second gateway",
        |bench| {
            second_gateway(bench);
            let route = Route::via(ip("198.19.0.0"), 24, ip("203.0.113.2"), bench.exit_index());
            bench.inside().add_route(&route).unwrap();
        },
        true,
    ),
    (
        "it goes",
        |bench| {
            let route = Route::via(ip("198.19.0.0"), 24, ip("203.0.113.2"), bench.exit_index());
            bench.inside().remove_route(&route).unwrap();
        },
        true,
    ),
    (
        "the route is replaced",
        |bench| replace(bench, "203.0.113.2"),
        true,
    ),
    ("and back", |bench| replace(bench, "192.0.2.6"), true),
    ("a hole in it", |bench| hole(bench, true), false),
    ("and none", |bench| hole(bench, false), true),
    (
        "the route goes",
        |bench| {
            let (net, bits) = behind();
            let route = Route::via(net, bits, ip("192.0.2.6"), bench.exit_index());
            bench.inside().remove_route(&route).unwrap();
        },
        false,
    ),
    ("the route comes", |bench| replace(bench, "192.0.2.6"), true),
    (
        "the destination becomes the router's own",
        |bench| {
            let exit = bench.exit().to_owned();
            bench
                .inside()
                .add_address(&exit, ip("198.19.0.1"), 32)
                .unwrap();
        },
        false,
    ),
    (
        "and no longer",
        |bench| {
            let exit = bench.exit().to_owned();
            bench
                .inside()
                .remove_address(&exit, ip("198.19.0.1"), 32)
                .unwrap();
        },
        true,
    ),
    (
        "the port that they leave by gets another address",
        |bench| {
            let exit = bench.exit().to_owned();
            bench.inside().set_address(&exit, OTHER_ROUTER).unwrap();
            // The kernel has forgotten who is behind it.
            let mac = bench.topology.side(Side::One).tester_mac;
            neighbour(bench, mac);
        },
        true,
    ),
    (
        "forwarding is off",
        |bench| setting(bench, "forwarding", "0"),
        false,
    ),
    (
        "forwarding is on",
        |bench| setting(bench, "forwarding", "1"),
        true,
    ),
    ("a rule forbids it", |bench| rule(bench, "add"), false),
    ("the rule goes", |bench| rule(bench, "del"), true),
    (
        "the port that they come by gets another address, and nobody knows",
        |bench| {
            let entrance = bench.topology.router_link(Side::Zero).to_owned();
            bench.inside().set_address(&entrance, OTHER_ROUTER).unwrap();
        },
        false,
    ),
    (
        "the tester knows, and the other port goes down",
        |bench| {
            bench.entrance = OTHER_ROUTER;
            let exit = bench.exit().to_owned();
            bench.inside().set_down(&exit).unwrap();
        },
        false,
    ),
];

fn neighbour(bench: &Bench, mac: [u8; 6]) {
    let exit = bench.exit().to_owned();
    bench
        .inside()
        .set_neighbour(&exit, ip("192.0.2.6"), mac)
        .unwrap();
}

fn second_gateway(bench: &Bench) {
    let exit = bench.exit().to_owned();
    let mut inside = bench.inside();
    inside.add_address(&exit, ip("203.0.113.1"), 24).unwrap();
    inside
        .set_neighbour(&exit, ip("203.0.113.2"), OTHER_NEIGHBOUR)
        .unwrap();
}

fn replace(bench: &Bench, gateway: &str) {
    let (net, bits) = behind();
    let route = Route::via(net, bits, ip(gateway), bench.exit_index());
    bench.inside().replace_route(&route).unwrap();
}

fn hole(bench: &Bench, is_there: bool) {
    let route = Route {
        gateway: None,
        interface: None,
        kind: RouteKind::Blackhole,
        ..Route::via(ip("198.19.0.1"), 32, ip("0.0.0.0"), 0)
    };
    if is_there {
        bench.inside().add_route(&route).unwrap();
    } else {
        bench.inside().remove_route(&route).unwrap();
    }
}

fn setting(bench: &Bench, name: &str, value: &str) {
    let entrance = bench.topology.router_link(Side::Zero);
    let name = format!("ipv4/conf/{entrance}/{name}");
    bench.topology.router().set_sysctl(&name, value).unwrap();
}

fn rule(bench: &Bench, action: &str) {
    let mut ip = Command::new("ip");
    ip.args(["rule", action, "to", "198.19.0.0/16", "blackhole"]);
    let mut child = bench.topology.router().spawn_process(ip).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The outcomes of all changes.
fn outcomes(start: Start, each: impl Fn(&mut Bench, &str)) -> Vec<(&'static str, Outcome)> {
    let journal = Journal::open().unwrap();
    let mut bench = Bench::start(&journal, start);
    let look = |(name, change, comes): Change| {
        change(&mut bench);
        sleep(STALE_MAX);
        let outcome = bench.look(comes);
        assert_eq!(!outcome.is_empty(), comes, "{name}: {outcome:?}");
        each(&mut bench, name);
        // It is told if it has stopped following.
        bench.router.counters().unwrap();
        (name, outcome)
    };
    CHANGES.into_iter().map(look).collect()
}

fn has_ip() -> bool {
    let found = Command::new("ip").arg("-Version").output().is_ok();
    if !found {
        println!("skipped: no 'ip' to set rules with; apt-get install iproute2");
    }
    found
}

fn kernel(topology: &Topology) -> Box<dyn Router> {
    Box::new(Kernel::start(topology).unwrap())
}

#[test]
fn an_xdp_path_follows_every_change_as_the_kernel_does() {
    if !is_root() || !has_ip() {
        return;
    }
    let as_the_kernel = outcomes(kernel, |_, _| ());
    let fib = outcomes(|topology| Box::new(Xdp::fib(topology).unwrap()), |_, _| ());
    assert_eq!(fib, as_the_kernel);
    let cached =
        |topology: &Topology| -> Box<dyn Router> { Box::new(Xdp::fib_cached(topology).unwrap()) };
    // The answer is in the cache when the next change comes: it was used before.
    let used = outcomes(cached, |bench, _| {
        let comes = !bench.look(false).is_empty();
        assert!(!comes || !bench.look(comes).is_empty());
    });
    assert_eq!(used, as_the_kernel);
}

#[test]
fn answers_are_kept() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let (home, topology) = built(&journal, Kind::Namespace, &spec()).unwrap();
    let cached = Xdp::fib_cached(&topology).unwrap();
    let program = Arc::clone(cached.program());
    let mut bench = Bench::over(topology, home, Box::new(cached));
    // Nobody vouches for the cache before the thread that listens has run.
    let until = Instant::now() + PATIENCE;
    while program.counters().unwrap().hits == 0 && Instant::now() < until {
        bench.look(true);
    }
    let counters = program.counters().unwrap();
    assert!(counters.hits > 0, "{counters:?}");
    assert!(bench.router.cpu_ns().unwrap() > 0);
}
