//! What exists twice, as a BPF program and in Rust, is the same: given the same
//! frames both accounts count the same, and of one stream both generators make
//! the same frames.
#![cfg(feature = "bpf")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lockgate_forward::tester::accounting::{Account, WINDOW_FRAMES};
use lockgate_forward::tester::port::frames::{FRAME_BYTES_MAX, Frames};
use lockgate_forward::tester::port::live;
use lockgate_forward::tester::stream::{Addresses, FrameSize, Link, Stream};
use net::netlink::{VethEnd, add_veth};
use net::{Journal, Namespace, Tag};
use wire::{SEQUENCE_MAX, Stamp};
use xdp::Sink;
use xdp::socket::{Capture, Pool, Socket, SocketOptions, Umem};

const TRIAL: u8 = 200;
const STREAM: u8 = 3;

const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(20);

struct Sender {
    umem: Arc<Umem>,
    pool: Pool,
    socket: Socket,
}

impl Sender {
    fn open(index: u32) -> Self {
        let (umem, pool) = Umem::new(1024, 2048).unwrap();
        let options = SocketOptions {
            ring_entries: 512,
            ..SocketOptions::default()
        };
        let socket = Socket::open(&umem, index, 0, &options).unwrap();
        Self { umem, pool, socket }
    }

    fn send(&mut self, frames: &[Vec<u8>]) {
        for bytes in frames {
            self.socket.transmit.reclaim(&mut self.pool);
            let mut frame = self.pool.take().expect("as many as were reclaimed");
            self.umem.write(&mut frame, bytes).unwrap();
            self.socket.transmit.stage(frame).expect("room in the ring");
        }
        testing::until(|| self.socket.transmit.flush().unwrap(), |left| *left == 0);
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A frame that the rules treat in one of all ways, and the next sequence.
fn any_frame(dice: &mut Dice, next: &mut u64) -> Vec<u8> {
    let mut stamp = Stamp {
        trial: TRIAL,
        stream: STREAM,
        sequence: *next,
        due_ns: 1,
    };
    match dice.below(12) {
        0..=5 => *next = (*next + 1).min(SEQUENCE_MAX),
        6 => stamp.sequence = next.saturating_sub(dice.below(50)),
        7 => stamp.sequence = next.saturating_sub(dice.below(2 * WINDOW_FRAMES)),
        8 => {
            stamp.sequence = (*next + dice.below(2 * WINDOW_FRAMES)).min(SEQUENCE_MAX);
            *next = (stamp.sequence + 1).min(SEQUENCE_MAX);
        }
        9 => stamp.trial = dice.below(256) as u8,
        10 => stamp.stream = dice.below(256) as u8,
        _ => {
            let bytes = 14 + dice.below(100) as usize;
            return (0..bytes).map(|_| dice.below(256) as u8).collect();
        }
    }
    let headers = 42 + dice.below(1400) as usize;
    [vec![0; headers], stamp.to_bytes().to_vec()].concat()
}

#[test]
fn both_count_the_same() {
    testing::alone(|| {
        with_pair(|namespace, [from, to]| {
            namespace.run(|| compare(from.index, to.index)).unwrap();
        });
    });
}

/// Byte for byte, so destinations, flows and sizes in the same order.
#[test]
fn both_generators_make_the_same_frames() {
    testing::alone(|| {
        with_pair(|namespace, [from, to]| {
            for (sources, count, size, vlan) in [
                (1, 1, FrameSize::Fixed(64), None),
                (8, 64, FrameSize::Fixed(65), Some(7)),
                (1, 16, FrameSize::Imix, None),
                (256, 16, FrameSize::Imix, None),
                (32_768, 65_536, FrameSize::Imix, Some(4094)),
            ] {
                let four = Addresses::V4 {
                    source: "192.0.2.2".parse().unwrap(),
                    sources,
                    first: "198.19.0.0".parse().unwrap(),
                    count,
                    stride: 1,
                };
                let six = Addresses::V6 {
                    source: "2001:2:0:ff00::2".parse().unwrap(),
                    first: "2001:2:0:1::".parse().unwrap(),
                    count,
                    stride: 3,
                };
                let least = |bytes| match size {
                    FrameSize::Fixed(_) => FrameSize::Fixed(bytes),
                    imix @ FrameSize::Imix => imix,
                };
                let sizes = [(four, size), (six, least(85))];
                for (addresses, size) in sizes {
                    let stream = Stream {
                        trial: TRIAL,
                        id: STREAM,
                        link: Link {
                            source: from.address,
                            destination: to.address,
                            vlan,
                        },
                        addresses,
                        size,
                        rate_pps: None,
                        duration: Duration::from_secs(3600),
                        // Three rounds of 64, and fewer than a veth's ring holds.
                        frames_max: Some(192),
                        in_flight_max: None,
                    };
                    let inside = || same_frames(&stream, from, to);
                    namespace.run(inside).unwrap();
                }
            }
        });
    });
}

/// The stream as live frames, compared with what the other generator writes.
fn same_frames(stream: &Stream, from: &net::netlink::Link, to: &net::netlink::Link) {
    let capture = Capture::attach(to.index, 1).unwrap();
    let (umem, mut pool) = Umem::new(512, 2048).unwrap();
    let options = SocketOptions {
        ring_entries: 512,
        ..SocketOptions::default()
    };
    let mut socket = Socket::open(&umem, to.index, 0, &options).unwrap();
    socket.receive.refill(&mut pool, 512);
    capture.feed(0, &socket.receive).unwrap();
    let mut port = live::open(&from.name, from.index, from.address, &[]).unwrap();
    let sent = port
        .transmitter
        .transmit(stream, &AtomicBool::new(false))
        .unwrap();
    assert_eq!(Some(sent.offered), stream.frames_max);
    let frames = Frames::new(stream).unwrap();
    let until = Instant::now() + PATIENCE;
    let (mut taken, mut sequence) = (Vec::new(), 0);
    while sequence < sent.offered {
        assert!(Instant::now() < until, "{sequence} of {sent:?}");
        socket.receive.receive(64, &mut taken);
        for frame in taken.drain(..) {
            let bytes = umem.bytes(&frame);
            let stamp = Stamp::from_bytes(bytes.last_chunk().unwrap()).unwrap();
            assert_eq!(stamp.sequence, sequence, "in their order");
            let mut expected = [0; FRAME_BYTES_MAX];
            let length = frames.write(sequence, stamp.due_ns, &mut expected);
            assert_eq!(
                bytes,
                &expected[..length.unwrap()],
                "{sequence} of {stream:?}"
            );
            sequence += 1;
            pool.put(frame);
        }
    }
}

/// Both ends of a veth pair in a namespace of their own, in which nothing but
/// the test's frames is on the way.
fn with_pair(test: impl FnOnce(&Namespace, [&net::netlink::Link; 2])) {
    if !testing::is_root() {
        return;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let namespace = Namespace::create(&journal, &tag.name("counts").unwrap()).unwrap();
    for which in ["all", "default"] {
        let name = format!("ipv6/conf/{which}/disable_ipv6");
        let _ = namespace.set_sysctl(&name, "1");
    }
    let names = ["a", "b"].map(|role| tag.interface(role).unwrap());
    let [one, other] = [&names[0], &names[1]].map(|name| VethEnd::new(&namespace, name));
    add_veth(&one, &other).unwrap();
    let mut netlink = namespace.netlink().unwrap();
    names.iter().for_each(|name| netlink.set_up(name).unwrap());
    let [from, to] = [&names[0], &names[1]].map(|name| netlink.link(name).unwrap());
    test(&namespace, [&from, &to]);
}

fn compare(from: u32, to: u32) {
    // Packets of one CPU stay in order.
    sys::affinity::pin_to(sys::affinity::allowed_cpus().unwrap()[0]).unwrap();
    let mut sink = Sink::attach(to).unwrap();
    let mut sender = Sender::open(from);
    for seed in 1..u64::from(testing::cases(5, 200)) {
        let mut dice = Dice(seed);
        let mut account = Account::new(TRIAL, STREAM);
        let mut next = [0, WINDOW_FRAMES - 20, SEQUENCE_MAX - 500][(seed % 3) as usize];
        sink.begin(TRIAL, STREAM).unwrap();
        for sent in 1..=20 {
            let frames: Vec<_> = (0..BATCH)
                .map(|_| any_frame(&mut dice, &mut next))
                .collect();
            frames.iter().for_each(|frame| account.record(frame, 2));
            sender.send(&frames);
            let is_all = |counts: &xdp::Counts| {
                let all = counts.received + counts.duplicates + counts.late + counts.foreign;
                all >= sent * BATCH as u64
            };
            let counted = testing::until(|| sink.counts().unwrap(), is_all);
            let expected = account.counts();
            let of_program = [
                counted.received,
                counted.duplicates,
                counted.reordered,
                counted.late,
                counted.foreign,
                counted.bytes,
                counted.latency.frames(),
            ];
            let of_account = [
                expected.received,
                expected.duplicates,
                expected.reordered,
                expected.late,
                expected.foreign,
                expected.bytes,
                expected.latency.len(),
            ];
            assert_eq!(of_program, of_account, "seed {seed}, batch {sent}");
        }
        assert!(account.counts().duplicates > 0 && account.counts().reordered > 0);
    }
}
