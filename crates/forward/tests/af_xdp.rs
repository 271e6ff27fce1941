//! The AF_XDP forwarder, and ports that user space drives: every frame passes,
//! once, in order, as a router sends it on.
#![cfg(feature = "bpf")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{in_namespace, spec};
use lockgate_forward::router::af_xdp::Forwarder;
use lockgate_forward::router::path::{AfXdp, Poll};
use lockgate_forward::router::testpmd::Testpmd;
use lockgate_forward::router::{Counters, Router};
use lockgate_forward::tester::port::{Port, Received, af_packet, af_xdp};
use lockgate_forward::tester::stream::{FrameSize, Link, Stream};
use lockgate_forward::topology::plan::{Side, addresses};
use lockgate_forward::topology::{Family, Spec, Topology};
use sys::packet::{Batch, PacketSocket};
use testing::is_root;
use wire::{Stamp, TestFrame, checksum};

const BURST: u64 = 32;

fn stream(topology: &Topology, from: Side, family: Family, trial: u8) -> Stream {
    Stream {
        trial,
        id: from.index() as u8,
        link: Link {
            source: topology.side(from).tester_mac,
            destination: topology.side(from).router_mac,
            vlan: None,
        },
        addresses: addresses(topology.spec(), from, family, (1, 256)).unwrap(),
        size: FrameSize::Imix,
        rate_pps: None,
        duration: Duration::from_secs(3600),
        frames_max: Some(BURST),
        in_flight_max: None,
    }
}

fn index(topology: &Topology, side: Side) -> u32 {
    let built = topology.side(side);
    let mut inside = built.tester.netlink().unwrap();
    inside.link(&built.names.tester).unwrap().index
}

fn ports(topology: &Topology, is_xdp: bool) -> [Port; 2] {
    let open = |side| {
        let built = topology.side(side);
        let mut inside = built.tester.netlink().unwrap();
        let link = inside.link(&built.names.tester).unwrap();
        let queues = topology.spec().queues;
        let open = || match is_xdp {
            true => af_xdp::open(&link.name, link.index, link.address, queues, None),
            false => af_packet::open(&link, None),
        };
        built.tester.run(open).unwrap().unwrap()
    };
    Side::BOTH.map(open)
}

fn bursts(topology: &Topology, ports: &mut [Port; 2], from: Side, family: Family, count: u8) {
    for trial in 0..count {
        let stream = stream(topology, from, family, trial);
        let receiver = from.other().index();
        ports[receiver].receiver.begin(&stream).unwrap();
        let sender = &mut ports[from.index()].transmitter;
        let sent = sender.transmit(&stream, &AtomicBool::new(false)).unwrap();
        assert_eq!((sent.offered, sent.refused), (BURST, 0));
        let receiver = &mut ports[receiver].receiver;
        let is_all = |counts: &Received| counts.received == BURST;
        let counts = testing::until(|| receiver.counts().unwrap(), is_all);
        let odd = (counts.duplicates, counts.reordered, counts.late);
        assert_eq!(odd, (0, 0, 0), "{from:?} {family:?}");
        assert_eq!(counts.latency.len(), BURST, "{from:?} {family:?}");
    }
}

/// What the router counted, once that is as expected: the kernel counts frames some
/// time after it passed them on, including its own.
fn counted(router: &mut Forwarder, is_expected: impl Fn(&Counters) -> bool) -> Counters {
    testing::until(|| router.counters().unwrap(), is_expected)
}

fn forwards(spec: &Spec, config: AfXdp, is_xdp: bool) {
    let (_journal, home, topology) = in_namespace(spec);
    let mut router = match Forwarder::over(&topology, config) {
        Err(error) if error.lacks().is_some() => {
            return testing::left_out(error.lacks().unwrap());
        }
        started => started.unwrap(),
    };
    let mut ports = ports(&topology, is_xdp);
    for family in [Family::V4, Family::V6] {
        for from in Side::BOTH {
            bursts(&topology, &mut ports, from, family, 5);
        }
    }
    let all = 4 * 5 * BURST;
    counted(&mut router, |now| now.received.min(now.forwarded) >= all);
    assert!(router.cpu().unwrap().total_ns() > 0);
    drop((router, ports, topology, home));
}

#[test]
fn every_way_of_waiting_and_batch_forwards() {
    testing::alone_as_root(|| {
        for poll in [Poll::Polled, Poll::Interrupt, Poll::BusyPoll] {
            for batch in [1, 32, 64] {
                let config = AfXdp {
                    poll,
                    batch,
                    queues_bound: true,
                };
                forwards(&spec(), config, true);
            }
        }
    });
}

#[test]
fn several_queues_bound_or_not_forward() {
    testing::alone_as_root(|| {
        for queues_bound in [true, false] {
            let spec = Spec {
                queues: 2,
                ..spec()
            };
            let config = AfXdp {
                queues_bound,
                ..AfXdp::default()
            };
            forwards(&spec, config, false);
        }
    });
}

#[test]
fn the_peer_forwards_and_ends() {
    testing::alone_as_root(|| {
        let (journal, _home, topology) = in_namespace(&spec());
        // Twice: the first leaves the ports as they were.
        for _ in 0..2 {
            let mut peer = match Testpmd::over(&journal, &topology) {
                Err(error) if error.lacks().is_some() => {
                    return testing::skipped(error.lacks().unwrap());
                }
                started => started.unwrap(),
            };
            let mut ports = ports(&topology, false);
            for from in Side::BOTH {
                bursts(&topology, &mut ports, from, Family::V4, 3);
            }
            let counters = peer.counters().unwrap();
            assert!(counters.forwarded >= 2 * 3 * BURST);
            let own = counters.own.unwrap();
            assert!(own.forwarded >= 2 * 3 * BURST && own.busy_ns > 0, "{own:?}");
            assert!(own.busy_ns < peer.cpu().unwrap().own_ns, "it polls in vain");
            assert!(peer.cpu().unwrap().total_ns() > 0);
        }
    });
}

#[test]
fn a_batch_out_of_range_is_refused() {
    if !is_root() {
        return;
    }
    let (_journal, _home, topology) = in_namespace(&spec());
    for batch in [0, 65] {
        let config = AfXdp {
            batch,
            ..AfXdp::default()
        };
        let error = Forwarder::over(&topology, config).err().unwrap();
        assert!(error.to_string().contains("1 to 64"), "{error}");
    }
    // Two in a row: the first leaves nothing behind.
    drop(Forwarder::over(&topology, AfXdp::default()).unwrap());
    drop(Forwarder::over(&topology, AfXdp::default()).unwrap());
}

fn with_sockets(test: impl Fn(&Topology, &mut Forwarder, &PacketSocket, &PacketSocket)) {
    testing::alone_as_root(|| {
        let (_journal, _home, topology) = in_namespace(&spec());
        let mut router = Forwarder::over(&topology, AfXdp::default()).unwrap();
        let [zero, one] = Side::BOTH.map(|side| {
            let index = index(&topology, side);
            let inside = topology.side(side).tester.run(|| PacketSocket::open(index));
            inside.unwrap().unwrap()
        });
        test(&topology, &mut router, &zero, &one);
    });
}

fn frame(topology: &Topology, destination: &str) -> Vec<u8> {
    let zero = topology.side(Side::Zero);
    let frame = TestFrame {
        source_ethernet: zero.tester_mac,
        destination_ethernet: zero.router_mac,
        vlan: None,
        source: "192.0.2.2".parse().unwrap(),
        destination: destination.parse().unwrap(),
        source_port: 7,
        frame_bytes: 64,
    };
    let stamp = Stamp {
        trial: 1,
        stream: 2,
        sequence: 3,
        due_ns: 4,
    };
    frame.to_bytes(stamp).unwrap()
}

fn put(socket: &PacketSocket, frame: &[u8]) {
    let mut batch = Batch::new(1);
    assert!(batch.push(frame));
    assert_eq!(socket.send(&mut batch).unwrap().taken, 1);
}

#[test]
fn a_frame_is_sent_on_as_by_a_router() {
    with_sockets(|topology, _router, zero, one| {
        let bytes = frame(topology, "198.19.0.1");
        put(zero, &bytes);
        let got = first(one, |frame| frame.len() == 60 && frame[12..14] == [8, 0]);
        let to = topology.side(Side::One);
        assert_eq!(&got[..12], [to.tester_mac, to.router_mac].as_flattened());
        assert_eq!(got[22], bytes[22] - 1, "one off the time to live");
        assert_eq!(&got[26..], &bytes[26..]);
        assert_eq!(checksum::of(&got[14..34]), 0);
    });
}

fn icmp(frame: &[u8]) -> Option<[u8; 2]> {
    let is_icmp = frame.len() >= 36 && frame[12..14] == [8, 0] && frame[23] == 1;
    is_icmp.then(|| [frame[34], frame[35]])
}

#[test]
fn what_is_local_or_odd_is_the_kernels() {
    with_sockets(|topology, _router, zero, _one| {
        // At the end of its time (RFC 792: time exceeded).
        let mut late = frame(topology, "198.19.0.1");
        late[22] = 1;
        late[24..26].fill(0);
        let checksum = checksum::of(&late[14..34]);
        late[24..26].copy_from_slice(&checksum.to_be_bytes());
        put(zero, &late);
        let got = first(zero, |frame| icmp(frame).is_some());
        assert_eq!(icmp(&got), Some([11, 0]));
        // To the router itself, at both of its addresses: port unreachable.
        for own in ["192.0.2.1", "192.0.2.5"] {
            put(zero, &frame(topology, own));
            let got = first(zero, |frame| icmp(frame).is_some());
            assert_eq!(icmp(&got), Some([3, 3]), "{own}");
        }
    });
}

fn first(socket: &PacketSocket, is_meant: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut batch = Batch::new(8);
    let receive = || {
        socket.receive(&mut batch).unwrap();
        let found = batch.frames().find(|frame| is_meant(frame));
        found.map(<[u8]>::to_vec)
    };
    testing::until(receive, Option::is_some).unwrap()
}

/// A frame counts as sent on when the link took it, not when it was queued.
#[test]
fn what_the_link_refuses_is_a_loss() {
    with_sockets(|topology, router, zero, _one| {
        let far = topology.side(Side::One);
        let mut outside = far.tester.netlink().unwrap();
        outside.set_down(&far.names.tester).unwrap();
        let before = router.counters().unwrap();
        for _ in 0..BURST {
            put(zero, &frame(topology, "198.19.0.1"));
        }
        let lost = counted(router, |now| now.dropped >= before.dropped + BURST);
        let sent = lost.forwarded - before.forwarded;
        assert!(sent < BURST, "no more than the kernel's own: {lost:?}");
    });
}
