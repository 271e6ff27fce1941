//! The account in Rust and the counting BPF program are given the same frames
//! and must count the same.
#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate_forward::tester::accounting::{Account, WINDOW_FRAMES};
use net::netlink::{VethEnd, add_veth};
use net::{Journal, Namespace, Tag};
use wire::{SEQUENCE_MAX, Stamp};
use xdp::Sink;
use xdp::socket::{Pool, Socket, SocketOptions, Umem};

const TRIAL: u8 = 200;
const STREAM: u8 = 3;

/// A veth holds 256 packets on their way.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends raw frames by one end of a pair.
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
        let until = Instant::now() + PATIENCE;
        while self.socket.transmit.flush().unwrap() > 0 {
            assert!(Instant::now() < until, "the kernel takes no packets");
        }
    }
}

/// Random numbers that are the same every time (xorshift).
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
    if !rustix::process::geteuid().is_root() {
        println!("skipped: no root; run the tests as root to make network namespaces");
        return;
    }
    let (journal, tag) = (Journal::open().unwrap(), Tag::fresh());
    let namespace = Namespace::create(&journal, &tag.name("counts").unwrap()).unwrap();
    // Nothing but the test's frames is on the way.
    for which in ["all", "default"] {
        let name = format!("ipv6/conf/{which}/disable_ipv6");
        let _ = namespace.set_sysctl(&name, "1");
    }
    let names = ["a", "b"].map(|role| tag.interface(role).unwrap());
    let [one, other] = [&names[0], &names[1]].map(|name| VethEnd {
        namespace: &namespace,
        name,
        address: None,
        mtu: None,
        queues: 1,
    });
    add_veth(&one, &other).unwrap();
    let mut netlink = namespace.netlink().unwrap();
    names.iter().for_each(|name| netlink.set_up(name).unwrap());
    let [from, to] = [&names[0], &names[1]].map(|name| netlink.link(name).unwrap().index);
    namespace.run(|| compare(from, to)).unwrap();
}

fn compare(from: u32, to: u32) {
    // Packets of one CPU stay in order.
    sys::affinity::pin_to(sys::affinity::allowed_cpus().unwrap()[0]).unwrap();
    let mut sink = Sink::attach(to).unwrap();
    let mut sender = Sender::open(from);
    let thorough = std::env::var_os("LOCKGATE_THOROUGH").is_some_and(|value| value == "1");
    for seed in 1..if thorough { 200 } else { 5 } {
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
            let until = Instant::now() + PATIENCE;
            let counted = loop {
                let counts = sink.counts().unwrap();
                let all = counts.received + counts.duplicates + counts.late + counts.foreign;
                if all >= sent * BATCH as u64 {
                    break counts;
                }
                assert!(Instant::now() < until, "{counts:?}");
                std::thread::sleep(Duration::from_millis(1));
            };
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
