//! Ports that user space drives: frames go through a bridge between two taps,
//! once and in order; a port that is gone says so; a device that is full loses
//! just what it has no room for.

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lockgate_forward::tester::port::{Port, Received, Transmitted, af_packet, tap};
use lockgate_forward::tester::stream::{Addresses, FrameSize, Link as Addressed, Stream};
use net::napi;
use net::netlink::{Link, VethEnd, add_veth};
use net::tap::{TapMode, open_tap};
use net::{Journal, Namespace, Tag};

const BURST: u64 = 32;
const PATIENCE: Duration = Duration::from_secs(30);
const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 9, 1], [2, 0, 0, 0, 9, 2]];

const TAP: TapMode = TapMode {
    ethernet: true,
    virtio_header: false,
    multi_queue: false,
    ring_bytes: None,
};

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
        link: Addressed {
            source: MACS[from],
            destination: MACS[1 - from],
            vlan: None,
        },
        addresses: Addresses::V4 {
            source: "192.0.2.2".parse().unwrap(),
            sources: 1,
            first: "198.19.0.0".parse().unwrap(),
            count: 16,
            stride: 1,
        },
        size: FrameSize::Imix,
        rate_pps: Some(20_000.0),
        duration: Duration::from_secs(3600),
        frames_max: Some(frames_max),
        in_flight_max: None,
    }
}

/// A bridge forwards some time after its ports are up: frames until one comes.
fn wait_until_open(ports: &mut [Port; 2]) {
    let one = stream(0, 200, 1);
    let [sender, receiver] = ports;
    receiver.receiver.begin(&one).unwrap();
    let send = || {
        let sent = sender.transmitter.transmit(&one, &AtomicBool::new(false));
        sent.unwrap();
        receiver.receiver.counts().unwrap().received
    };
    testing::until(send, |received| *received > 0);
}

#[test]
fn frames_pass_between_taps() {
    testing::timed_as_root(|| {
        let (_home, mut ports, _, _journal) = bridged();
        wait_until_open(&mut ports);
        for trial in 0..10 {
            for from in [0, 1] {
                let stream = stream(from, trial, BURST);
                ports[1 - from].receiver.begin(&stream).unwrap();
                let sender = &mut ports[from].transmitter;
                let sent = sender.transmit(&stream, &AtomicBool::new(false)).unwrap();
                assert_eq!((sent.due, sent.offered, sent.refused), (BURST, BURST, 0));
                let receiver = &mut ports[1 - from].receiver;
                let is_all = |counts: &Received| counts.received == BURST;
                let counts = testing::until(|| receiver.counts().unwrap(), is_all);
                assert_eq!((counts.duplicates, counts.reordered), (0, 0));
                let sizes = [64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570];
                let bytes: u64 = (0..BURST as usize).map(|k| sizes[k % 12]).sum();
                assert_eq!(counts.bytes, bytes);
            }
        }
    });
}

#[test]
fn a_port_that_is_down_or_gone_says_so() {
    testing::timed_as_root(|| {
        let (home, mut ports, names, _journal) = bridged();
        let mut netlink = home.netlink().unwrap();
        let link = netlink.link(&names[0]).unwrap();
        let open = || af_packet::open(&link, None).unwrap();
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
        let error = testing::until(|| packets.receiver.counts(), Result::is_err).unwrap_err();
        assert!(error.to_string().contains("receive"), "{error}");
        let next = stream(1, 1, 1);
        assert!(packets.receiver.begin(&next).is_err(), "and it stays so");
    });
}

const OFFLOADS: [(&str, bool); 5] = [
    ("rx-gro", true),
    ("tx-tcp-segmentation", false),
    ("tx-tcp-ecn-segmentation", false),
    ("tx-tcp-mangleid-segmentation", false),
    ("tx-tcp6-segmentation", false),
];

/// A veth pair whose receiving end has a CPU only while the sender sleeps, so
/// that its ring runs full.
struct Slow {
    home: Namespace,
    ends: [Link; 2],
    cpu: usize,
    _journal: Journal,
}

impl Slow {
    /// `None`, with the reason printed, where it cannot be made.
    fn new() -> Option<Self> {
        let journal = Journal::open().unwrap();
        let tag = Tag::fresh();
        let home = Namespace::create(&journal, &tag.name("slow").unwrap()).unwrap();
        home.set_sysctl("ipv6/conf/default/disable_ipv6", "1")
            .unwrap();
        let names = ["x", "y"].map(|role| tag.interface(role).unwrap());
        let [one, other] = [&names[0], &names[1]].map(|name| VethEnd::new(&home, name));
        add_veth(&one, &other).unwrap();
        let mut netlink = home.netlink().unwrap();
        for name in &names {
            netlink.set_up(name).unwrap();
            netlink.set_offloads(name, &OFFLOADS).unwrap();
            napi::set_threaded(&home, name, true).unwrap();
        }
        let cpu = sys::affinity::allowed_cpus().unwrap()[0];
        for thread in napi::threads(&mut netlink, &names[1], 1).unwrap() {
            thread.pin(&[cpu]).unwrap();
            let number = thread.pid.to_string();
            let idle = Command::new("chrt")
                .args(["-i", "-p", "0", &number])
                .status();
            if !idle.is_ok_and(|status| status.success()) {
                testing::skipped("no chrt that sets a policy; apt-get install util-linux");
                return None;
            }
        }
        let ends = [0, 1].map(|end: usize| netlink.link(&names[end]).unwrap());
        Some(Self {
            home,
            ends,
            cpu,
            _journal: journal,
        })
    }

    /// A burst by the port, until the ring has run full: what the sender says,
    /// and what the link's ends counted.
    fn overrun(&self, port: &mut Port) -> (Transmitted, u64, u64) {
        let until = Instant::now() + PATIENCE;
        loop {
            let before = self.counted();
            let burst = Stream {
                rate_pps: None,
                ..stream(0, 1, 8192)
            };
            let sent = std::thread::scope(|scope| {
                let send = || {
                    sys::affinity::pin_to(self.cpu).unwrap();
                    port.transmitter.transmit(&burst, &AtomicBool::new(false))
                };
                scope.spawn(send).join().unwrap().unwrap()
            });
            let (came, dropped) = loop {
                let now = self.counted();
                let (came, dropped) = (now.0 - before.0, now.1 - before.1);
                if came + dropped >= sent.offered || Instant::now() > until {
                    break (came, dropped);
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            if dropped > 0 || Instant::now() > until {
                return (sent, came, dropped);
            }
        }
    }

    /// Frames that came out of the far end, and those that its ring had no room
    /// for.
    fn counted(&self) -> (u64, u64) {
        let mut netlink = self.home.netlink().unwrap();
        let [near, far] = [&self.ends[0], &self.ends[1]];
        let dropped = netlink.statistics(&near.name).unwrap().tx_dropped;
        (netlink.statistics(&far.name).unwrap().rx_packets, dropped)
    }
}

/// The device's loss, frame by frame: the sender neither stops nor tries again, and
/// counts none of them as its own.
#[test]
fn a_full_ring_loses_just_what_finds_it_full() {
    testing::timed_as_root(|| {
        let Some(slow) = Slow::new() else { return };
        let open = || af_packet::open(&slow.ends[0], None).unwrap();
        let mut port = slow.home.run(open).unwrap();
        let (sent, came, dropped) = slow.overrun(&mut port);
        println!("{came} came, {dropped} were dropped");
        assert_eq!((sent.offered, sent.refused), (8192, 0));
        assert!(dropped > 0, "the ring never ran full");
        assert_eq!(came + dropped, sent.offered);
    });
}

/// Frames that wait in the port's own ring at the end count only once the link took
/// them.
#[cfg(feature = "bpf")]
#[test]
fn a_port_of_sockets_offers_what_its_link_took() {
    testing::timed_as_root(|| {
        use lockgate_forward::tester::port::af_xdp;
        let Some(slow) = Slow::new() else { return };
        let near = &slow.ends[0];
        let open = || af_xdp::open(&near.name, near.index, near.address, 1, None).unwrap();
        let mut port = slow.home.run(open).unwrap();
        let (sent, came, dropped) = slow.overrun(&mut port);
        println!("{came} came, {dropped} were dropped");
        assert_eq!((sent.offered, sent.refused), (8192, 0));
        assert_eq!(came + dropped, sent.offered);
    });
}
