//! Generators with known faults: every trial of theirs is called invalid, with
//! the reason, however it ends.
#![cfg(feature = "bpf")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{in_namespace, spec};
use lockgate_forward::bench::{Bench, Offer, PortKind, Setup};
use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::path::Path;
use lockgate_forward::router::planted::Plant;
use lockgate_forward::tester::port::{Port, live};
use lockgate_forward::tester::stream::{FrameSize, Link, Stream};
use lockgate_forward::tester::trial::{Placement, Way, run};
use lockgate_forward::tester::validity::{Claim, Evidence, Seen};
use lockgate_forward::topology::plan::{self, Side};
use lockgate_forward::topology::{Cpus, Family};
use trial::{Validity, Verdict};

fn setup() -> Setup {
    Setup::of_host().unwrap()
}

fn offer(rate_pps: Option<f64>) -> Offer {
    Offer {
        rate_pps,
        duration: Duration::from_millis(300),
        ..Offer::default()
    }
}

fn assert_bound(verdict: &Verdict, says: &str) {
    println!("{}; remedy: {}", verdict.reason, verdict.remedy);
    assert_eq!(verdict.validity, Validity::GeneratorBound, "{verdict:?}");
    assert!(verdict.reason.contains(says), "{says}: {verdict:?}");
    assert!(!verdict.remedy.is_empty());
}

#[test]
fn too_slow() {
    testing::alone_as_root(|| {
        for (ports, rate_pps) in [(PortKind::LiveFrame, 200e6), (PortKind::AfPacket, 20e6)] {
            let mut setup = setup();
            setup.ports = ports;
            let mut bench = Bench::start(&setup).unwrap();
            let result = bench.trial(&offer(Some(rate_pps))).unwrap();
            assert_bound(&result.verdict, "the generator sent");
        }
    });
}

#[test]
fn starved_core() {
    testing::alone_as_root(|| {
        let setup = setup();
        let mut bench = Bench::start(&setup).unwrap();
        let stop = AtomicBool::new(false);
        let hog = || {
            sys::affinity::pin_to(setup.topology.cpus.generator).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        for rate_pps in [Some(2_000.0), Some(50_000.0), None] {
            stop.store(false, Ordering::Relaxed);
            let result = thread::scope(|scope| {
                scope.spawn(hog);
                scope.spawn(hog);
                let result = bench.trial(&offer(rate_pps));
                stop.store(true, Ordering::Relaxed);
                result.unwrap()
            });
            assert_bound(&result.verdict, "another thread had the generator's CPU");
        }
    });
}

#[test]
fn shared_core() {
    testing::alone_as_root(|| {
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        let mut setup = Setup::new(Cpus::among(&[cpu]));
        for path in [Path::Kernel, Path::Planted(Plant::Nothing)] {
            setup.path = path;
            let mut bench = Bench::start(&setup).unwrap();
            for rate_pps in [Some(1_000.0), Some(100_000.0), None] {
                let result = bench.trial(&offer(rate_pps)).unwrap();
                assert_bound(&result.verdict, "generator and device share CPU");
            }
        }
    });
}

#[test]
fn near_its_ceiling() {
    testing::alone_as_root(|| {
        let mut setup = setup();
        setup.ports = PortKind::AfPacket;
        setup.path = Path::XdpDevmap;
        let mut bench = Bench::start(&setup).unwrap();
        let result = bench.trial(&offer(None)).unwrap();
        println!(
            "{:.0} of {:?}",
            result.received_pps(),
            result.seen.ceiling_pps
        );
        let ceiling_pps = result.seen.ceiling_pps.unwrap();
        let share = result.received_pps() / ceiling_pps;
        if share < 0.8 {
            return testing::skipped(format!(
                "the device forwards {share:.2} of what the generator can send on this host: the generator is not what limits"
            ));
        }
        assert_bound(&result.verdict, "that the generator reaches");
    });
}

/// Without threads of its own the device forwards in the sender's softirq: its rate
/// is the generator's, and nothing is lost.
#[test]
fn throttled_by_the_device() {
    testing::alone_as_root(|| {
        let (_journal, _home, topology) = in_namespace(&spec());
        let _router = Kernel::start(&topology).unwrap();
        for side in topology.sides() {
            net::napi::set_threaded(topology.router(), &side.names.router, false).unwrap();
        }
        let [mut from, mut to] = [Side::Zero, Side::One].map(|side| port(&topology, side));
        let cpus = &topology.spec().cpus;
        let placement = Placement {
            generator: vec![cpus.generator],
            device: cpus.router.clone(),
            sink: vec![cpus.sink],
        };
        let mut ways = [Way {
            transmitter: from.transmitter.as_mut(),
            receiver: to.receiver.as_mut(),
            stream: Stream {
                trial: 1,
                id: 0,
                link: Link {
                    source: topology.side(Side::Zero).tester_mac,
                    destination: topology.side(Side::Zero).router_mac,
                    vlan: None,
                },
                addresses: plan::addresses(topology.spec(), Side::Zero, Family::V4, (1, 1))
                    .unwrap(),
                size: FrameSize::Fixed(64),
                rate_pps: Some(30_000.0),
                duration: Duration::from_millis(500),
                frames_max: None,
                in_flight_max: None,
            },
            generator_cpu: cpus.generator,
        }];
        let residual = Duration::from_millis(100);
        let ran = run(&mut ways, &placement, residual, &mut || (), &|| true).unwrap();
        let seen = Seen {
            host: ran.host,
            placement: placement.clone(),
            ..Seen::default()
        };
        let evidence = Evidence {
            claim: Claim::WITHOUT_LOSS,
            directions: &ran.directions,
            counters: None,
            seen: &seen,
        };
        let verdict = evidence.verdict();
        println!("{:?}", ran.directions[0].sender);
        // A generator that was not let run at all had no time for softirqs.
        if is_stolen(&verdict) && !verdict.reason.contains(SOFTIRQS) {
            testing::noisy(&verdict.reason);
        }
        assert_bound(&verdict, SOFTIRQS);
    });
}

const SOFTIRQS: &str = "receive softirqs";

fn is_stolen(verdict: &Verdict) -> bool {
    verdict.reason.contains("the hypervisor took")
}

fn port(topology: &lockgate_forward::topology::Topology, side: Side) -> Port {
    let built = topology.side(side);
    let name = &built.names.tester;
    let link = built.tester.netlink().unwrap().link(name).unwrap();
    let open = || live::open(name, link.index, link.address, &built.sink_threads);
    built.tester.run(open).unwrap().unwrap()
}
