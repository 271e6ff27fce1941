//! Benches carry what is offered, count it right, and leave nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::spec;
use lockgate_forward::bench::{
    Bench, BenchError, DirectionResult, Directions, Offer, PortKind, Rack, Setup, TrialResult,
};
use lockgate_forward::home;
use lockgate_forward::router::path::{AfXdp, Path, Poll};
use lockgate_forward::router::planted::Plant;
use lockgate_forward::tester::stream::FrameSize;
use lockgate_forward::topology::{Attachment, Family, Routes};
use testing::is_root;
use trial::Verdict;

/// Fewer than a veth's ring holds, so that none is lost however busy the
/// machine is.
const BURST: u64 = 200;

fn setup(path: Path) -> Setup {
    Setup {
        path,
        topology: spec(),
        ..Setup::of_host().unwrap()
    }
}

/// `None` where the host or the build lacks something: then there is nothing to test.
fn started(setup: &Setup) -> Option<Bench> {
    started_or(setup, |error| testing::skipped(error))
}

/// As [`started`], of a test of several: others are tested.
fn one_started(setup: &Setup) -> Option<Bench> {
    started_or(setup, |error| testing::left_out(error))
}

fn started_or(setup: &Setup, tell: impl Fn(BenchError)) -> Option<Bench> {
    if !is_root() {
        return None;
    }
    supported_or(Bench::start(setup), tell)
}

fn supported<T>(done: Result<T, BenchError>) -> Option<T> {
    supported_or(done, |error| testing::skipped(error))
}

fn supported_or<T>(done: Result<T, BenchError>, tell: impl Fn(BenchError)) -> Option<T> {
    match done {
        Err(error @ BenchError::NotSupported { .. }) => {
            tell(error);
            None
        }
        done => Some(done.unwrap()),
    }
}

fn af_xdp(poll: Poll) -> Path {
    Path::AfXdp(AfXdp {
        poll,
        ..AfXdp::default()
    })
}

fn burst() -> Offer {
    Offer {
        frames_max: Some(BURST),
        duration: Duration::from_secs(5),
        ..Offer::default()
    }
}

fn burst6() -> Offer {
    Offer {
        family: Family::V6,
        size: FrameSize::Fixed(84),
        ..burst()
    }
}

fn accounted(result: &TrialResult) -> u64 {
    let of = |way: &DirectionResult| way.received.received + way.sent.refused;
    result.directions.iter().map(of).sum()
}

fn carries(setup: &Setup, offer: &Offer) {
    let Some(mut bench) = one_started(setup) else {
        return;
    };
    let result = bench.trial(offer).unwrap();
    for way in &result.directions {
        let (sent, came) = (&way.sent, &way.received);
        assert_eq!(sent.offered, BURST, "{sent:?}");
        assert_eq!(came.received + sent.refused, BURST, "{sent:?}");
        testing::certainly!((came.duplicates, came.reordered) == (0, 0));
    }
    let arrived = result.received();
    assert!(result.router.received >= arrived, "{:?}", result.router);
    assert!(result.router.forwarded >= arrived, "{:?}", result.router);
    assert!(bench.ready() > Duration::ZERO);
}

#[test]
fn kernel_routing_carries_every_size_and_family() {
    testing::timed(|| {
        let sizes = [64, 512, 1518].map(FrameSize::Fixed);
        for size in sizes.into_iter().chain([FrameSize::Imix]) {
            let offer = Offer { size, ..burst() };
            carries(&setup(Path::Kernel), &offer);
        }
        carries(&setup(Path::Kernel), &burst6());
    });
}

#[test]
fn kernel_routing_carries_both_ways_to_many_destinations_of_a_table() {
    testing::timed(|| {
        let mut setup = setup(Path::Kernel);
        setup.topology.routes = Routes::Table(1000);
        let offer = Offer {
            directions: Directions::TwoWay,
            destinations: 256,
            ..burst()
        };
        carries(&setup, &offer);
    });
}

/// A veth's ring has room for what is under way: whatever is lost for lack of it was
/// given up before, by a generator that heard of nothing. The last frames may be
/// under way for longer than a trial waits: no more than may be under way.
#[test]
fn what_queues_have_room_for_is_not_lost() {
    testing::alone(|| {
        const UNDER_WAY: u32 = 256;
        let saturating = Offer {
            in_flight_max: Some(UNDER_WAY),
            directions: Directions::TwoWay,
            duration: Duration::from_millis(200),
            ..Offer::default()
        };
        for path in [Path::Kernel, Path::XdpDevmap] {
            let setup = setup(path);
            if setup.ports != PortKind::LiveFrame {
                testing::skipped("built without the feature `bpf`");
                return;
            }
            let Some(mut bench) = started(&setup) else {
                return;
            };
            let result = bench.trial(&saturating).unwrap();
            for way in &result.directions {
                let without_room = way.lost().saturating_sub(u64::from(UNDER_WAY));
                testing::certainly!(without_room <= way.sent.given_up, "{path:?}: {way:?}");
                assert!(way.received.received > u64::from(UNDER_WAY), "{path:?}");
            }
        }
    });
}

#[test]
fn every_home_carries() {
    testing::timed(|| {
        for home in [home::Kind::Namespace, home::Kind::Lxc, home::Kind::Runc] {
            for attachment in [Attachment::Direct, Attachment::Bridged] {
                let mut setup = setup(Path::Kernel);
                setup.home = home;
                setup.topology.attachment = attachment;
                carries(&setup, &burst());
            }
        }
    });
}

#[test]
fn a_bridge_carries_with_and_without_a_tag() {
    testing::timed(|| {
        carries(&setup(Path::Bridge), &burst());
        let mut tagged = setup(Path::Bridge);
        tagged.topology.vlan = Some(7);
        carries(&tagged, &burst());
    });
}

#[test]
fn xdp_paths_carry_to_one_and_to_many_destinations() {
    testing::timed(|| {
        for path in [
            Path::XdpDevmap,
            Path::XdpFib,
            Path::XdpFibCached,
            Path::XdpCpumap,
        ] {
            for destinations in [1, 256] {
                let offer = Offer {
                    destinations,
                    ..burst()
                };
                carries(&setup(path), &offer);
            }
            let offer = Offer {
                directions: Directions::TwoWay,
                ..burst6()
            };
            carries(&setup(path), &offer);
        }
    });
}

#[test]
fn routers_side_by_side_carry_each_its_own() {
    testing::timed_as_root(|| {
        let setups = [Path::Kernel, Path::Bridge, Path::Kernel].map(setup);
        let rack = supported(Rack::start(&setups));
        let Some(mut rack) = rack else { return };
        let results = rack.trial_while(&[burst(); 3], &|| true).unwrap();
        assert_eq!(results.len(), 3);
        for result in results {
            assert_eq!(accounted(&result), BURST);
        }
    });
}

#[test]
fn routers_that_are_given_up_are_not_waited_for() {
    testing::timed_as_root(|| {
        let asked = AtomicUsize::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < 1;
        let never = setup(Path::Planted(Plant::DropEvery(1)));
        match Rack::start_while(&[never.clone(), never], &go_on) {
            Err(error @ BenchError::NotSupported { .. }) => testing::skipped(error),
            Err(error) => assert!(matches!(error, BenchError::Interrupted), "{error:?}"),
            Ok(_) => panic!("a frame came through"),
        }
    });
}

/// Whatever the path: the streams' numbers tell how many were sent.
#[test]
fn no_router_is_measured_cold() {
    testing::timed(|| {
        let Some(mut bench) = started(&setup(Path::Kernel)) else {
            return;
        };
        let number = |result: TrialResult| result.directions[0].stream.trial;
        let many = Offer {
            destinations: 256,
            ..burst()
        };
        let first = number(bench.trial(&burst()).unwrap());
        let again = number(bench.trial(&burst()).unwrap());
        let other = number(bench.trial(&many).unwrap());
        assert_eq!(again, first + 1, "it is warm");
        assert_eq!(other, again + 2, "one was forgotten");
        let fresh = number(started(&setup(Path::Kernel)).unwrap().trial(&many).unwrap());
        assert!(fresh > 2, "the first frame's, and one to warm up");
    });
}

#[test]
fn an_interrupted_trial_ends_early() {
    testing::timed(|| {
        let Some(mut bench) = started(&setup(Path::Kernel)) else {
            return;
        };
        let hour = Offer {
            duration: Duration::from_secs(3600),
            rate_pps: Some(10.0),
            ..Offer::default()
        };
        // So that the first question is asked of this trial.
        bench.ceiling_pps(&hour).unwrap();
        let ended = bench.trial_while(&hour, &|| false);
        assert!(matches!(ended, Err(BenchError::Interrupted)), "{ended:?}");
        // The bench is as good as before.
        assert_eq!(accounted(&bench.trial(&burst()).unwrap()), BURST);
    });
}

#[test]
fn tcp_and_trials_take_turns() {
    testing::timed(|| {
        let Some(mut bench) = started(&setup(Path::Kernel)) else {
            return;
        };
        for _ in 0..2 {
            assert_eq!(accounted(&bench.trial(&burst()).unwrap()), BURST);
            let tcp = supported(bench.tcp(Directions::TwoWay, Duration::from_millis(100)));
            let Some(tcp) = tcp else { return };
            assert_eq!(tcp.received_mbit_per_s.len(), 2);
            assert!(tcp.router_cpu_ns > 0, "{tcp:?}");
        }
    });
}

/// Processes of `iperf3` that this one started.
fn own_iperf3() -> Vec<u32> {
    let own = format!(" {} ", std::process::id());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_own = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after = stat.split_once("(iperf3) ");
        after.is_some_and(|(_, rest)| rest[1..].starts_with(&own))
    };
    pids.filter(is_own).collect()
}

#[test]
fn tcp_that_is_given_up_ends_at_once_and_leaves_nothing() {
    testing::alone(|| {
        let Some(mut bench) = started(&setup(Path::Kernel)) else {
            return;
        };
        // At once, while the server starts; and in the middle of it.
        for wanted in [Duration::ZERO, Duration::from_millis(400)] {
            let begun = Instant::now();
            let go_on = || begun.elapsed() < wanted;
            let ended = bench.tcp_while(Directions::TwoWay, Duration::from_secs(60), &go_on);
            let took = begun.elapsed().saturating_sub(wanted);
            match ended {
                Err(error @ BenchError::NotSupported { .. }) => return testing::skipped(error),
                ended => assert!(matches!(ended, Err(BenchError::Interrupted)), "{ended:?}"),
            }
            assert_eq!(own_iperf3(), Vec::<u32>::new());
            // Of the minute that was asked for.
            assert!(took < Duration::from_secs(20), "{took:?}");
        }
        let tcp = bench.tcp(Directions::OneWay, Duration::from_millis(100));
        assert!(tcp.unwrap().received_mbit_per_s[0] > 0.0, "it is as before");
    });
}

#[test]
fn tcp_beside_another_program_is_not_valid() {
    testing::alone(|| {
        let Some(mut bench) = started(&setup(Path::Kernel)) else {
            return;
        };
        let cpu = bench.setup().topology.cpus.router[0];
        let stop = AtomicBool::new(false);
        let tcp = thread::scope(|scope| {
            scope.spawn(|| {
                sys::affinity::pin_to(cpu).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let tcp = bench.tcp(Directions::OneWay, Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
            tcp
        });
        let Some(tcp) = supported(tcp) else { return };
        let Verdict { reason, remedy, .. } = &tcp.verdict;
        println!("{reason}; remedy: {remedy}");
        assert!(reason.contains("others kept the trial's CPUs busy"));
    });
}

#[test]
fn tcp_passes_every_path() {
    testing::timed(|| {
        for path in [
            Path::Bridge,
            Path::XdpDevmap,
            Path::XdpFib,
            Path::XdpFibCached,
            Path::XdpCpumap,
            Path::AfXdp(AfXdp::default()),
        ] {
            let Some(mut bench) = started(&setup(path)) else {
                return;
            };
            let tcp = supported(bench.tcp(Directions::OneWay, Duration::from_millis(100)));
            let Some(tcp) = tcp else { return };
            assert!(tcp.received_mbit_per_s[0] > 0.0, "{path:?}: {tcp:?}");
            let rate = tcp.received_mbit_per_s[0];
            println!("{}: {rate:.0} Mbit/s {:?}", path.name(), tcp.verdict);
        }
    });
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_made() {
    let mut bad = setup(Path::Kernel);
    bad.topology.queues = 0;
    assert!(matches!(Bench::start(&bad), Err(BenchError::Spec(_))));
    let unsupported = Setup {
        ports: PortKind::LiveFrame,
        ..setup(Path::XdpDevmap)
    };
    if cfg!(not(feature = "bpf")) {
        let error = Bench::start(&unsupported).err().unwrap();
        assert!(matches!(error, BenchError::NotSupported { .. }), "{error}");
    }
}

#[test]
fn ports_of_every_kind_send_and_count() {
    testing::timed(|| {
        for ports in [PortKind::LiveFrame, PortKind::AfXdp, PortKind::AfPacket] {
            let setup = Setup {
                ports,
                ..setup(Path::Kernel)
            };
            carries(&setup, &burst());
        }
    });
}

#[test]
fn af_xdp_forwarders_carry() {
    testing::timed(|| {
        for poll in [Poll::Polled, Poll::Interrupt, Poll::BusyPoll] {
            carries(&setup(af_xdp(poll)), &burst());
        }
    });
}

#[test]
fn a_router_is_charged_for_the_time_of_sending_alone() {
    testing::alone(|| {
        let Some(mut bench) = started(&setup(af_xdp(Poll::BusyPoll))) else {
            return;
        };
        let offer = Offer {
            rate_pps: Some(1_000.0),
            duration: Duration::from_millis(50),
            ..Offer::default()
        };
        let cpus = u32::try_from(bench.setup().topology.cpus.router.len()).unwrap();
        let result = bench.trial(&offer).unwrap();
        let used = Duration::from_nanos(result.router_cpu_ns());
        let elapsed = result.seen.host.elapsed;
        testing::certainly!(result.received_while_sending() <= result.received());
        // What is read takes a moment, in which a busy machine may do something else.
        let most = elapsed * cpus + Duration::from_millis(5);
        assert!(used <= most, "{used:?} of {elapsed:?}");
    });
}

#[test]
fn a_limited_router_carries_and_stays_below_its_limit() {
    testing::alone(|| {
        for path in [Path::Kernel, Path::XdpCpumap, Path::AfXdp(AfXdp::default())] {
            limited(path);
        }
    });
}

fn limited(path: Path) {
    let setup = Setup {
        cpu_limit: Some(0.2),
        ..setup(path)
    };
    let Some(mut bench) = one_started(&setup) else {
        return;
    };
    assert_eq!(accounted(&bench.trial(&burst()).unwrap()), BURST);
    // Overloaded, it would take all of its CPU.
    let flood = Offer {
        duration: Duration::from_secs(1),
        ..Offer::default()
    };
    let begun = Instant::now();
    let limited = bench.trial(&flood).unwrap();
    let used = Duration::from_nanos(limited.router_cpu_ns());
    let elapsed = begun.elapsed();
    // A tick of the kernel's may be more than its share of a period.
    let allowed = elapsed.mul_f64(0.25);
    assert!(used < allowed, "{used:?} of {elapsed:?}");
    bench.limit(None).unwrap();
    assert_eq!(accounted(&bench.trial(&burst()).unwrap()), BURST);
}

/// Whatever the table does and whoever sends, all frames come; a trial without its changes
/// is none.
#[test]
fn routes_change_while_many_hosts_send() {
    testing::timed(|| {
        for path in [Path::Kernel, Path::XdpFibCached] {
            let mut setup = setup(path);
            setup.topology.routes = Routes::Table(64);
            let Some(mut bench) = one_started(&setup) else {
                return;
            };
            let offer = Offer {
                sources: 8,
                destinations: 16,
                rate_pps: Some(BURST as f64 / 0.3),
                duration: Duration::from_millis(300),
                changes_per_s: 400,
                ..Offer::default()
            };
            // Twice, so that both gateways are taken and left.
            for _ in 0..2 {
                let result = bench.trial(&offer).unwrap();
                // Each of the half behind side 1 at the least.
                assert!(result.changes.made >= 32, "{result:?}");
                assert_eq!(result.lost(), 0, "{result:?}");
            }
            let too_many = Offer {
                changes_per_s: u32::MAX,
                ..offer
            };
            let result = bench.trial(&too_many).unwrap();
            assert!(!result.verdict.is_valid(), "{:?}", result.verdict);
        }
    });
}
