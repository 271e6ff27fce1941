//! Who looks at a stream from another thread while the sending one is in the
//! kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sys::affinity::{allowed_cpus, keep_to, process_cpus};

use super::live;

/// Interval of looks for the begin of a stream, and from its planned end on for its
/// end.
const LOOK: Duration = Duration::from_millis(1);

/// Interval in between, for a stop and for streams of few frames.
const LOOK_BETWEEN: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Begun,
    Over,
}

/// A watcher of a stream: what it hears, and how it ends the stream.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub stop: &'a AtomicBool,
    /// Called with each phase once, in order, within 2 ms on a quiet machine, from
    /// another thread than the one that sends.
    pub tell: &'a (dyn Fn(Phase) + Sync),
}

impl<'a> From<&'a AtomicBool> for Watch<'a> {
    fn from(stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            tell: &|_| (),
        }
    }
}

pub(super) struct Lookout<'a> {
    pub watch: Watch<'a>,
    pub longest: Duration,
    pub phase: &'a (dyn Fn() -> Option<Phase> + Sync),
    pub sender: live::Thread,
    pub is_out: AtomicBool,
}

impl Lookout<'_> {
    pub fn is_over(&self) -> bool {
        self.watch.stop.load(Ordering::Relaxed) || (self.phase)() == Some(Phase::Over)
    }

    /// Watches until the sender is out, reports each phase, and interrupts the sender
    /// when it is over: frames that the program drops until then cost only time.
    pub fn look(&self) {
        let (mut told, mut ends) = (None, None);
        while !self.is_out.load(Ordering::Relaxed) {
            self.tell((self.phase)(), &mut told);
            if self.is_over() && !self.is_out.load(Ordering::Relaxed) {
                self.sender.interrupt();
            }
            if told == Some(Phase::Begun) {
                ends = ends.or_else(|| Instant::now().checked_add(self.longest));
            }
            thread::park_timeout(pause(ends));
        }
        self.tell(Some(Phase::Over), &mut told);
    }

    fn tell(&self, phase: Option<Phase>, told: &mut Option<Phase>) {
        for next in [Phase::Begun, Phase::Over] {
            if *told < Some(next) && Some(next) <= phase {
                (self.watch.tell)(next);
                *told = Some(next);
            }
        }
    }
}

/// Until the next look at a stream with that planned end, or before its begin.
fn pause(ends: Option<Instant>) -> Duration {
    ends.map_or(LOOK, |ends| {
        let rest = ends.saturating_duration_since(Instant::now());
        rest.clamp(LOOK, LOOK_BETWEEN)
    })
}

/// CPUs of this process other than the calling thread's, which sends: a thread that
/// wakes on that CPU makes gaps in the stream.
pub(super) fn other_cpus() -> Vec<usize> {
    let (Ok(all), Ok(own)) = (process_cpus(), allowed_cpus()) else {
        return vec![];
    };
    all.into_iter().filter(|cpu| !own.contains(cpu)).collect()
}

/// Where there is no such CPU, or it was taken away meanwhile, the watcher stays with
/// the sender: the stream has gaps then, and its verdict says so.
pub(super) fn move_to(cpus: &[usize]) {
    if !cpus.is_empty() {
        let _ = keep_to(cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_close_where_something_is_to_be_seen() {
        let now = Instant::now();
        assert_eq!(pause(None), LOOK);
        assert_eq!(pause(Some(now)), LOOK);
        assert_eq!(pause(Some(now + Duration::from_secs(60))), LOOK_BETWEEN);
    }
}
