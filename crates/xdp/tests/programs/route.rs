//! Routers forward what is plain and leave the rest to the kernel.

use lockgate_xdp::path::{
    Concern, Control, CpuMap, CpuMapError, Fib, LEASE, RouterOptions, RouterPort, Special, Then,
    Wire,
};
use lockgate_xdp::{Attached, Counters, Generator, Plan, Reason, Sink};

use sys::failure::Failure;

use crate::programs::bench::{Bench, ROUTER, renew, while_watched};
use crate::programs::wires::{
    BURST, frame_v4, frame_v6, in_namespace, plan, send, settled, timed_in_namespace,
};

/// A busy machine may delay the renewal: then frames are the kernel's, and this is
/// done again.
fn while_watched_throughout<T>(
    control: &Control,
    counters: impl Fn() -> Counters,
    mut body: impl FnMut() -> T,
) -> T {
    while_watched(control, || {
        for _ in 0..50 {
            let before = counters().passed(Reason::Unwatched);
            let done = body();
            if counters().passed(Reason::Unwatched) == before {
                return done;
            }
        }
        panic!("never watched throughout: {:?}", counters());
    })
}

struct Tester {
    generator: Generator,
    sink: Sink,
    _back: Sink,
}

impl Tester {
    fn new(bench: &Bench) -> Self {
        Self {
            generator: Generator::load(bench.tester[0]).unwrap(),
            sink: Sink::attach(bench.tester[1]).unwrap(),
            _back: Sink::attach(bench.tester[0]).unwrap(),
        }
    }

    fn send(&mut self, frame: Vec<u8>, destinations: u32) {
        self.sink.begin(1, 0).unwrap();
        let plan = Plan {
            destinations,
            trial: 1,
            stream: 0,
            ..plan(vec![frame], &[0])
        };
        let sent = send(&mut self.generator, &plan);
        assert_eq!(sent.offered, BURST);
    }

    fn burst(&mut self, frame: Vec<u8>, destinations: u32) -> u64 {
        self.send(frame, destinations);
        settled(
            || self.sink.counts().unwrap(),
            |counts| counts.received == BURST,
        )
        .received
    }
}

type Load = fn(&[RouterPort], RouterOptions) -> Result<Fib, Failure>;

fn load(bench: &Bench, load: Load) -> Attached<Fib> {
    let ports = bench.ports;
    let attach = move || Attached::new(load(&ports, RouterOptions::default()).unwrap()).unwrap();
    bench.router.run(attach)
}

#[test]
fn plain_frames_are_forwarded() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let fib = load(&bench, Fib::load);
        for (frame, destinations) in [
            (frame_v4(60, ROUTER[0]), 1),
            (frame_v4(1514, ROUTER[0]), 128),
            (frame_v6(80, ROUTER[0]), 1),
            (frame_v6(1514, ROUTER[0]), 128),
        ] {
            let counters = || fib.counters().unwrap();
            let forwarded = while_watched_throughout(&fib.control(), counters, || {
                let before = counters();
                let received = tester.burst(frame.clone(), destinations);
                assert_eq!(received, BURST, "{:?}", counters());
                counters().forwarded - before.forwarded
            });
            assert_eq!(forwarded, BURST);
        }
    });
}

#[test]
fn answers_are_kept() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let cached = load(&bench, Fib::load_cached);
        let control = cached.control();
        let counters = || cached.counters().unwrap();
        for frame in [frame_v4(60, ROUTER[0]), frame_v6(80, ROUTER[0])] {
            let hits = while_watched_throughout(&control, counters, || {
                let before = counters();
                assert_eq!(tester.burst(frame.clone(), 4), BURST);
                counters().hits - before.hits
            });
            assert!((BURST - 4..=BURST).contains(&hits), "{:?}", counters());
        }
    });
}

/// A change makes old what it may concern, and nothing else.
#[test]
fn what_a_change_does_not_concern_stays_kept() {
    use Concern::{Everything, Neighbour, Network};
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let cached = load(&bench, Fib::load_cached);
        let control = cached.control();
        let counters = || cached.counters().unwrap();
        let [inner, outer] = bench.ports.map(|port| port.ifindex);
        let address = |text: &str| text.parse().unwrap();
        let network = |text: &str, length| Network(address(text), length);
        let of_v4 = [
            (Everything, true),
            (network("198.19.0.0", 16), true),
            (network("198.19.0.0", 24), true),
            (network("198.16.0.0", 12), true),
            (network("0.0.0.0", 0), true),
            // Its source.
            (network("198.18.0.0", 16), true),
            (network("198.20.0.0", 16), false),
            (network("2001:2:0:1::", 64), false),
            (Neighbour(outer, address("192.0.2.6")), true),
            (Neighbour(inner, address("192.0.2.6")), false),
            (Neighbour(outer, address("192.0.2.7")), false),
        ];
        let of_v6 = [
            (Everything, true),
            (network("2001:2:0:1::", 64), true),
            (network("2001:2::", 32), true),
            (network("2001::", 20), true),
            (network("::", 0), true),
            (network("2001:3::", 32), false),
            (network("198.19.0.0", 16), false),
            (Neighbour(outer, address("2001:2:0:ff01::2")), true),
            (Neighbour(inner, address("2001:2:0:ff01::2")), false),
            (Neighbour(outer, address("2001:2:0:ff01::3")), false),
        ];
        let all = [
            (frame_v4(60, ROUTER[0]), &of_v4[..]),
            (frame_v6(80, ROUTER[0]), &of_v6[..]),
        ];
        for (frame, concerns) in all {
            for &(concern, is_concerned) in concerns {
                let misses = while_watched_throughout(&control, counters, || {
                    tester.burst(frame.clone(), 1);
                    let before = counters();
                    control.forget(concern);
                    assert_eq!(tester.burst(frame.clone(), 1), BURST);
                    counters().misses - before.misses
                });
                assert_eq!(misses, u64::from(is_concerned), "{concern:?}");
            }
        }
    });
}

#[test]
fn special_networks_are_followed_in_part() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        for load_it in [Fib::load as Load, Fib::load_cached] {
            let fib = load(&bench, load_it);
            let control = fib.control();
            let counters = || fib.counters().unwrap();
            for (frame, bytes, network) in [
                (frame_v4(60, ROUTER[0]), 46, "198.19.0.0"),
                (frame_v6(80, ROUTER[0]), 66, "2001:2:0:1::"),
            ] {
                let network = network.parse().unwrap();
                let mut counted = |special: Option<Special>| {
                    control.set_special(network, 16, special).unwrap();
                    control.forget(Concern::Everything);
                    while_watched_throughout(&control, counters, || {
                        let before = counters();
                        assert_eq!(tester.burst(frame.clone(), 1), BURST);
                        let after = counters();
                        let passed = |reason| after.passed(reason) - before.passed(reason);
                        let to_kernel = [Reason::Special, Reason::Mtu].map(passed);
                        (to_kernel, after.hits - before.hits)
                    })
                };
                let with = |bytes_max, is_not_kept| {
                    Some(Special {
                        bytes_max,
                        is_not_kept,
                    })
                };
                assert_eq!(counted(with(0, false)).0, [BURST, 0]);
                assert_eq!(counted(with(bytes - 1, false)).0, [0, BURST]);
                assert_eq!(counted(with(bytes, true)), ([0, 0], 0));
                let (to_kernel, hits) = counted(with(bytes, false));
                assert_eq!(to_kernel, [0, 0]);
                // The first two of the path that keeps answers.
                let (_, again) = counted(None);
                assert_eq!(hits, again);
            }
        }
    });
}

#[test]
fn what_is_not_watched_is_the_kernels() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let fib = load(&bench, Fib::load);
        let unwatched = |tester: &mut Tester| {
            let before = fib.counters().unwrap();
            assert_eq!(tester.burst(frame_v4(60, ROUTER[0]), 1), BURST);
            let after = fib.counters().unwrap();
            assert_eq!(after.received - before.received, BURST);
            after.passed(Reason::Unwatched) - before.passed(Reason::Unwatched)
        };
        assert_eq!(unwatched(&mut tester), BURST);
        renew(&fib.control());
        // The lease counts from the look, however late it is renewed.
        let look = fib.control().look().unwrap();
        std::thread::sleep(LEASE);
        fib.control().renew(look).unwrap();
        assert_eq!(unwatched(&mut tester), BURST);
    });
}

#[test]
fn odd_frames_go_to_the_kernel() {
    in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let fib = load(&bench, Fib::load);
        let change = |at: usize, byte: u8| {
            let mut frame = frame_v4(60, ROUTER[0]);
            frame[at] = byte;
            frame
        };
        let mut long = frame_v4(60, ROUTER[0]);
        long[17] += 1;
        for (frame, expected) in [
            (change(5, 0x77), Reason::OtherHost),
            (change(22, 1), Reason::Ttl),
            (change(26, 127), Reason::Martian),
            (change(30, 224), Reason::Martian),
            (long, Reason::Malformed),
        ] {
            let counters = || fib.counters().unwrap();
            let (before, after) = while_watched_throughout(&fib.control(), counters, || {
                let before = counters();
                tester.send(frame.clone(), 1);
                let is_all = |now: &Counters| now.received - before.received >= BURST;
                (before, settled(counters, is_all))
            });
            assert_eq!(
                after.passed(expected) - before.passed(expected),
                BURST,
                "{expected:?}: {after:?}"
            );
            assert_eq!(after.forwarded, before.forwarded, "{expected:?}");
        }
    });
}

#[test]
fn nothing_is_lost_while_programs_are_replaced() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let ports = bench.ports;
        let mut fib = load(&bench, Fib::load);
        let router = bench.router;
        let replacer = std::thread::spawn(move || {
            for _ in 0..10 {
                // The programs are loaded by a thread of the router's namespace.
                fib = router.run(move || {
                    let wire = Wire::load(ports.map(|port| port.ifindex)).unwrap();
                    let wire = fib.switch(wire).unwrap();
                    let fib = Fib::load(&ports, RouterOptions::default()).unwrap();
                    renew(&fib.control());
                    wire.switch(fib).unwrap()
                });
            }
            // Both stay until the last burst has passed.
            (fib, router)
        });
        while !replacer.is_finished() {
            assert_eq!(tester.burst(frame_v4(60, ROUTER[0]), 1), BURST);
        }
        assert_eq!(tester.burst(frame_v4(60, ROUTER[0]), 1), BURST);
        replacer.join().unwrap();
    });
}

#[test]
fn frames_are_handed_to_another_cpu() {
    timed_in_namespace(|| {
        let bench = Bench::new();
        let mut tester = Tester::new(&bench);
        let ports = bench.ports;
        for then in [Then::Kernel, Then::Fib(RouterOptions::default())] {
            let path = bench.router.run(move || {
                let last = sys::affinity::allowed_cpus().unwrap().pop().unwrap();
                Attached::new(CpuMap::load(&ports, &[last], then).unwrap()).unwrap()
            });
            let routed = || path.routed().unwrap();
            for frame in [frame_v4(60, ROUTER[0]), frame_v6(80, ROUTER[0])] {
                let [spread, forwarded] = while_watched_throughout(&path.control(), routed, || {
                    let before = [path.counters().unwrap(), routed()];
                    assert_eq!(tester.burst(frame.clone(), 16), BURST, "{then:?}");
                    let after = [path.counters().unwrap(), routed()];
                    [0, 1].map(|at: usize| after[at].forwarded - before[at].forwarded)
                });
                assert_eq!(spread, BURST);
                let expected = if then == Then::Kernel { 0 } else { BURST };
                assert_eq!(forwarded, expected, "{:?}", routed());
            }
            let threads = path.threads().unwrap();
            let is_there = std::fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .any(|process| {
                    std::fs::read_to_string(process.path().join("comm"))
                        .is_ok_and(|name| name.trim().ends_with(&threads))
                });
            assert!(is_there, "a thread called cpumap/…/{threads}");
        }
    });
}

#[test]
fn frames_go_to_no_cpu_that_is_not_there() {
    for cpus in [vec![], vec![1 << 20], vec![0; 65]] {
        let refused = CpuMap::load(&[], &cpus, Then::Kernel);
        assert!(matches!(refused, Err(CpuMapError::Cpus { .. })), "{cpus:?}");
    }
}
