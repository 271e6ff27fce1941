//! The equation, solved for the cap.

use super::fit::Prices;

/// How far above the optimum a cap is set: a little too high costs a little,
/// a little too low makes the depth the limit.
const MARGIN: f64 = 1.15;
const GAIN_MAX: f64 = 2.0;
/// A cap that leaves more than this part of the notifications is not tried.
const WORTH: f64 = 0.87;
/// The part of them that the highest tried cap leaves.
const TRIED: f64 = 0.8;
/// What is tried where the depth says nothing: this part of the
/// notifications.
const MILD: f64 = 0.7;
/// With a lower average in flight most completions are alone, and then nothing is
/// held.
const DEPTH_MIN: f64 = 1.5;
/// Where notifications take a smaller part of the core's time there is nothing to
/// save.
const SAVING_MIN: f64 = 0.08;

/// Requests a notification, as a part of the depth, from which on the depth
/// may be the limit.
const BOUND: std::ops::RangeInclusive<f64> = 0.93..=1.15;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usual {
    pub(super) notifications_per_s: f64,
    pub(super) requests_per_s: f64,
    pub(super) depth: f64,
    pub(super) block_bytes: f64,
}

/// I* = 1 / (D·(c + t·B) + T): the notifications a second that let D requests in
/// flight keep the core busy, and no more. It is N = D·I put into T·I + c·N + t·V =
/// 1.
pub fn optimum_per_s(prices: &Prices, depth: f64, block_bytes: f64) -> f64 {
    1e9 / (depth.max(1.0) * prices.work_ns(block_bytes) + prices.notification_ns)
}

impl Usual {
    /// Requests a notification, as a part of the depth; 0 when nothing is
    /// known.
    fn reach(&self) -> f64 {
        let room = self.depth * self.notifications_per_s;
        if room > 0.0 {
            self.requests_per_s / room
        } else {
            0.0
        }
    }

    /// N ≈ D·I: each notification is for all that is in flight. That is so
    /// at the optimum, and at any cap below it.
    pub(super) fn is_depth_bound(&self) -> bool {
        BOUND.contains(&self.reach())
    }

    /// What the notifications cost, as a part of what the requests and they
    /// cost together.
    fn notifications_part(&self, prices: &Prices) -> f64 {
        let notify = self.notifications_per_s * prices.notification_ns;
        let work = self.requests_per_s * prices.work_ns(self.block_bytes);
        if notify + work > 0.0 {
            notify / (notify + work)
        } else {
            0.0
        }
    }

    /// The depth-aware cap: D requests a notification, at the speed that
    /// would be reached then. Where one virtual function has the core for
    /// itself that is I*; where several share it, the same with its share.
    /// `None` where there are not notably more notifications than that.
    pub(super) fn target_per_s(&self, prices: &Prices, least_per_s: f64) -> Option<f64> {
        if self.depth < DEPTH_MIN {
            return None;
        }
        let needed_per_s = self.requests_per_s / self.depth;
        let work = self.requests_per_s * prices.work_ns(self.block_bytes);
        let before = work + self.notifications_per_s * prices.notification_ns;
        let after = work + needed_per_s * prices.notification_ns;
        let gain = if after > 0.0 { before / after } else { 1.0 };
        let least_per_s = self.worth((MARGIN * needed_per_s).max(least_per_s))?;
        // Prices that promise too much must not hide what the depth shows.
        let most_per_s = TRIED * self.notifications_per_s;
        let cap_per_s = MARGIN * needed_per_s * gain.clamp(1.0, GAIN_MAX);
        Some(cap_per_s.min(most_per_s).max(least_per_s))
    }

    /// A cap to learn from, where the client may submit whatever completes:
    /// then the requests in flight say nothing about how few notifications
    /// would do.
    pub(super) fn mild_per_s(&self, prices: &Prices, least_per_s: f64) -> Option<f64> {
        if self.depth < DEPTH_MIN || self.notifications_part(prices) < SAVING_MIN {
            return None;
        }
        self.worth((MILD * self.notifications_per_s).max(least_per_s))
    }

    fn worth(&self, cap_per_s: f64) -> Option<f64> {
        (cap_per_s < WORTH * self.notifications_per_s).then_some(cap_per_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        notification_ns: 2000.0,
        request_ns: 100.0,
        byte_ns: 0.1,
    };

    fn usual(depth: f64, batch: f64) -> Usual {
        let requests_per_s = 1e9 / (200.0 + 2000.0 / batch);
        Usual {
            notifications_per_s: requests_per_s / batch,
            requests_per_s,
            depth,
            block_bytes: 1000.0,
        }
    }

    #[test]
    fn alone_on_a_core_the_target_is_the_optimum() {
        let target = usual(32.0, 16.0).target_per_s(&PRICES, 1.0).unwrap();
        let best = optimum_per_s(&PRICES, 32.0, 1000.0);
        assert!((target / best - MARGIN).abs() < 0.01, "{target} {best}");
    }

    #[test]
    fn where_every_notification_is_needed_there_is_no_target() {
        assert_eq!(usual(32.0, 31.0).target_per_s(&PRICES, 1.0), None);
        assert_eq!(usual(1.0, 1.0).target_per_s(&PRICES, 1.0), None);
        assert_eq!(Usual::default().target_per_s(&PRICES, 1.0), None);
        assert_eq!(Usual::default().mild_per_s(&PRICES, 1.0), None);
    }

    #[test]
    fn the_longest_hold_bounds_the_cap() {
        assert_eq!(
            usual(64.0, 2.0).target_per_s(&PRICES, 350_000.0),
            Some(350_000.0)
        );
        let above = usual(64.0, 2.0).notifications_per_s;
        assert_eq!(usual(64.0, 2.0).target_per_s(&PRICES, above), None);
    }
}
