//! Sockets at both ends of a veth pair: what is sent comes, once, in order, byte
//! for byte; through several queues, and back through shared memory.

use std::os::fd::AsFd;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockgate_xdp::socket::{
    BusyPoll, Capture, Frame, OpenError, Pool, Socket, SocketOptions, Umem,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// A veth holds 256 packets on their way.
const BURST: usize = 64;
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `body` in a network namespace of its own with two veth ends, `lgx0` and
/// `lgx1`, of two queues each. It ends with the thread, so nothing stays.
fn between_two_ends(body: impl FnOnce(u32, u32) + Send + 'static) {
    let thread = std::thread::spawn(move || {
        // SAFETY: a network namespace shares no memory or files.
        if let Err(error) = unsafe { unshare_unsafe(UnshareFlags::NEWNET) } {
            testing::skipped(format!(
                "no network namespace of its own ({error}); run as root"
            ));
            return;
        }
        let queues = ["numtxqueues", "2", "numrxqueues", "2"];
        let pair = ["link", "add", "lgx0"].into_iter().chain(queues);
        let peer = ["type", "veth", "peer", "name", "lgx1"];
        if !ip(&pair.chain(peer).chain(queues).collect::<Vec<_>>()) {
            testing::skipped("no veth pair; apt-get install iproute2, and run as root");
            return;
        }
        for end in ["lgx0", "lgx1"] {
            assert!(ip(&["link", "set", end, "up"]));
        }
        body(index("lgx0"), index("lgx1"));
    });
    thread.join().unwrap();
}

fn ip(arguments: &[&str]) -> bool {
    let ran = Command::new("ip").args(arguments).status();
    ran.is_ok_and(|status| status.success())
}

fn index(name: &str) -> u32 {
    let any = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    rustix::net::netdevice::name_to_index(&any, name).unwrap()
}

fn packet(sequence: u32, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|at| (at as u32 ^ sequence) as u8).collect();
    bytes[..6].fill(0xff);
    bytes[14..18].copy_from_slice(&sequence.to_be_bytes());
    bytes
}

struct End {
    umem: Arc<Umem>,
    pool: Pool,
    socket: Socket,
}

impl End {
    fn new(index: u32, queue: u32, options: &SocketOptions) -> Self {
        let (umem, mut pool) = Umem::new(1024, 2048).unwrap();
        let mut socket = Socket::open(&umem, index, queue, options).unwrap();
        assert_eq!(socket.receive.refill(&mut pool, 512), 512);
        Self { umem, pool, socket }
    }

    fn send(&mut self, packets: &[Vec<u8>]) {
        for bytes in packets {
            self.socket.transmit.reclaim(&mut self.pool);
            let mut frame = self.pool.take().expect("as many as were reclaimed");
            self.umem.write(&mut frame, bytes).unwrap();
            self.socket.transmit.stage(frame).expect("room in the ring");
        }
        testing::until(|| self.socket.transmit.flush().unwrap(), |left| *left == 0);
    }

    /// Exactly this many packets; the kernel's own (IPv6 router solicitations) do not
    /// count.
    fn receive(&mut self, count: usize) -> Vec<Vec<u8>> {
        let until = Instant::now() + PATIENCE;
        let mut got = Vec::new();
        let mut frames = Vec::new();
        while got.len() < count {
            assert!(Instant::now() < until, "{} of {count} came", got.len());
            let descriptors = [self.socket.receive.as_fd()];
            sys::readable::any(&descriptors, Duration::from_millis(10)).unwrap();
            self.socket.receive.receive(16, &mut frames);
            for frame in frames.drain(..) {
                let bytes = self.umem.bytes(&frame).to_vec();
                if bytes[..6] == [0xff; 6] {
                    got.push(bytes);
                }
                self.pool.put(frame);
            }
            self.socket.receive.refill(&mut self.pool, 512);
        }
        got
    }
}

fn small_rings() -> SocketOptions {
    SocketOptions {
        ring_entries: 512,
        ..SocketOptions::default()
    }
}

#[test]
fn packets_come_once_in_order_and_whole() {
    testing::timed(|| {
        between_two_ends(|left, right| {
            let mut sender = End::new(left, 0, &small_rings());
            let capture = Capture::attach(right, 2).unwrap();
            let mut receiver = End::new(right, 0, &small_rings());
            capture.feed(0, &receiver.socket.receive).unwrap();
            // Several laps of all rings.
            for round in 0..100 {
                let sizes = [60, 61, 124, 777, 1514];
                let sent: Vec<_> = (0..BURST as u32)
                    .map(|index| packet(round * 100 + index, sizes[index as usize % sizes.len()]))
                    .collect();
                sender.send(&sent);
                assert_eq!(receiver.receive(BURST), sent, "round {round}");
            }
            let statistics = receiver.socket.receive.statistics().unwrap();
            assert_eq!(statistics.rx_dropped + statistics.rx_invalid_descs, 0);
            assert_eq!(receiver.socket.receive.invalid(), 0);
            assert_eq!(sender.socket.transmit.invalid(), 0);
            // All frames are accounted for: in the pool, or with the kernel.
            assert_eq!(receiver.pool.len(), 512);
            let left = || {
                sender.socket.transmit.reclaim(&mut sender.pool);
                sender.pool.len()
            };
            testing::until(left, |frames| *frames >= 512);
        });
    });
}

#[test]
fn one_call_sends_32_or_the_budget_and_the_loop_sends_all() {
    for wanted in [None, Some(128)] {
        between_two_ends(move |left, right| {
            let options = SocketOptions {
                send_budget: wanted,
                ..small_rings()
            };
            let mut sender = End::new(left, 0, &options);
            let _capture = Capture::attach(right, 2).unwrap();
            let sent: Vec<_> = (0..128).map(|index| packet(index, 60)).collect();
            sender.send(&sent);
            let calls = sender.socket.transmit.calls();
            let budget = sender.socket.transmit.budget();
            assert!(budget == 32 || Some(budget) == wanted);
            // As many as it takes, plus one that only learns that none are left.
            assert!((128 / u64::from(budget)..=128 / u64::from(budget) + 1).contains(&calls));
        });
    }
}

#[test]
fn each_queue_has_its_socket() {
    between_two_ends(|left, right| {
        let capture = Capture::attach(right, 2).unwrap();
        let mut ends: Vec<_> = [0, 1]
            .into_iter()
            .map(|queue| {
                let receiver = End::new(right, queue, &small_rings());
                capture.feed(queue, &receiver.socket.receive).unwrap();
                (End::new(left, queue, &small_rings()), receiver)
            })
            .collect();
        for (queue, (sender, _)) in ends.iter_mut().enumerate() {
            sender.send(&[packet(queue as u32, 60)]);
        }
        for (queue, (_, receiver)) in ends.iter_mut().enumerate() {
            assert_eq!(receiver.receive(1), [packet(queue as u32, 60)]);
        }
        let error = capture.feed(2, &ends[0].1.socket.receive).unwrap_err();
        assert!(error.to_string().contains("queue 2"), "{error}");
    });
}

/// A packet that came at one interface leaves from the same frame at the other.
#[test]
fn memory_is_shared_between_interfaces() {
    between_two_ends(|left, right| {
        let (umem, mut pool) = Umem::new(1024, 2048).unwrap();
        let mut one = Socket::open(&umem, left, 0, &small_rings()).unwrap();
        let mut two = Socket::open(&umem, right, 0, &small_rings()).unwrap();
        let captures = [left, right].map(|index| Capture::attach(index, 2).unwrap());
        captures[0].feed(0, &one.receive).unwrap();
        captures[1].feed(0, &two.receive).unwrap();
        for socket in [&mut one, &mut two] {
            socket.receive.refill(&mut pool, 256);
        }
        let mut frame = pool.take().unwrap();
        umem.write(&mut frame, &packet(5, 60)).unwrap();
        one.transmit.stage(frame).unwrap();
        assert_eq!(one.transmit.flush().unwrap(), 0);
        let frame = only(&mut two, &mut pool, &umem);
        two.transmit.stage(frame).unwrap();
        assert_eq!(two.transmit.flush().unwrap(), 0);
        let frame = only(&mut one, &mut pool, &umem);
        assert_eq!(umem.bytes(&frame), packet(5, 60));
    });
}

fn only(socket: &mut Socket, pool: &mut Pool, umem: &Umem) -> Frame {
    let mut frames = Vec::new();
    let receive = || {
        sys::readable::any(&[socket.receive.as_fd()], Duration::from_millis(10)).unwrap();
        socket.receive.receive(1, &mut frames);
        match frames.pop() {
            Some(frame) if umem.bytes(&frame)[..6] == [0xff; 6] => Some(frame),
            other => {
                other.into_iter().for_each(|frame| pool.put(frame));
                None
            }
        }
    };
    testing::until(receive, Option::is_some).unwrap()
}

#[test]
fn busy_polling_takes_packets_too() {
    testing::timed(|| {
        between_two_ends(|left, right| {
            let options = SocketOptions {
                busy_poll: Some(BusyPoll::default()),
                ..small_rings()
            };
            let mut sender = End::new(left, 0, &small_rings());
            let capture = Capture::attach(right, 2).unwrap();
            let mut receiver = End::new(right, 0, &options);
            capture.feed(0, &receiver.socket.receive).unwrap();
            for round in 0..20 {
                let sent: Vec<_> = (0..BURST as u32)
                    .map(|at| packet(round * 64 + at, 60))
                    .collect();
                sender.send(&sent);
                receiver.socket.receive.call();
                assert_eq!(receiver.receive(BURST), sent);
            }
            if !receiver.socket.receive.can_busy_poll().unwrap() {
                testing::left_out(
                    "that busy polling does it: this kernel's veth has no NAPI to poll",
                );
            }
        });
    });
}

#[test]
fn a_queue_can_be_bound_again_at_once_and_not_twice() {
    testing::timed(|| {
        between_two_ends(|left, _| {
            for _ in 0..5 {
                let end = End::new(left, 0, &small_rings());
                drop(end);
            }
            let _end = End::new(left, 0, &small_rings());
            let (umem, _) = Umem::new(16, 2048).unwrap();
            let options = SocketOptions {
                patience: Duration::from_millis(50),
                ..small_rings()
            };
            let error = Socket::open(&umem, left, 0, &options).unwrap_err();
            assert!(matches!(error, OpenError::Busy { queue: 0, .. }), "{error}");
        });
    });
}

#[test]
fn what_cannot_be_is_said() {
    between_two_ends(|left, _| {
        let (umem, _) = Umem::new(16, 2048).unwrap();
        let open = |index, queue, options: &SocketOptions| {
            Socket::open(&umem, index, queue, options).map(|_| ())
        };
        let odd = SocketOptions {
            ring_entries: 100,
            ..small_rings()
        };
        let error = open(left, 0, &odd).unwrap_err();
        assert!(matches!(error, OpenError::RingEntries(100)), "{error}");
        let error = open(left, 9, &small_rings()).unwrap_err();
        assert!(matches!(error, OpenError::Bind { queue: 9, .. }), "{error}");
        let none = open(9_999, 0, &small_rings()).unwrap_err().to_string();
        assert!(none.contains("9999"), "{none}");
        assert!(Capture::attach(9_999, 1).is_err());
        let _first = Capture::attach(left, 2).unwrap();
        let second = Capture::attach(left, 2).unwrap_err().to_string();
        assert!(second.contains("no other XDP program"), "{second}");
    });
}
