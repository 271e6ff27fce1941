//! Controllers: what changes a policy's settings from what it observes.

use crate::{Moderation, Settings};

/// What is observed of one virtual function, since it was made. Every field
/// is a running total that wraps at 2^64; a controller takes differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub requests: u64,
    pub bytes: u64,
    pub notifications: u64,
    pub held: u64,
    /// Time for which they were held back, summed, ns.
    pub held_ns: u64,
    pub in_flight: u64,
    pub looks: u64,
    /// Time that clients polled where they could have slept, ns.
    pub spun_ns: u64,
    /// CPU time of the worker, ns: of all virtual functions on its core.
    pub busy_ns: u64,
}

impl Counters {
    pub fn since(&self, earlier: &Self) -> Self {
        self.each_with(earlier, u64::wrapping_sub)
    }

    pub fn plus(&self, other: &Self) -> Self {
        self.each_with(other, u64::wrapping_add)
    }

    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            requests: of(self.requests, other.requests),
            bytes: of(self.bytes, other.bytes),
            notifications: of(self.notifications, other.notifications),
            held: of(self.held, other.held),
            held_ns: of(self.held_ns, other.held_ns),
            in_flight: of(self.in_flight, other.in_flight),
            looks: of(self.looks, other.looks),
            spun_ns: of(self.spun_ns, other.spun_ns),
            busy_ns: of(self.busy_ns, other.busy_ns),
        }
    }

    /// Mean requests in flight, when the worker looked; 0 when it did not.
    pub fn depth(&self) -> f64 {
        if self.looks == 0 {
            0.0
        } else {
            self.in_flight as f64 / self.looks as f64
        }
    }
}

/// Changes one virtual function's settings from what it observes. Pure: time
/// and counters are arguments, so that a simulator and the engine run the
/// same code.
pub trait Controller: Send {
    fn name(&self) -> &'static str;

    /// The policy that its settings are for.
    fn moderation(&self) -> Moderation {
        Moderation::Each
    }

    /// Time between two observations that it asks for, ns.
    fn period_ns(&self) -> u64;

    /// Looks at the running totals at `now_ns` and returns the settings that apply
    /// from now on. The clock is any monotonic one; a jump must do no lasting harm.
    fn observe(&mut self, now_ns: u64, counters: &Counters) -> Settings;

    /// What a reader of its figures must know about what it did so far, in words that
    /// follow a colon; `None` where there is nothing to say.
    fn remark(&self) -> Option<&'static str> {
        None
    }
}

/// A controller asks for observations no more often than this, ns: 1 ms.
pub const PERIOD_NS_MIN: u64 = 1_000_000;
/// A controller is asked at least this often, ns: 1 s.
pub const PERIOD_NS_MAX: u64 = 1_000_000_000;

/// A controller and when it is to be asked next.
pub struct Turn {
    controller: Box<dyn Controller>,
    due_ns: u64,
}

impl Turn {
    pub fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            controller,
            due_ns: 0,
        }
    }

    pub fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Asks the controller, if it is due, and returns the settings that apply from
    /// now on.
    pub fn tick(&mut self, now_ns: u64, counters: impl FnOnce() -> Counters) -> Option<Settings> {
        let period_ns = self.controller.period_ns();
        let period_ns = period_ns.clamp(PERIOD_NS_MIN, PERIOD_NS_MAX);
        // A clock that went back is not waited for.
        if now_ns < self.due_ns && self.due_ns - now_ns <= period_ns {
            return None;
        }
        let settings = self.controller.observe(now_ns, &counters());
        // From the plan, so that lateness does not add up; unless half a
        // period was missed.
        let planned_ns = self.due_ns.saturating_add(period_ns);
        let least_ns = now_ns.saturating_add(period_ns / 2);
        self.due_ns = planned_ns.clamp(least_ns, now_ns.saturating_add(period_ns));
        Some(settings)
    }
}

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Turn({}, {} ns)", self.controller.name(), self.due_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Every(u64);

    impl Controller for Every {
        fn name(&self) -> &'static str {
            "every"
        }

        fn period_ns(&self) -> u64 {
            self.0
        }

        fn observe(&mut self, _: u64, _: &Counters) -> Settings {
            Settings::UNLIMITED
        }
    }

    fn asked(period_ns: u64, times: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut turn = Turn::new(Box::new(Every(period_ns)));
        let mut is_asked = |now: &u64| turn.tick(*now, Counters::default).is_some();
        times.into_iter().filter(|now| is_asked(now)).collect()
    }

    #[test]
    fn lateness_does_not_add_up() {
        let ms = 1_000_000;
        let looks = (0..1000).map(|step| step * 300_000 + 77);
        assert_eq!(asked(10 * ms, looks).len(), 30);
    }

    #[test]
    fn clocks_may_jump() {
        let ms = 1_000_000;
        let times = [
            ms,
            500 * ms,
            501 * ms,
            3 * ms,
            4 * ms,
            9 * ms,
            u64::MAX,
            u64::MAX,
        ];
        let due = [ms, 500 * ms, 3 * ms, 9 * ms, u64::MAX, u64::MAX];
        assert_eq!(asked(5 * ms, times), due);
    }

    #[test]
    fn absurd_periods_are_bounded() {
        assert_eq!(asked(0, (0..100).map(|step| step * 100_000)).len(), 10);
        let second = 1_000_000_000;
        assert_eq!(asked(u64::MAX, (0..5).map(|step| step * second)).len(), 5);
    }
}
