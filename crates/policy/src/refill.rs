//! When a client that keeps a lane full wants to be woken.

/// How many requests the worker should still have when the client is woken to refill.
///
/// With too few, the worker runs dry while the client wakes up; with too many, it is
/// interrupted more often than necessary. The right number is what the worker does
/// during one wake-up. Neither side knows it, so it is learnt: a client whose new
/// requests meet a dry lane asks to be woken earlier, one whose requests meet work
/// asks to be woken later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    depth: usize,
    reserve: usize,
}

impl Refill {
    /// For a lane of that depth; begins in the middle.
    pub const fn new(depth: usize) -> Self {
        Self {
            depth,
            reserve: depth / 2,
        }
    }

    /// How many completions to wait for with this many requests in flight: 1 to
    /// `in_flight` (1 when nothing is).
    pub fn wanted(&self, in_flight: usize) -> usize {
        in_flight
            .saturating_sub(self.reserve)
            .max(in_flight.div_ceil(2))
            .max(1)
    }

    pub fn woken(&mut self, left: usize) {
        if left == 0 {
            // Quickly up, since a dry lane costs a whole wake-up; never
            // beyond half, or the worker would do little else than notify.
            self.reserve = (self.reserve + (self.depth / 8).max(1)).min(self.depth / 2);
        } else if left > (self.depth / 16).max(1) {
            self.reserve = self.reserve.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that needs `wake_up` of its own service times until the
    /// client is back.
    fn settle(depth: usize, wake_up: usize) -> usize {
        let mut refill = Refill::new(depth);
        for _ in 0..1000 {
            let left = depth - refill.wanted(depth);
            refill.woken(left.saturating_sub(wake_up));
        }
        depth - refill.wanted(depth)
    }

    #[test]
    fn settles_a_little_above_what_a_wake_up_takes() {
        for wake_up in [1, 4, 10, 20] {
            let reserve = settle(64, wake_up);
            assert!(
                (wake_up..wake_up + 14).contains(&reserve),
                "{wake_up}: {reserve}"
            );
        }
    }

    #[test]
    fn a_wake_up_longer_than_the_lane_ends_at_half() {
        assert_eq!(settle(16, 100), 8);
    }

    #[test]
    fn asks_for_something_possible_at_any_depth() {
        for depth in 0..70 {
            for left in [0, 1, depth] {
                let mut refill = Refill::new(depth);
                (0..200).for_each(|_| refill.woken(left));
                for in_flight in 0..=depth {
                    assert!((1..=in_flight.max(1)).contains(&refill.wanted(in_flight)));
                }
            }
        }
    }
}
