//! Ports that user space drives, without XDP: frames go through a bridge between
//! two taps, once and in order, and a port that is gone says so.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lockgate_forward::tester::port::{Port, af_packet, tap};
use lockgate_forward::tester::stream::{Addresses, FrameSize, Link, Stream};
use net::tap::{TapMode, open_tap};
use net::{Journal, Namespace, Tag};
use support::is_root;

const BURST: u64 = 32;
const PATIENCE: Duration = Duration::from_secs(30);
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 9, 1], [2, 0, 0, 0, 9, 2]];

const TAP: TapMode = TapMode {
    ethernet: true,
    virtio_header: false,
    multi_queue: false,
};

/// Two taps on a bridge in a namespace of its own.
fn bridged() -> (Namespace, [Port; 2], [String; 2], Journal) {
    let journal = Journal::open().unwrap();
    let tag = Tag::fresh();
    let home = Namespace::create(&journal, &tag.name("taps").unwrap()).unwrap();
    home.set_sysctl("ipv6/conf/default/disable_ipv6", "1")
        .unwrap();
    let bridge = tag.interface("b").unwrap();
    let mut netlink = home.netlink().unwrap();
    netlink.add_bridge(&bridge).unwrap();
    let names = ["p", "q"].map(|role| tag.interface(role).unwrap());
    let ports = [0, 1].map(|side: usize| {
        let name = &names[side];
        let file = open_tap(&home, name, 1, TAP).unwrap().remove(0);
        netlink.set_master(name, Some(&bridge)).unwrap();
        netlink.set_up(name).unwrap();
        tap::open(name, file, MACS[side], None).unwrap()
    });
    netlink.set_up(&bridge).unwrap();
    (home, ports, names, journal)
}

fn stream(from: usize, trial: u8, frames_max: u64) -> Stream {
    Stream {
        trial,
        id: from as u8,
        link: Link {
            source: MACS[from],
            destination: MACS[1 - from],
            vlan: None,
        },
        addresses: Addresses::V4 {
            source: "192.0.2.2".parse().unwrap(),
            first: "198.19.0.0".parse().unwrap(),
            count: 16,
            stride: 1,
        },
        size: FrameSize::Imix,
        rate_pps: Some(20_000.0),
        duration: Duration::from_secs(3600),
        frames_max: Some(frames_max),
    }
}

/// A bridge forwards some time after its ports are up: frames until one comes.
fn wait_until_open(ports: &mut [Port; 2]) {
    let until = Instant::now() + PATIENCE;
    ports[1].receiver.begin(200, 0).unwrap();
    while ports[1].receiver.counts().unwrap().received == 0 {
        assert!(Instant::now() < until, "the bridge stays closed");
        let sender = &mut ports[0].transmitter;
        sender
            .transmit(&stream(0, 200, 1), &AtomicBool::new(false))
            .unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn frames_pass_between_taps() {
    if !is_root() {
        return;
    }
    let (_home, mut ports, _, _journal) = bridged();
    wait_until_open(&mut ports);
    for trial in 0..10 {
        for from in [0, 1] {
            ports[1 - from].receiver.begin(trial, from as u8).unwrap();
            let sender = &mut ports[from].transmitter;
            let sent = sender
                .transmit(&stream(from, trial, BURST), &AtomicBool::new(false))
                .unwrap();
            assert_eq!((sent.due, sent.offered, sent.refused), (BURST, BURST, 0));
            let until = Instant::now() + PATIENCE;
            let counts = loop {
                let counts = ports[1 - from].receiver.counts().unwrap();
                if counts.received == BURST {
                    break counts;
                }
                assert!(
                    Instant::now() < until,
                    "{} of {BURST} came",
                    counts.received
                );
                std::thread::sleep(Duration::from_millis(1));
            };
            assert_eq!((counts.duplicates, counts.reordered), (0, 0));
            let sizes = [64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570];
            let bytes: u64 = (0..BURST as usize).map(|k| sizes[k % 12]).sum();
            assert_eq!(counts.bytes, bytes);
        }
    }
}

#[test]
fn a_port_that_is_down_or_gone_says_so() {
    if !is_root() {
        return;
    }
    let (home, mut ports, names, _journal) = bridged();
    let mut netlink = home.netlink().unwrap();
    let index = netlink.link(&names[0]).unwrap().index;
    let open = || af_packet::open(&names[0], index, MACS[0], None).unwrap();
    let mut packets = home.run(open).unwrap();
    netlink.set_down(&names[0]).unwrap();
    for transmitter in [&mut ports[0].transmitter, &mut packets.transmitter] {
        let error = transmitter
            .transmit(&stream(0, 1, 1), &AtomicBool::new(false))
            .unwrap_err();
        assert!(error.to_string().contains("must be up"), "{error}");
        assert!(error.to_string().contains(&names[0]), "{error}");
    }
    // The counting thread ends with an error, and the receiver passes it on.
    let until = Instant::now() + PATIENCE;
    let error = loop {
        match packets.receiver.counts() {
            Err(error) => break error,
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(Instant::now() < until, "nobody said that the port is down");
    };
    assert!(error.to_string().contains("receive"), "{error}");
    assert!(packets.receiver.begin(1, 1).is_err(), "and it stays so");
}
