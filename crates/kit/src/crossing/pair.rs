//! What two threads hand over.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, retry_on_intr};
use rustix::thread::futex;
use sys::event::Event;

use super::Crossing;

/// Turns of a wake-up that only warm up.
const WARM_UP: usize = 16;
/// A peer that has not answered after this never will.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(1);

/// What two threads hand over; the index is who gets it.
pub(super) enum Pair {
    None,
    Lines([Line; 2]),
    Futex([Line; 2]),
    Eventfd([OwnedFd; 2]),
    Pipe([(PipeReader, PipeWriter); 2]),
    Notification([Event; 2]),
}

/// Alone on its line, and on the next, which processors fetch with it.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Line(pub(super) AtomicU32);

/// When a thread was woken, and when it then began to wake the other, ns.
#[derive(Clone, Copy, Default)]
pub(super) struct Turn {
    pub(super) woken_ns: u64,
    /// Otherwise it was woken before it slept, and that is no wake-up.
    pub(super) has_slept: bool,
    pub(super) wakes_ns: u64,
}

impl Pair {
    pub(super) fn new(crossing: Crossing) -> io::Result<Self> {
        let event = || eventfd(0, EventfdFlags::CLOEXEC);
        Ok(match crossing {
            Crossing::CacheLine => Self::Lines(Default::default()),
            Crossing::Futex(_) => Self::Futex(Default::default()),
            Crossing::Eventfd(_) => Self::Eventfd([event()?, event()?]),
            Crossing::Pipe(_) => Self::Pipe([io::pipe()?, io::pipe()?]),
            Crossing::Notification => Self::Notification([Event::new()?, Event::new()?]),
            _ => Self::None,
        })
    }

    pub(super) fn wake(&self, side: usize) -> io::Result<()> {
        match self {
            Self::Futex(words) => {
                words[side].0.store(1, Ordering::SeqCst);
                futex::wake(&words[side].0, futex::Flags::PRIVATE, 1)?;
            }
            Self::Eventfd(events) => drop(rustix::io::write(&events[side], &1u64.to_ne_bytes())?),
            Self::Pipe(pipes) => drop(rustix::io::write(&pipes[side].1, &[1])?),
            Self::Notification(events) => events[side].signal(),
            Self::Lines(_) | Self::None => {}
        }
        Ok(())
    }

    /// Sleeps until woken, or returns at once where that was before.
    pub(super) fn wait(&self, side: usize) -> io::Result<()> {
        match self {
            Self::Futex(words) => {
                let word = &words[side].0;
                while word.swap(0, Ordering::SeqCst) == 0 {
                    match futex::wait(word, futex::Flags::PRIVATE, 0, None) {
                        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Self::Eventfd(events) => {
                retry_on_intr(|| rustix::io::read(&events[side], &mut [0; 8]))?;
            }
            Self::Pipe(pipes) => {
                retry_on_intr(|| rustix::io::read(&pipes[side].0, &mut [0]))?;
            }
            Self::Notification(events) => while !events[side].wait(ANSWER_MAX) {},
            Self::Lines(_) | Self::None => {}
        }
        Ok(())
    }
}

/// From each side's waking to the other's being woken; the leader woke the peer once
/// before it took turns.
pub(super) fn one_way(leader: &[Turn], peer: &[Turn], clock_ns: f64) -> Vec<f64> {
    let to_peer = leader.iter().zip(peer.iter().skip(1));
    let to_leader = peer.iter().zip(leader);
    let both = to_peer.skip(WARM_UP).chain(to_leader.skip(WARM_UP));
    let took_ns = |(waker, woken): (&Turn, &Turn)| {
        let took_ns = woken.woken_ns.saturating_sub(waker.wakes_ns);
        (took_ns as f64 - clock_ns).max(0.0)
    };
    both.filter(|(_, woken)| woken.has_slept)
        .map(took_ns)
        .collect()
}
