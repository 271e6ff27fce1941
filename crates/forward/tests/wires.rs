//! Trials over taps and over devices of the host that are lent to tester and
//! router: every frame comes, and the devices are then as they were.

use std::time::Duration;

use lockgate_forward::bench::{Bench, BenchError, Directions, Offer, PortKind, Setup};
use lockgate_forward::router::path::Path;
use lockgate_forward::topology::{Family, Wires};
use net::netlink::{Link, VethEnd, add_veth};
use net::{Journal, Namespace, Tag};
use testing::is_root;

/// Fewer than a veth's ring, or a tap's, holds: none is lost however busy the
/// machine is.
const BURST: u64 = 200;

fn carries(setup: &Setup) {
    let mut bench = match Bench::start(setup) {
        Err(error @ BenchError::NotSupported { .. }) => return testing::skipped(error),
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
            in_flight_max: None,
            directions: Directions::TwoWay,
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
    testing::timed(|| {
        if !is_root() {
            return;
        }
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
    let error = bench.tcp(Directions::OneWay, Duration::from_millis(100));
    assert!(
        error
            .err()
            .unwrap()
            .to_string()
            .contains("no network stack")
    );
}

/// A namespace that plays the host, with two cables between four devices: veths
/// play the cards.
struct Host {
    namespace: Namespace,
    names: Vec<String>,
    _journal: Journal,
}

impl Host {
    fn new() -> Self {
        let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
        let namespace = Namespace::create(&journal, &tag.name("host").unwrap()).unwrap();
        let names = ["e1", "e2", "e3", "e4"].map(|role| tag.interface(role).unwrap());
        for pair in names.chunks(2) {
            let [one, other] = [&pair[0], &pair[1]].map(|name| VethEnd {
                namespace: &namespace,
                name,
                address: None,
                mtu: Some(1700),
                queues: 1,
            });
            add_veth(&one, &other).unwrap();
        }
        let mut netlink = namespace.netlink().unwrap();
        // Some are up, as a host's may be.
        netlink.set_up(&names[0]).unwrap();
        netlink.set_up(&names[1]).unwrap();
        netlink
            .set_offloads(&names[3], &[("tx-tcp-segmentation", false)])
            .unwrap();
        Self {
            namespace,
            names: names.to_vec(),
            _journal: journal,
        }
    }

    /// Its links with their offloads, in the order of their names.
    fn links(&self) -> Vec<(Link, Vec<String>)> {
        let mut netlink = self.namespace.netlink().unwrap();
        let mut links = netlink.links().unwrap();
        links.sort_by(|one, other| one.name.cmp(&other.name));
        let links = links.into_iter().map(|mut link| {
            // It follows some time after the link is up.
            link.running = false;
            let offloads = netlink.offloads(&link.name).unwrap();
            (link, offloads.into_iter().collect())
        });
        links.collect()
    }
}

#[test]
fn devices_are_lent_and_come_back() {
    testing::timed(|| {
        if !is_root() {
            return;
        }
        let host = Host::new();
        let before = host.links();
        for names in [&host.names[..], &host.names[..2]] {
            for ports in [PortKind::AfPacket, Setup::of_host().unwrap().ports] {
                let wires = Wires::devices(names).unwrap();
                let mut setup = Setup::of_host().unwrap().over(wires);
                setup.ports = ports;
                host.namespace.run(|| carries(&setup)).unwrap();
                assert_eq!(host.links(), before, "as they were");
            }
        }
    });
}

#[test]
fn a_device_that_is_missing_or_too_narrow_is_named() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let before = host.links();
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
    let error = start(&|_, setup| setup.topology.queues = 2);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("1 queues"), "{cause}");
    assert_eq!(host.links(), before, "and none has moved");
}
