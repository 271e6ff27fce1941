//! How long a worker without work looks for some before it sleeps.

use crate::learnt::Learnt;

/// Until anything is known, ns.
const WAKE_NS: f64 = 5_000.0;

/// A wake-up of the worker delays the work besides taking time: it costs this many
/// times its duration.
const COST: f64 = 4.0;

/// The longest time to poll, ns: where a wake-up takes longer the host is overloaded.
const SPIN_NS_MAX: f64 = 200_000.0;

/// Time to fall asleep, ns: a worker woken before has not slept.
const ENTRY_NS: u64 = 2_000;

/// KVM's halt polling, with a limit that is learnt: what a wake-up of this worker
/// costs. Work that came soon after it slept makes it poll longer the next time.
/// Where none came for long it polls less, and soon not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idle {
    wake: Learnt,
    spin_ns: f64,
}

impl Default for Idle {
    fn default() -> Self {
        Self {
            wake: Learnt::prior(WAKE_NS),
            spin_ns: COST * WAKE_NS,
        }
    }
}

impl Idle {
    pub fn spin_ns(&self) -> u64 {
        self.spin_ns as u64
    }

    /// What a wake-up costs, ns: the maximum time it polls.
    pub fn cost_ns(&self) -> u64 {
        self.cost() as u64
    }

    fn cost(&self) -> f64 {
        (COST * self.wake.ns()).min(SPIN_NS_MAX)
    }

    /// The worker was idle from `idle_ns`, slept from `begin_ns` and ran again at
    /// `woken_ns`; the last doorbell was at `rung_ns`.
    pub fn slept(&mut self, idle_ns: u64, begin_ns: u64, rung_ns: u64, woken_ns: u64) {
        let is_rung = (idle_ns..=woken_ns).contains(&rung_ns);
        if is_rung && rung_ns >= begin_ns.saturating_add(ENTRY_NS) {
            self.wake.learn((woken_ns - rung_ns) as f64);
        }
        let cost = self.cost();
        let came_ns = if is_rung { rung_ns } else { woken_ns };
        self.spin_ns = if came_ns.saturating_sub(idle_ns) as f64 <= cost {
            (self.spin_ns * 2.0).max(cost / 4.0).min(cost)
        } else if self.spin_ns < cost / 4.0 {
            0.0
        } else {
            (self.spin_ns / 2.0).min(cost)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker whose work comes this long after the last; returns how often it slept
    /// of the last 100 times.
    fn sleeps(idle: &mut Idle, gap_ns: u64, wake_ns: u64) -> usize {
        let mut last = 0;
        for round in 0..200 {
            if idle.spin_ns() < gap_ns {
                idle.slept(
                    100,
                    100 + idle.spin_ns(),
                    100 + gap_ns,
                    100 + gap_ns + wake_ns,
                );
                last += usize::from(round >= 100);
            }
        }
        last
    }

    #[test]
    fn looks_where_work_comes_soon_and_not_where_it_does_not() {
        for wake_ns in [2_000, 5_000, 22_000] {
            let mut idle = Idle::default();
            assert_eq!(sleeps(&mut idle, 300_000, wake_ns), 100);
            assert_eq!(idle.spin_ns(), 0, "{idle:?}");
            assert_eq!(sleeps(&mut idle, 3 * wake_ns, wake_ns), 0, "{idle:?}");
            assert!(idle.spin_ns() <= 4 * wake_ns + 1, "{idle:?}");
        }
    }

    #[test]
    fn a_doorbell_of_before_and_a_sleep_that_no_one_ended_teach_no_wake_up() {
        let mut idle = Idle::default();
        let cost_ns = idle.cost_ns();
        idle.slept(10_000, 15_000, 9_000, 1_000_000_000);
        idle.slept(10_000, 15_000, 2_000_000, 1_000_000);
        idle.slept(10_000, 15_000, 15_100, 900_000);
        assert_eq!(idle.cost_ns(), cost_ns);
    }

    #[test]
    fn clocks_and_hosts_that_are_absurd_leave_a_bound() {
        let mut idle = Idle::default();
        for times in [
            [0, 0, 0, u64::MAX],
            [5, 9, 3000, u64::MAX],
            [u64::MAX, 0, 7, 0],
        ] {
            (0..50).for_each(|_| idle.slept(times[0], times[1], times[2], times[3]));
            assert!(idle.spin_ns() <= SPIN_NS_MAX as u64, "{idle:?}");
        }
    }
}
