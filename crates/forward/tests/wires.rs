//! Trials over taps and over devices of the host that are lent to tester and
//! router: every frame comes, and the devices are then as they were.

use std::time::Duration;

use crate::as_before::AsBefore;
use crate::snapshot::{Random, unsettle};
use lockgate_forward::bench::{Bench, BenchError, Directions, Offer, PortKind, Setup};
use lockgate_forward::router::path::{AfXdp, Path, Poll};
use lockgate_forward::topology::{Family, Wires};
use net::netlink::{VethEnd, add_veth};
use net::{Journal, Namespace, Tag};
use testing::{Again, is_root};

const BURST: u64 = 200;

fn carries(setup: &Setup) {
    let mut bench = match Bench::start(setup) {
        Err(error @ BenchError::NotSupported { .. }) => return testing::left_out(error),
        started => started.unwrap(),
    };
    for family in [Family::V4, Family::V6] {
        let offer = Offer {
            size: lockgate_forward::tester::stream::FrameSize::Fixed(84),
            family,
            destinations: 16,
            rate_pps: Some(20_000.0),
            duration: Duration::from_secs(20),
            frames_max: Some(BURST),
            directions: Directions::TwoWay,
            ..Offer::default()
        };
        let result = bench.trial(&offer).unwrap();
        println!("{}: {:?}", setup.ports.name(), result.verdict);
        for direction in &result.directions {
            let counted = &direction.received;
            assert_eq!((direction.sent.offered, direction.sent.refused), (BURST, 0));
            assert_eq!(counted.received, BURST, "{family:?}: {counted:?}");
            assert_eq!((counted.duplicates, counted.reordered), (0, 0));
        }
        assert!(result.router.forwarded >= 2 * BURST, "{:?}", result.router);
    }
}

#[test]
fn taps() {
    testing::timed_as_root(|| {
        for path in [Path::Kernel, Path::Bridge] {
            let mut setup = Setup::of_host().unwrap().over(Wires::Tap);
            setup.path = path;
            carries(&setup);
        }
    });
}

#[test]
fn what_taps_cannot_do_is_said() {
    if !is_root() {
        return;
    }
    let over = Setup::of_host().unwrap().over(Wires::Tap);
    let mut wrong_path = over.clone();
    wrong_path.path = Path::Testpmd;
    let mut wrong_ports = over.clone();
    wrong_ports.ports = PortKind::AfPacket;
    for (setup, says) in [
        (wrong_path, "testpmd over taps"),
        (wrong_ports, "af-packet"),
    ] {
        let error = Bench::start(&setup).err().unwrap();
        assert!(matches!(error, BenchError::NotSupported { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let mut bench = Bench::start(&over).unwrap();
    let tcp = bench.tcp(Directions::OneWay, Duration::from_millis(100));
    let error = tcp.err().unwrap().to_string();
    assert!(error.contains("no network stack"), "{error}");
}

/// A namespace that plays the host, with two cables between four devices: veths
/// play the cards.
struct Host {
    namespace: Namespace,
    names: Vec<String>,
    _journal: Journal,
}

impl Host {
    fn new(queues: [u32; 2]) -> Self {
        let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
        let namespace = Namespace::create(&journal, &tag.name("host").unwrap()).unwrap();
        let names = ["e1", "e2", "e3", "e4"].map(|role| tag.interface(role).unwrap());
        for (pair, queues) in names.chunks(2).zip(queues) {
            let [one, other] = [&pair[0], &pair[1]].map(|name| VethEnd {
                mtu: Some(1700),
                queues,
                ..VethEnd::new(&namespace, name)
            });
            add_veth(&one, &other).unwrap();
        }
        let mut random = Random::new();
        for name in &names {
            let threaded = random.coin();
            unsettle(&namespace, name, threaded, &mut random);
        }
        Self {
            namespace,
            names: names.to_vec(),
            _journal: journal,
        }
    }

    fn as_it_is(&self) -> AsBefore<'_> {
        AsBefore::of(&self.namespace, &self.names)
    }
}

fn paths() -> Vec<Path> {
    // `testpmd` leaves its XDP programs when it is killed.
    let mut paths = vec![Path::Kernel, Path::Bridge, Path::Testpmd];
    if cfg!(feature = "bpf") {
        paths.extend([Path::XdpFib, Path::AfXdp(AfXdp::default())]);
    }
    paths
}

#[test]
fn devices_are_lent_and_come_back() {
    testing::timed_as_root(|| {
        for path in paths() {
            let host = Host::new([1, 1]);
            let before = host.as_it_is();
            for names in [&host.names[..], &host.names[..2]] {
                for ports in [PortKind::AfPacket, Setup::of_host().unwrap().ports] {
                    let wires = Wires::devices(names).unwrap();
                    let mut setup = Setup::of_host().unwrap().over(wires);
                    (setup.ports, setup.path) = (ports, path);
                    host.namespace.run(|| carries(&setup)).unwrap();
                    before.check();
                }
            }
        }
    });
}

#[test]
fn devices_come_back_from_a_router_that_cannot_start() {
    if !is_root() || !cfg!(feature = "bpf") {
        return;
    }
    let host = Host::new([1, 1]);
    let before = host.as_it_is();
    let mut setup = Setup::of_host().unwrap();
    setup.path = Path::AfXdp(AfXdp {
        poll: Poll::BusyPoll,
        ..AfXdp::default()
    });
    let setup = setup.over(Wires::devices(&host.names).unwrap());
    // A veth cannot be polled, which shows when its settings are made for it.
    let start = || Bench::start(&setup).err().unwrap().to_string();
    let error = host.namespace.run(start).unwrap();
    assert!(error.contains("busy-polled"), "{error}");
    before.check();
}

const BORROWER: &str = "LOCKGATE_TEST_BORROWER";

/// Not a test: borrows devices for a router, and is killed.
#[test]
fn borrower() {
    let Ok(arguments) = std::env::var(BORROWER) else {
        return;
    };
    let mut words: Vec<_> = arguments.split(' ').map(str::to_owned).collect();
    let path = words.remove(0).parse::<usize>().unwrap();
    let mut setup = Setup::of_host().unwrap();
    setup.path = paths()[path];
    let bench = match Bench::start(&setup.over(Wires::devices(&words).unwrap())) {
        Err(error @ BenchError::NotSupported { .. }) => return println!("\nstarted: {error}"),
        started => started.unwrap(),
    };
    println!("\nstarted: ready");
    std::thread::sleep(Duration::from_secs(60));
    drop(bench);
}

#[test]
fn devices_come_back_as_they_were_from_a_router_that_is_killed() {
    testing::timed_as_root(|| {
        for path in 0..paths().len() {
            let host = Host::new([1, 1]);
            let before = host.as_it_is();
            let arguments = format!("{path} {}", host.names.join(" "));
            let start = || Again::start("wires::borrower", BORROWER, &arguments);
            let mut borrower = host.namespace.run(start).unwrap();
            let said = borrower.says("started: ");
            borrower.kill();
            if said != "ready" {
                testing::left_out(said);
                continue;
            }
            let mut netlink = host.namespace.netlink().unwrap();
            assert!(netlink.link(&host.names[0]).is_err(), "it is lent");
            // Another test's sweep may have the journal just now.
            let are_back = || {
                host.namespace.run(net::journal::sweep).unwrap().unwrap();
                host.names.iter().all(|name| netlink.link(name).is_ok())
            };
            testing::until(are_back, |are_back| *are_back);
            before.check();
        }
    });
}

#[test]
fn a_device_that_is_missing_or_too_narrow_is_named() {
    if !is_root() {
        return;
    }
    let host = Host::new([2, 1]);
    let before = host.as_it_is();
    let start = |change: &dyn Fn(&mut Vec<String>, &mut Setup)| {
        let (mut names, mut setup) = (host.names.clone(), Setup::of_host().unwrap());
        change(&mut names, &mut setup);
        let setup = setup.over(Wires::devices(&names).unwrap());
        let failed = host.namespace.run(|| Bench::start(&setup).err().unwrap());
        failed.unwrap()
    };
    let error = start(&|names, _| names[3] = "eth99".to_owned());
    assert!(matches!(error, BenchError::NotSupported { .. }), "{error}");
    assert!(error.to_string().contains("'eth99'"), "{error}");
    // After the devices of the other port are in use.
    let error = start(&|_, setup| setup.topology.queues = 2);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("1 queues"), "{cause}");
    before.check();
}
