//! Tests that need the host's time.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::host::{Snapshot, Use};
use crate::note::{self, note};
use crate::place::Place;

const REPEATED_MAX: Duration = Duration::from_secs(60);

/// A wait that takes longer is a hang, however busy the host is.
const HANG: Duration = Duration::from_secs(60);

/// Held for reading by tests that share the host, for writing by those that have
/// it alone.
static HOST: RwLock<()> = RwLock::new(());

/// Set to `later` by a runner that has test programs side by side: it runs what wants
/// the host alone when they have ended.
pub(crate) const ALONE: &str = "LOCKGATE_TEST_ALONE";

/// Tells whether a runner runs again, alone, what is inconclusive here.
fn runs_again() -> bool {
    std::env::var(ALONE).is_ok_and(|when| when == "later") && note::is_named()
}

/// Runs the body of a test that needs the host's time, beside others. A body that
/// panics is run once more, unless it took longer than a minute. Where it panics
/// again, and the host was busy each time, the test is inconclusive. Where other test
/// programs run, `scripts/run-programs.sh` runs it once more, after them, instead.
///
/// # Panics
/// As the body does, where the host was quiet, or of what is [`Certain`].
#[track_caller]
pub fn timed(body: impl FnMut()) {
    let _shared = HOST.read().unwrap_or_else(PoisonError::into_inner);
    tell(conclude(body, Snapshot::until_now, Repeats::now()));
}

/// Does what [`timed`] does, for a test that boots guests. Tests of all programs boot at
/// most as many at once as the host has CPUs.
///
/// # Panics
/// As [`timed`].
#[track_caller]
pub fn booting(body: impl FnMut()) {
    let _place = Place::take();
    timed(body);
}

/// As [`timed`], with no other test beside it that needs time. Where other test programs
/// run, it only says so, and `scripts/run-programs.sh` runs it after them.
///
/// # Panics
/// As [`timed`].
#[track_caller]
pub fn alone(body: impl FnMut()) {
    if runs_again() {
        note("alone", "beside other programs it does not run");
        return;
    }
    let _alone = HOST.write().unwrap_or_else(PoisonError::into_inner);
    tell(conclude(body, Snapshot::until_now, Repeats::now()));
}

/// As [`timed`], for a test that needs root's rights: without them it is skipped.
#[track_caller]
pub fn timed_as_root(body: impl FnMut()) {
    if crate::is_root() {
        timed(body);
    }
}

/// As [`alone`], for a test that needs root's rights: without them it is skipped.
#[track_caller]
pub fn alone_as_root(body: impl FnMut()) {
    if crate::is_root() {
        alone(body);
    }
}

/// Reads every millisecond until the value is as expected.
///
/// # Panics
/// After a minute, with the last value.
#[track_caller]
pub fn until<T: Debug>(mut read: impl FnMut() -> T, is_expected: impl Fn(&T) -> bool) -> T {
    let end = Instant::now() + HANG;
    loop {
        let value = read();
        if is_expected(&value) {
            return value;
        }
        assert!(Instant::now() < end, "it stays at {value:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[track_caller]
fn tell(end: End) {
    match end {
        End::Held => {}
        End::Repeated(text) => note("repeated", text),
        End::Inconclusive(text) => note("inconclusive", text),
    }
}

/// What [`certainly!`](crate::certainly) panics with: no busy host excuses it.
#[derive(Debug)]
pub struct Certain(pub String);

impl Certain {
    /// Fails the test with that text, whatever the host did.
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    pub fn fail(text: String) -> ! {
        println!("{}: {text}", std::panic::Location::caller());
        panic_any(Self(text))
    }
}

/// Asserts a condition that holds however busy the host is: [`timed`] and [`alone`]
/// excuse other failures on a busy host, never this one.
#[macro_export]
macro_rules! certainly {
    ($holds:expr) => { $crate::certainly!($holds, "{}", stringify!($holds)) };
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            $crate::Certain::fail(format!($($text)+));
        }
    };
}

struct Noisy(String);

/// Fails with a measurement's own statement that the host disturbed it: [`timed`] and
/// [`alone`] excuse it whatever they saw of the host, since they do not see a pause
/// of some milliseconds.
///
/// # Panics
/// Always.
pub fn noisy(reason: impl Display) -> ! {
    let reason = reason.to_string();
    println!("noisy: {reason}");
    panic_any(Noisy(reason))
}

/// How a test ends that does not fail; the reason, where it must be reported.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Held,
    /// The body held at the second try.
    Repeated(String),
    Inconclusive(String),
}

/// How a body failed, and what the host did meanwhile.
struct Failure {
    payload: Box<dyn Any + Send>,
    used: Use,
    took: Duration,
}

impl Failure {
    fn is_excused(&self) -> bool {
        let is_busy = self.used.is_busy() && !self.payload.is::<Certain>();
        is_busy || self.payload.is::<Noisy>()
    }

    fn text(&self) -> &str {
        let payload = &self.payload;
        let noisy = payload.downcast_ref::<Noisy>().map(|noisy| &noisy.0);
        let text = payload.downcast_ref::<String>().or(noisy);
        text.map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("it panicked")
    }
}

/// The rule by which a failure is tried once more, at once.
#[derive(Clone, Copy)]
struct Repeats {
    took_max: Duration,
    /// A failure that a busy host excuses is tried again, too.
    excused: bool,
}

impl Repeats {
    const USUAL: Self = Self {
        took_max: REPEATED_MAX,
        excused: true,
    };

    fn now() -> Self {
        Self {
            excused: !runs_again(),
            ..Self::USUAL
        }
    }

    fn includes(self, failure: &Failure) -> bool {
        failure.took <= self.took_max
            && !failure.payload.is::<Certain>()
            && (self.excused || !failure.is_excused())
    }
}

fn conclude(mut body: impl FnMut(), used: impl Fn(&Snapshot) -> Use, repeats: Repeats) -> End {
    let Err(mut failure) = attempt(&mut body, &used) else {
        return End::Held;
    };
    if repeats.includes(&failure) {
        let first = format!("{}: {}", failure.text(), failure.used);
        let was_excused = failure.is_excused();
        failure = match attempt(&mut body, &used) {
            Ok(()) => return End::Repeated(first),
            // What a quiet host showed once is not excused by a busy one.
            Err(second) if !was_excused => resume_unwind(second.payload),
            Err(second) => second,
        };
    }
    if !failure.is_excused() {
        resume_unwind(failure.payload);
    }
    End::Inconclusive(format!("{}; {}", failure.text(), failure.used))
}

fn attempt(body: &mut impl FnMut(), used: impl Fn(&Snapshot) -> Use) -> Result<(), Failure> {
    let (before, began) = (Snapshot::now(), Instant::now());
    let ended = catch_unwind(AssertUnwindSafe(body));
    let took = began.elapsed();
    ended.map_err(|payload| {
        let used = used(&before);
        // Beside the panic's own message, where the test fails in the end.
        println!("{used}");
        Failure {
            payload,
            used,
            took,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const QUIET: Use = Use {
        stolen: 0.0,
        others_cpus: 0.05,
        cpus: 2,
    };
    const BUSY: Use = Use {
        stolen: 0.8,
        ..QUIET
    };

    #[derive(Debug, PartialEq)]
    enum Ended {
        Failed,
        Held,
        Repeated,
        Inconclusive,
    }
    use Ended::{Failed, Held, Inconclusive, Repeated};

    /// How a test ends whose body fails this often, with the host's state each time;
    /// and how often the body ran.
    fn ends(failures: usize, host: [Use; 2], repeats: Repeats) -> (Ended, usize) {
        let runs = Cell::new(0);
        let body = || {
            runs.set(runs.get() + 1);
            assert!(runs.get() > failures, "run {}", runs.get());
        };
        let used = |_: &Snapshot| host[runs.get() - 1];
        let ended = catch_unwind(AssertUnwindSafe(|| conclude(body, used, repeats)));
        let ended = match ended {
            Err(_) => Failed,
            Ok(End::Held) => Held,
            Ok(End::Repeated(why)) => {
                assert!(why.starts_with("run 1: "), "{why}");
                Repeated
            }
            Ok(End::Inconclusive(why)) => {
                assert!(why.contains("80% of the CPUs' time stolen"), "{why}");
                Inconclusive
            }
        };
        (ended, runs.get())
    }

    #[test]
    fn a_body_that_holds_runs_once() {
        for host in [QUIET, BUSY] {
            assert_eq!(ends(0, [host; 2], Repeats::USUAL), (Held, 1));
        }
    }

    #[test]
    fn a_failure_is_tried_once_more() {
        for host in [QUIET, BUSY] {
            assert_eq!(ends(1, [host; 2], Repeats::USUAL), (Repeated, 2));
        }
        let at_most_none = Repeats {
            took_max: Duration::ZERO,
            ..Repeats::USUAL
        };
        assert_eq!(ends(1, [QUIET; 2], at_most_none), (Failed, 1));
        assert_eq!(ends(1, [BUSY; 2], at_most_none), (Inconclusive, 1));
    }

    #[test]
    fn what_a_busy_host_excuses_is_left_to_a_runner() {
        let later = Repeats {
            excused: false,
            ..Repeats::USUAL
        };
        assert_eq!(ends(1, [BUSY; 2], later), (Inconclusive, 1));
        assert_eq!(ends(1, [QUIET; 2], later), (Repeated, 2));
    }

    #[test]
    fn a_second_failure_is_excused_by_a_host_that_was_busy_both_times() {
        assert_eq!(ends(9, [BUSY, BUSY], Repeats::USUAL), (Inconclusive, 2));
        for host in [[QUIET, QUIET], [BUSY, QUIET], [QUIET, BUSY]] {
            assert_eq!(ends(9, host, Repeats::USUAL), (Failed, 2), "{host:?}");
        }
    }

    #[test]
    fn what_is_certain_fails_at_once_on_any_host() {
        for host in [QUIET, BUSY] {
            let runs = Cell::new(0);
            let body = || {
                runs.set(runs.get() + 1);
                crate::certainly!(runs.get() > 9, "{} is not more than 9", runs.get());
            };
            let conclude = || conclude(body, |_| host, Repeats::USUAL);
            let payload = catch_unwind(AssertUnwindSafe(conclude)).expect_err("it fails");
            let certain = payload.downcast_ref::<Certain>().expect("it is certain");
            assert_eq!(certain.0, "1 is not more than 9");
            assert_eq!(runs.get(), 1);
        }
    }

    #[test]
    fn what_measures_may_say_that_the_host_was_busy() {
        let conclude = || conclude(|| noisy("a pause of 12 ms"), |_| QUIET, Repeats::USUAL);
        let end = catch_unwind(AssertUnwindSafe(conclude)).expect("it does not fail");
        assert!(matches!(end, End::Inconclusive(why) if why.starts_with("a pause of 12 ms; ")));
    }

    #[test]
    fn who_has_the_host_alone_waits_for_the_others() {
        let at_work = std::sync::atomic::AtomicUsize::new(0);
        let work = |most: usize| {
            use std::sync::atomic::Ordering::SeqCst;
            let others = at_work.fetch_add(1, SeqCst);
            assert!(others < most, "{others} others");
            std::thread::sleep(Duration::from_millis(2));
            at_work.fetch_sub(1, SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..5).for_each(|_| alone(|| work(1))));
                scope.spawn(|| (0..5).for_each(|_| timed(|| work(3))));
            }
        });
    }
}
