//! What a planted device does to each frame: pure, and exact by count.

/// What is wrong with the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Plant {
    /// Nothing: it forwards every frame.
    #[default]
    Nothing,
    /// It drops each frame whose number, from 1, is a multiple of this: 100
    /// for exactly 1%.
    DropEvery(u32),
    /// It forwards so many frames a second, and drops the others.
    CapPps(u32),
    /// It holds back each frame whose number is a multiple of this, and sends
    /// it after the next one.
    ReorderEvery(u32),
    /// It sends each frame whose number is a multiple of this twice.
    DuplicateEvery(u32),
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is sent.
    Send,
    /// It is not.
    Drop,
    /// It is sent after the next one.
    Hold,
    /// It is sent twice.
    Twice,
}

/// Frames that a cap lets through at once: two batches of a paced generator.
const BURST_FRAMES: f64 = 64.0;

/// The longest that a device may be away without losing what it earned, s.
const AWAY_S: f64 = 0.1;

/// A device's memory of the frames of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    plant: Plant,
    /// Frames so far.
    number: u64,
    /// Frames that the cap lets through now.
    credit: f64,
    looked_ns: u64,
}

impl Planted {
    /// A device that saw no frame.
    #[must_use]
    pub fn new(plant: Plant) -> Self {
        Self {
            plant,
            number: 0,
            credit: BURST_FRAMES,
            looked_ns: 0,
        }
    }

    /// What becomes of the next frame, which comes at `now_ns`. A period of 0
    /// is never reached.
    pub fn act(&mut self, now_ns: u64) -> Act {
        self.number += 1;
        let is_turn = |every: u32| every > 0 && self.number.is_multiple_of(u64::from(every));
        match self.plant {
            Plant::DropEvery(every) if is_turn(every) => Act::Drop,
            Plant::ReorderEvery(every) if is_turn(every) => Act::Hold,
            Plant::DuplicateEvery(every) if is_turn(every) => Act::Twice,
            Plant::CapPps(rate) => self.spend(rate, now_ns),
            _ => Act::Send,
        }
    }

    /// A bucket of tokens, one a frame. A thread that comes late finds those of
    /// the time it missed, so that the rate is the cap's however it is scheduled.
    fn spend(&mut self, rate_pps: u32, now_ns: u64) -> Act {
        if self.looked_ns == 0 {
            self.looked_ns = now_ns;
        }
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        self.looked_ns = self.looked_ns.max(now_ns);
        let rate_pps = f64::from(rate_pps);
        let earned = (since_ns as f64 * rate_pps / 1e9).min(rate_pps * AWAY_S);
        // More than a burst only for who was away, until it has spent that.
        let most = BURST_FRAMES.max(earned).max(self.credit);
        self.credit = (self.credit + earned).min(most);
        if self.credit < 1.0 {
            return Act::Drop;
        }
        self.credit -= 1.0;
        Act::Send
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, Plant, Planted};
    use proptest::prelude::*;

    fn count(plant: Plant, frames: u64, act: Act) -> usize {
        let mut planted = Planted::new(plant);
        (1..=frames)
            .filter(|at_us| planted.act(at_us * 1_000) == act)
            .count()
    }

    #[test]
    fn each_fault_is_exact() {
        assert_eq!(count(Plant::Nothing, 1_000, Act::Send), 1_000);
        assert_eq!(count(Plant::DropEvery(100), 100_000, Act::Drop), 1_000);
        assert_eq!(count(Plant::DropEvery(1_000), 100_000, Act::Drop), 100);
        assert_eq!(count(Plant::ReorderEvery(50), 100_000, Act::Hold), 2_000);
        assert_eq!(count(Plant::DuplicateEvery(7), 70, Act::Twice), 10);
        assert_eq!(count(Plant::DropEvery(0), 100, Act::Send), 100);
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn a_cap_is_kept_however_the_device_is_scheduled(
            cap in 1_000u32..1_000_000,
            overload in 1.5..4.0f64,
            away_us in prop::collection::vec(1u64..20_000, 100),
        ) {
            let mut planted = Planted::new(Plant::CapPps(cap));
            // The device wakes up now and then, and finds what came meanwhile.
            let (mut now_ns, mut sent, mut came) = (1u64, 0u64, 0u64);
            for away in away_us {
                now_ns += away * 1_000;
                let all = (now_ns as f64 / 1e9 * f64::from(cap) * overload) as u64;
                for _ in came..all {
                    sent += u64::from(planted.act(now_ns) == Act::Send);
                }
                came = all;
            }
            let nominal = now_ns as f64 / 1e9 * f64::from(cap);
            let slack = 20_000.0 / 1e6 * f64::from(cap) + 65.0;
            prop_assert!(sent as f64 <= nominal + 65.0, "{sent} of {nominal}");
            prop_assert!(sent as f64 >= nominal - slack, "{sent} of {nominal}");
        }
    }
}
