//! Two threads that hand something over in turns.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, retry_on_intr};
use rustix::thread::futex;
use sys::clock::now_ns;
use sys::event::Event;
use sys::usage::thread_usage;

use super::Crossing;
use super::trial::{ANSWER_MAX, BATCH_MAX, SAMPLES_MAX, Trial, room};

/// Turns of a wake-up that only warm up.
const WARM_UP: usize = 16;

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
pub(super) struct Line(AtomicU32);

/// When a thread was woken, and when it then began to wake the other, ns.
#[derive(Clone, Copy, Default)]
pub(super) struct Turn {
    woken_ns: u64,
    /// Otherwise it was woken before it slept, and that is no wake-up.
    has_slept: bool,
    wakes_ns: u64,
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

impl Trial {
    /// Half of a round trip: nothing but the two hand-overs is in it.
    pub(super) fn hand_over(&self, lines: &[Line; 2]) -> io::Result<Vec<f64>> {
        let mut turn = 0;
        let once = |_| {
            turn = u32::wrapping_add(turn, 1);
            lines[1].0.store(turn, Ordering::Release);
            self.spin_until(&lines[0], turn);
            Ok(())
        };
        let samples = self.batches(BATCH_MAX, once, || Ok(()))?;
        Ok(samples.iter().map(|ns| ns / 2.0).collect())
    }

    pub(super) fn echo(&self, lines: &[Line; 2]) -> io::Result<()> {
        let mut turn = 1;
        while self.spin_until(&lines[1], turn) {
            lines[0].0.store(turn, Ordering::Release);
            turn = u32::wrapping_add(turn, 1);
        }
        Ok(())
    }

    /// Without PAUSE, which takes up to 140 cycles: as long as the hand-over. `false` if
    /// the trial is over.
    #[inline]
    fn spin_until(&self, line: &Line, value: u32) -> bool {
        while !self.is_over() {
            for _ in 0..1000 {
                if line.0.load(Ordering::Acquire) == value {
                    return true;
                }
            }
        }
        false
    }

    /// Is woken, notes when, notes when again, wakes the other; until the slice is over.
    pub(super) fn take_turns(&self, side: usize) -> io::Result<Vec<Turn>> {
        let mut turns = room(Turn::default());
        let mut sleeps = thread_usage().voluntary_switches;
        let stop_ns = now_ns() + self.slice_ns();
        while turns.len() < SAMPLES_MAX {
            self.pair.wait(side)?;
            let woken_ns = now_ns();
            if self.is_over() || woken_ns > stop_ns {
                break;
            }
            let before = std::mem::replace(&mut sleeps, thread_usage().voluntary_switches);
            turns.push(Turn {
                woken_ns,
                has_slept: sleeps > before,
                wakes_ns: now_ns(),
            });
            self.pair.wake(1 - side)?;
        }
        Ok(turns)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Where;
    use super::*;

    #[test]
    fn whoever_sleeps_is_woken_by_the_end() {
        let kinds = [Crossing::Futex, Crossing::Eventfd, Crossing::Pipe];
        let kinds = kinds.map(|kind| kind(Where::SameCore));
        for kind in kinds.into_iter().chain([Crossing::Notification]) {
            let trial = Trial::new(kind, 0, 0, Duration::from_secs(60)).unwrap();
            std::thread::scope(|scope| {
                let sleeper = scope.spawn(|| trial.take_turns(1));
                std::thread::sleep(Duration::from_millis(20));
                trial.end();
                assert!(sleeper.join().unwrap().unwrap().is_empty(), "{kind:?}");
            });
        }
    }
}
