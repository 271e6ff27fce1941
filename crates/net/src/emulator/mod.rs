//! A link with a rate, a delay, a queue that drops what does not fit, and loss: a thread
//! carries frames between the taps of two namespaces, each at its time, and says how late
//! it was. Its thread runs in real time: busy neighbours on its CPU delay no frame.

mod wire;

pub use wire::{Counts, Fate, Shape, Wire};

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sys::clock::{make_timers_exact, now_ns};
use sys::failure::Failure;

use crate::namespace::Namespace;
use crate::tap::{TapMode, open_tap};
use crate::{Journal, Tag};

/// Addresses of the ends: of a network for documentation (RFC 5737).
pub const LEFT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const PREFIX: u8 = 30;

/// A frame of the usual MTU, and the longest that a tap gives.
const FRAME_BYTES_MAX: usize = 65_536;
/// Frames that are taken from one end before the other has its turn.
const BURST: usize = 64;
/// The thread looks whether it is to end this often.
const LOOK_NS: u64 = 50_000_000;
/// Frames that are under way, at most: what a delay of a second holds at 1.5 Gbit/s of
/// the usual MTU. More are dropped, and counted so.
const UNDER_WAY_MAX: usize = 1 << 17;

const TAP: TapMode = TapMode {
    ethernet: true,
    virtio_header: false,
    multi_queue: false,
    ring_bytes: None,
};

/// Which way frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    LeftToRight,
    RightToLeft,
}

/// How late frames were handed on, after they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    pub frames: u64,
    pub sum_ns: u64,
    pub max_ns: u64,
    /// Later than a millisecond: what the thread, and not the link, did.
    pub late: u64,
}

/// What a direction did since the link began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub counts: Counts,
    /// Of what was carried: bytes of frames to or from the port that is watched.
    pub watched_bytes: u64,
    pub lateness: Lateness,
}

/// Beyond it the link is not what it is said to be.
const LATE_NS: u64 = 1_000_000;

/// Two namespaces and the link between them. Dropped, all of it goes.
#[derive(Debug)]
pub struct Emulator {
    pub left: Namespace,
    pub right: Namespace,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
struct Shared {
    /// Left to right, and back.
    ways: [Mutex<Way>; 2],
    watched_port: AtomicU16,
    is_ending: AtomicBool,
}

#[derive(Debug)]
struct Way {
    wire: Wire,
    watched_bytes: u64,
    lateness: Lateness,
    under_way: VecDeque<(u64, Box<[u8]>)>,
}

impl Way {
    fn new(shape: Shape) -> Self {
        Self {
            wire: Wire::new(shape),
            watched_bytes: 0,
            lateness: Lateness::default(),
            under_way: VecDeque::new(),
        }
    }
}

impl Shared {
    fn way(&self, direction: Direction) -> MutexGuard<'_, Way> {
        let way = match direction {
            Direction::LeftToRight => &self.ways[0],
            Direction::RightToLeft => &self.ways[1],
        };
        way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Emulator {
    /// Makes both namespaces, with [`LEFT`] and [`RIGHT`] up, and starts to carry.
    ///
    /// # Errors
    /// [`Failure`]: without root, or taps.
    pub fn start(
        journal: &Journal,
        tag: &Tag,
        left_to_right: Shape,
        right_to_left: Shape,
    ) -> Result<Self, Failure> {
        let (left, left_file) = end(journal, tag, "left", LEFT)?;
        let (right, right_file) = end(journal, tag, "right", RIGHT)?;
        let shared = Arc::new(Shared {
            ways: [left_to_right, right_to_left].map(|shape| Mutex::new(Way::new(shape))),
            watched_port: AtomicU16::new(0),
            is_ending: AtomicBool::new(false),
        });
        let relay = Relay {
            files: [left_file, right_file],
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("lockgate-link".to_owned())
            .spawn(move || relay.run())
            .map_err(Failure::of("cannot start the link's thread".to_owned()))?;
        Ok(Self {
            left,
            right,
            shared,
            thread: Some(thread),
        })
    }

    /// Gives a direction another shape; frames under way keep their times.
    pub fn reshape(&self, direction: Direction, shape: Shape) {
        let mut way = self.shared.way(direction);
        let counts = way.wire.counts;
        way.wire = Wire::new(shape);
        way.wire.counts = counts;
    }

    /// Counts apart what goes to or from a port of TCP or UDP, from now on.
    pub fn watch(&self, port: u16) {
        self.shared.watched_port.store(port, Ordering::Relaxed);
    }

    pub fn traffic(&self, direction: Direction) -> Traffic {
        let way = self.shared.way(direction);
        Traffic {
            counts: way.wire.counts,
            watched_bytes: way.watched_bytes,
            lateness: way.lateness,
        }
    }

    /// Whether the thread still carries frames.
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn end(
    journal: &Journal,
    tag: &Tag,
    name: &str,
    address: Ipv4Addr,
) -> Result<(Namespace, File), Failure> {
    let named =
        |error| Failure::of::<crate::TagError>(format!("no name for the {name} end"))(error);
    let namespace = Namespace::create(journal, &tag.name(name).map_err(named)?)?;
    let link = tag.interface(name).map_err(named)?;
    let file = open_tap(&namespace, &link, 1, TAP)?.into_iter().next();
    let file = File::from(file.expect("one queue was asked for"));
    // To remove a link takes the kernel tens of milliseconds of its lock's time. Those
    // of namespaces that go, it removes together, later.
    sys::tap::keep(&file).map_err(Failure::of(format!("cannot keep {link}")))?;
    // What a kernel sends of itself would be counted, and would wait in the queue.
    if namespace.sysctl("ipv6/conf/all/disable_ipv6").is_ok() {
        let quiet = namespace.set_sysctl(&format!("ipv6/conf/{link}/disable_ipv6"), "1");
        quiet.map_err(Failure::of(format!("cannot quieten {link}")))?;
    }
    let up = || -> Result<(), crate::NetlinkError> {
        let mut netlink = namespace.netlink()?;
        netlink.set_up(&link)?;
        netlink.add_address(&link, address.into(), PREFIX)
    };
    up().map_err(Failure::of(format!(
        "cannot set up {link} in {}",
        namespace.name()
    )))?;
    Ok((namespace, file))
}

/// The thread that carries frames.
struct Relay {
    files: [File; 2],
    shared: Arc<Shared>,
}

const WAYS: [(Direction, usize, usize); 2] = [
    (Direction::LeftToRight, 0, 1),
    (Direction::RightToLeft, 1, 0),
];

impl Relay {
    fn run(self) -> io::Result<()> {
        make_timers_exact();
        // Where it may not, lateness says what that costs.
        let _ = sys::schedule::in_real_time(0);
        let mut frame = vec![0; FRAME_BYTES_MAX];
        while !self.shared.is_ending.load(Ordering::Relaxed) {
            let mut next_ns = now_ns() + LOOK_NS;
            for (direction, from, to) in WAYS {
                let mut way = self.shared.way(direction);
                self.take(&mut way, &self.files[from], &mut frame)?;
                if let Some(due_ns) = self.hand_on(&mut way, &self.files[to])? {
                    next_ns = next_ns.min(due_ns);
                }
            }
            self.sleep(next_ns)?;
        }
        Ok(())
    }

    /// Takes in what an end sends.
    fn take(&self, way: &mut Way, mut from: &File, frame: &mut [u8]) -> io::Result<()> {
        for _ in 0..BURST {
            let bytes = match from.read(frame) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if way.under_way.len() == UNDER_WAY_MAX {
                way.wire.counts.dropped += 1;
                continue;
            }
            if let Fate::Arrives { due_ns } = way.wire.offer(now_ns(), bytes) {
                way.under_way.push_back((due_ns, frame[..bytes].into()));
            }
        }
        Ok(())
    }

    /// Hands on what is due; when the next one is.
    fn hand_on(&self, way: &mut Way, mut to: &File) -> io::Result<Option<u64>> {
        while let Some((due_ns, _)) = way.under_way.front() {
            let now_ns = now_ns();
            if *due_ns > now_ns {
                return Ok(Some(*due_ns));
            }
            let late_ns = now_ns - due_ns;
            let (_, frame) = way.under_way.pop_front().expect("it is the front");
            match to.write(&frame) {
                Ok(_) => {
                    let port = self.shared.watched_port.load(Ordering::Relaxed);
                    if has_port(&frame, port) {
                        way.watched_bytes += frame.len() as u64;
                    }
                }
                // The far end has no room: as a card that has no buffer.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    way.wire.counts.dropped += 1;
                    way.wire.counts.carried -= 1;
                    way.wire.counts.carried_bytes -= frame.len() as u64;
                }
                Err(error) => return Err(error),
            }
            let lateness = &mut way.lateness;
            lateness.frames += 1;
            lateness.sum_ns += late_ns;
            lateness.max_ns = lateness.max_ns.max(late_ns);
            lateness.late += u64::from(late_ns > LATE_NS);
        }
        Ok(None)
    }

    /// Until a frame comes, or is due.
    fn sleep(&self, until_ns: u64) -> io::Result<()> {
        let left_ns = until_ns.saturating_sub(now_ns());
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: left_ns.min(LOOK_NS) as i64,
        };
        let [left, right] = &self.files;
        let mut files = [left, right].map(|file| PollFd::new(file, PollFlags::IN));
        match poll(&mut files, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a frame is TCP or UDP over IPv4, whole, to or from a port.
fn has_port(frame: &[u8], port: u16) -> bool {
    const ETHERNET_BYTES: usize = 14;
    const IPV4: [u8; 2] = [0x08, 0x00];
    let Some((ethernet, packet)) = frame.split_at_checked(ETHERNET_BYTES) else {
        return false;
    };
    let is_ipv4 = ethernet[12..] == IPV4;
    let (Some(first), Some(protocol)) = (packet.first(), packet.get(9)) else {
        return false;
    };
    let header_bytes = usize::from(first & 0x0f) * 4;
    // TCP and UDP begin with their ports.
    let Some(ports) = packet.get(header_bytes..header_bytes + 4) else {
        return false;
    };
    let is_one = |bytes: &[u8]| bytes == port.to_be_bytes();
    is_ipv4 && [6, 17].contains(protocol) && (is_one(&ports[..2]) || is_one(&ports[2..]))
}
