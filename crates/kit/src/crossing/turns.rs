//! Two threads that hand something over in turns.

use std::io;
use std::sync::atomic::Ordering;

use sys::clock::now_ns;
use sys::usage::thread_usage;

use super::pair::{Line, Turn};
use super::trial::{BATCH_MAX, SAMPLES_MAX, Trial, room};

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Crossing, Where};
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
