//! When a tenant whose memory stalls its worker gets a thread of its own, and when it
//! comes back. Pure: times are arguments.

use std::time::Duration;

/// Stalls that are no chance: so many within [`WITHIN_NS`], or one that lasts so long.
const STALLS: usize = 2;
const LONG: Duration = Duration::from_millis(50);
const WITHIN_NS: u64 = 60_000_000_000;

/// How long a tenant stays at first, ns; twice as long with each relapse.
const STAY_NS: u64 = 60_000_000_000;
const STAY_NS_MAX: u64 = 3_600_000_000_000;

/// Waits that are no chance, however short each is: so long in all, beyond a share of the
/// time.
const WAITS_NS: u64 = 20_000_000;
const WAITS_SHARE: u64 = 20;

/// A stall that is told with each look while it lasts counts once.
const SAME_NS: u64 = 20_000_000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Quarantine {
    /// All that workers waited, and what time has not made up for of it, ns, when that was
    /// last looked at.
    held_up_ns: u64,
    waits_ns: u64,
    waits_at_ns: u64,
    stalls: [Option<u64>; STALLS],
    last_ns: Option<u64>,
    until_ns: Option<u64>,
    stay_ns: u64,
    pub(crate) count: u64,
}

impl Quarantine {
    /// Workers have waited for the tenant's memory for so long in all; whether it is to be
    /// moved now.
    pub(crate) fn waited(&mut self, now_ns: u64, held_up_ns: u64) -> bool {
        let more_ns = held_up_ns.saturating_sub(self.held_up_ns);
        let made_up_ns = now_ns.saturating_sub(self.waits_at_ns) / WAITS_SHARE;
        self.held_up_ns = held_up_ns;
        self.waits_ns = self
            .waits_ns
            .saturating_sub(made_up_ns)
            .saturating_add(more_ns);
        self.waits_at_ns = now_ns;
        if self.waits_ns < WAITS_NS {
            return false;
        }
        self.waits_ns = 0;
        self.stalled(now_ns, LONG)
    }

    /// The tenant's memory stalls its worker; whether it is to be moved now.
    pub(crate) fn stalled(&mut self, now_ns: u64, lasts: Duration) -> bool {
        let is_same = self
            .last_ns
            .is_some_and(|last| now_ns.saturating_sub(last) < SAME_NS);
        self.last_ns = Some(now_ns);
        if !is_same {
            self.count += 1;
            self.stalls.rotate_right(1);
            self.stalls[0] = Some(now_ns);
        }
        if let Some(until_ns) = &mut self.until_ns {
            // Where it is it stalls itself alone, and stays.
            *until_ns = (*until_ns).max(now_ns + self.stay_ns);
            return false;
        }
        let recent = |at: &Option<u64>| at.is_some_and(|at| now_ns.saturating_sub(at) < WITHIN_NS);
        if lasts < LONG && !self.stalls.iter().all(recent) {
            return false;
        }
        self.stay_ns = (self.stay_ns * 2).clamp(STAY_NS, STAY_NS_MAX);
        self.until_ns = Some(now_ns + self.stay_ns);
        true
    }

    /// It could not be moved: what it does next counts as before.
    pub(crate) fn stay(&mut self) {
        self.until_ns = None;
        self.stalls = [None; STALLS];
    }

    /// Whether it is to come back now.
    pub(crate) fn is_over(&mut self, now_ns: u64) -> bool {
        let is_over = self.until_ns.is_some_and(|until| now_ns >= until);
        if is_over {
            self.stay();
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn one_short_stall_is_chance_and_two_or_a_long_one_are_not() {
        let mut one = Quarantine::default();
        assert!(!one.stalled(S, SHORT));
        // The same still lasts.
        assert!(!one.stalled(S + 5_000_000, SHORT));
        assert!(!one.stalled(62 * S, SHORT));
        assert!(one.stalled(63 * S, SHORT));
        assert_eq!(one.count, 3);
        assert!(Quarantine::default().stalled(S, LONG));
        // One that could not be moved is to be moved for the next.
        let mut kept = Quarantine::default();
        for at in [S, 2 * S] {
            assert!(kept.stalled(at, LONG));
            kept.stay();
        }
        assert!(!kept.is_over(1000 * S));
    }

    #[test]
    fn many_short_waits_are_no_chance_and_few_are() {
        const LOOK_NS: u64 = 3_000_000;
        // A tenth of the time.
        let mut often = Quarantine::default();
        let mut looks = 1..1000_u64;
        let moved = looks.find(|at| often.waited(S + at * LOOK_NS, at * LOOK_NS / 10));
        let after_ns = moved.unwrap() * LOOK_NS;
        assert!((100_000_000..500_000_000).contains(&after_ns), "{after_ns}");
        // A fiftieth.
        let mut seldom = Quarantine::default();
        let mut is_moved = |at: u64| seldom.waited(S + at * LOOK_NS, at * LOOK_NS / 50);
        assert!(!(1..100_000).any(&mut is_moved));
    }

    #[test]
    fn it_comes_back_when_it_was_quiet_and_stays_longer_each_time() {
        let mut one = Quarantine::default();
        let mut now_ns = S;
        for stay_s in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
            assert!(one.stalled(now_ns, LONG));
            assert!(!one.is_over(now_ns + stay_s * S - 1));
            assert!(one.until_ns.is_some());
            now_ns += stay_s * S;
            assert!(one.is_over(now_ns) && one.until_ns.is_none());
            now_ns += S;
        }
        one.stalled(now_ns, LONG);
        // One that goes on there stays.
        now_ns += 3599 * S;
        assert!(!one.stalled(now_ns, LONG));
        assert!(!one.is_over(now_ns + 3599 * S));
        assert!(one.is_over(now_ns + 3600 * S));
    }
}
