//! When a waiting client sleeps, and when it looks by itself.

use crate::learnt::Learnt;

/// The price of a nanosecond of the worker in nanoseconds of the client. The worker
/// spends at most the inverse part of its time on notifying.
const WORTH: f64 = 16.0;

/// The longest time that a client polls without sleeping, ns. Where a wake-up costs
/// more the host is overloaded, and polling would add to it.
const COST_NS_MAX: f64 = 1e6;

/// Until anything is known, ns: a wake-up between two cores of one socket.
const WAKE_NS: f64 = 5_000.0;
const SIGNAL_NS: f64 = 1_000.0;
const LATE_NS: f64 = 10_000.0;

/// Falling asleep and being woken by a timer take the client about as long as
/// the timer is late: twice, and a little, since some are later.
const NAP: f64 = 2.25;

/// Maximum of naps in one wait: a forecast wrong that often comes from a worker that
/// stands still.
const NAPS_MAX: u32 = 3;

/// A client is asleep by then, ns; one that is notified before has not slept, and
/// says nothing about a wake-up.
const ENTRY_NS: u64 = 2_000;

/// Waits that sleep whatever the cost: the first, to learn what a wake-up costs, and
/// one after waits that together took this many times as long, since the cost may
/// have fallen.
const EARLY: u32 = 8;
const AWAKE_COSTS: f64 = 128.0;

const TIMED_ONE_IN: usize = 16;

/// Ski rental with a forecast: polling costs as much as it lasts, sleeping costs a
/// wake-up. A client that polls for the cost of a wake-up and then sleeps pays at
/// most twice the optimum (Karlin et al., "Competitive Snoopy Caching", Algorithmica
/// 1988). Adaptive mutexes do so and, by trying longer and shorter times, KVM's halt
/// polling.
///
/// Completions mostly come when they are expected, since the worker's pace is known.
/// So a client sleeps through a longer wait until one wake-up before its end, and
/// polls only for the rest.
///
/// A wake-up costs the client the time from the notification until it runs, and the
/// worker the time to notify, which is most of it where cores are far apart. Both are
/// learnt from sleeps. Where that costs more than to be woken by a timer, the client
/// naps for most of the expected time, as Linux's hybrid polling of block devices
/// does, and the worker is not disturbed. How late the timer is, is learnt as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hybrid {
    wake: Learnt,
    signal: Learnt,
    late: Learnt,
    completion: Learnt,
    /// Waits that slept only to learn; whether the next of them naps.
    early: u32,
    naps_next: bool,
    /// Expected time of consecutive waits that did not sleep, ns.
    awake_ns: f64,
    untimed: usize,
    untimed_waits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Poll, for at most this long, ns.
    Spin(u64),
    Sleep(usize),
    /// Sleep for this long, ns, or until the lane has run dry.
    Nap(u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time it polled, ns.
    pub spun_ns: u64,
    pub sleeps: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    pub begin_ns: u64,
    pub notified_ns: u64,
    pub woken_ns: u64,
    /// What notifying takes the worker, ns.
    pub signal_ns: u64,
    /// Completions it slept for, and those that were there when it ran.
    pub awaited: usize,
    pub came: usize,
    pub is_dry: bool,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self {
            wake: Learnt::prior(WAKE_NS),
            signal: Learnt::prior(SIGNAL_NS),
            late: Learnt::prior(LATE_NS),
            completion: Learnt::prior(0.0),
            early: 0,
            naps_next: false,
            awake_ns: 0.0,
            untimed: 0,
            untimed_waits: 0,
        }
    }
}

impl Hybrid {
    /// From a notification until the client runs, ns.
    pub fn wake_ns(&self) -> u64 {
        self.wake.ns() as u64
    }

    /// What notifying takes the worker, ns.
    pub fn signal_ns(&self) -> u64 {
        self.signal.ns() as u64
    }

    /// What a wake-up costs, ns of the client's time: the maximum time it polls.
    pub fn cost_ns(&self) -> u64 {
        self.cost() as u64
    }

    fn cost(&self) -> f64 {
        self.sleep_cost().min(self.nap_cost()).min(COST_NS_MAX)
    }

    fn sleep_cost(&self) -> f64 {
        self.wake.ns() + WORTH * self.signal.ns()
    }

    fn nap_cost(&self) -> f64 {
        NAP * self.late.ns()
    }

    /// Whether waiting for this many more completions is worth a sleep.
    pub fn is_long(&self, lacking: usize) -> bool {
        lacking as f64 * self.completion.ns() > self.cost()
    }

    pub fn step(&mut self, lacking: usize, waited: Waited) -> Step {
        let left_ns = self.cost_ns().saturating_sub(waited.spun_ns);
        let (is_long, is_due) = (self.is_long(lacking), self.is_due(lacking, waited));
        if left_ns > 0 && !is_long && !is_due {
            return Step::Spin(left_ns);
        }
        let naps = if is_long {
            self.nap_cost() < self.sleep_cost()
        } else {
            self.naps_next
        };
        let may_nap = self.early == EARLY && waited.spun_ns == 0 && waited.sleeps < NAPS_MAX;
        self.early = (self.early + 1).min(EARLY);
        self.naps_next ^= is_due;
        self.awake_ns = 0.0;
        if naps && may_nap {
            let (rest, late) = (lacking as f64 * self.completion.ns(), self.late.ns());
            return Step::Nap((rest - (NAP - 1.0) * late).max(late / 4.0) as u64);
        }
        // 0 completions a nanosecond, while the pace is not known: a division
        // that ends at the most that there is.
        let meanwhile = (self.wake.ns() / self.completion.ns()) as usize;
        Step::Sleep(lacking.saturating_sub(meanwhile).max(1))
    }

    /// Whether this wait sleeps only to learn what that costs.
    fn is_due(&mut self, lacking: usize, waited: Waited) -> bool {
        if waited != Waited::default() {
            return false;
        }
        self.awake_ns += lacking as f64 * self.completion.ns();
        self.early < EARLY || self.awake_ns > AWAKE_COSTS * self.cost()
    }

    pub fn woken(&mut self, slept: Slept) {
        if slept.notified_ns >= slept.begin_ns.saturating_add(ENTRY_NS)
            && slept.woken_ns >= slept.notified_ns
        {
            self.wake.learn((slept.woken_ns - slept.notified_ns) as f64);
            self.signal.learn(slept.signal_ns as f64);
        }
        let (count, end_ns) = if slept.is_dry {
            (slept.came.min(slept.awaited), slept.notified_ns)
        } else {
            (slept.came, slept.woken_ns)
        };
        if end_ns > slept.begin_ns {
            self.paced(count, end_ns - slept.begin_ns);
        }
    }

    /// The client napped until a timer that was due at `due_ns` woke it. What came
    /// meanwhile shows no pace: it was begun before, or not shown yet.
    pub fn napped(&mut self, due_ns: u64, woken_ns: u64) {
        self.late.learn(woken_ns.saturating_sub(due_ns) as f64);
    }

    /// The worker did this many requests in that time, without running dry.
    pub fn paced(&mut self, completions: usize, elapsed_ns: u64) {
        if completions > 0 {
            self.completion
                .learn(elapsed_ns as f64 / completions as f64);
        }
    }

    /// A wait that polls for this many more completions begins. Returns whether to
    /// time it, and for how many it stands: two looks at the clock take as long as a
    /// small request.
    pub fn wants_time(&mut self, lacking: usize) -> Option<u64> {
        self.untimed += lacking;
        self.untimed_waits += 1;
        (self.untimed >= TIMED_ONE_IN).then(|| {
            self.untimed = 0;
            std::mem::take(&mut self.untimed_waits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taught(completion_ns: u64, wake_ns: u64, signal_ns: u64, late_ns: u64) -> Hybrid {
        let mut hybrid = Hybrid::default();
        for _ in 0..100 {
            hybrid.paced(10, 10 * completion_ns);
            hybrid.woken(Slept {
                begin_ns: 1000,
                notified_ns: 1000 + ENTRY_NS,
                woken_ns: 1000 + ENTRY_NS + wake_ns,
                signal_ns,
                ..Slept::default()
            });
        }
        hybrid.early = EARLY;
        hybrid.late = Learnt::prior(late_ns as f64);
        hybrid
    }

    #[test]
    fn a_long_wait_sleeps_until_a_wake_up_before_its_end_and_a_short_one_looks() {
        let mut hybrid = taught(1000, 8000, 500, 50_000);
        assert_eq!(hybrid.step(48, Waited::default()), Step::Sleep(40));
        let woken = Waited {
            spun_ns: 0,
            sleeps: 1,
        };
        assert_eq!(hybrid.step(8, woken), Step::Spin(hybrid.cost_ns()));
        assert_eq!(
            hybrid.step(12, Waited::default()),
            Step::Spin(hybrid.cost_ns())
        );
    }

    #[test]
    fn naps_where_notifying_is_dear() {
        let mut hybrid = taught(1000, 23_000, 12_000, 16_000);
        let nap = hybrid.step(60, Waited::default());
        assert_eq!(nap, Step::Nap(60_000 - 20_000));
        assert!(matches!(
            hybrid.step(30, Waited::default()),
            Step::Spin(36_000)
        ));
        let woken = Waited {
            spun_ns: 0,
            sleeps: NAPS_MAX,
        };
        assert_eq!(hybrid.step(60, woken), Step::Sleep(37));
        hybrid.napped(40_000, 90_000);
        assert!(hybrid.late.ns() > 16_000.0, "{hybrid:?}");
    }

    #[test]
    fn no_wait_looks_for_longer_than_a_wake_up_costs() {
        let mut hybrid = taught(1, 8000, 500, 50_000);
        let mut waited = Waited::default();
        while let Step::Spin(limit_ns) = hybrid.step(1, waited) {
            assert!(limit_ns > 0);
            waited.spun_ns += limit_ns;
        }
        assert_eq!(waited.spun_ns, hybrid.cost_ns());
        assert_eq!(hybrid.step(1, waited), Step::Sleep(1));
    }

    #[test]
    fn a_wake_up_that_was_dear_is_tried_again() {
        let mut hybrid = taught(100, 500_000, 500, 500_000);
        let mut sleeps = 0;
        for _ in 0..2_000_000 {
            if let Step::Sleep(_) = hybrid.step(32, Waited::default()) {
                sleeps += 1;
                hybrid.woken(Slept {
                    begin_ns: 0,
                    notified_ns: ENTRY_NS,
                    woken_ns: ENTRY_NS + 4000,
                    signal_ns: 20,
                    ..Slept::default()
                });
            }
        }
        assert!(hybrid.wake_ns() < 4500, "{hybrid:?}");
        assert!(sleeps < 16_000, "{sleeps}");
    }

    #[test]
    fn who_was_notified_before_it_slept_teaches_nothing() {
        let mut hybrid = taught(100, 8000, 500, 50_000);
        let before = hybrid;
        for (begin_ns, notified_ns, woken_ns) in
            [(5000, 5100, 5200), (5000, 10, 5200), (5, 9000, 10)]
        {
            hybrid.woken(Slept {
                begin_ns,
                notified_ns,
                woken_ns,
                signal_ns: 1,
                ..Slept::default()
            });
        }
        assert_eq!(hybrid, before);
    }

    #[test]
    fn at_first_it_sleeps_and_asks_for_something_possible() {
        let mut hybrid = Hybrid::default();
        for lacking in 1..=EARLY as usize {
            let step = hybrid.step(lacking, Waited::default());
            assert_eq!(step, Step::Sleep(1), "{lacking}");
        }
        assert!(matches!(hybrid.step(9, Waited::default()), Step::Spin(1..)));
    }
}
