//! What a planted device does to each frame: pure, and exact by count.

use trial::stats::Random;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Plant {
    #[default]
    Nothing,
    /// It drops each frame whose number, from 1, is a multiple of this: 100
    /// for exactly 1%.
    DropEvery(u32),
    /// It drops this percentage of the frames, each by chance.
    DropPercent(u32),
    /// It forwards this many frames a second, and drops the others.
    CapPps(u32),
    /// It holds back each frame whose number is a multiple of this, and sends
    /// it after the next one.
    ReorderEvery(u32),
    DuplicateEvery(u32),
    /// It holds each frame for this long, µs.
    DelayUs(u32),
}

impl Plant {
    /// How long it holds each frame, ns.
    #[cfg(feature = "bpf")]
    pub(super) const fn delay_ns(self) -> u64 {
        match self {
            Self::DelayUs(delay_us) => delay_us as u64 * 1000,
            _ => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Send,
    Drop,
    Hold,
    Twice,
}

/// Frames that a cap lets through at once: two batches of a paced generator.
const BURST_FRAMES: f64 = 64.0;

/// A device's memory of the frames of one direction.
#[derive(Clone, Debug)]
pub struct Planted {
    plant: Plant,
    number: u64,
    credit: f64,
    looked_ns: u64,
    random: Random,
}

impl Planted {
    pub fn new(plant: Plant) -> Self {
        Self {
            plant,
            number: 0,
            credit: BURST_FRAMES,
            looked_ns: 0,
            random: Random::new(1),
        }
    }

    /// The fate of the next frame, which comes at `now_ns`. A period of 0 is never
    /// reached.
    pub fn act(&mut self, now_ns: u64) -> Act {
        self.number += 1;
        let is_turn = |every: u32| every > 0 && self.number.is_multiple_of(u64::from(every));
        match self.plant {
            Plant::DropEvery(every) if is_turn(every) => Act::Drop,
            Plant::DropPercent(share) if self.random.unit() * 100.0 < f64::from(share) => Act::Drop,
            Plant::ReorderEvery(every) if is_turn(every) => Act::Hold,
            Plant::DuplicateEvery(every) if is_turn(every) => Act::Twice,
            Plant::CapPps(rate) => self.spend(rate, now_ns),
            _ => Act::Send,
        }
    }

    /// A bucket of tokens, one per frame. Tokens earned while nothing came are not
    /// kept: they would be a burst of the next trial.
    fn spend(&mut self, rate_pps: u32, now_ns: u64) -> Act {
        if self.looked_ns == 0 {
            self.looked_ns = now_ns;
        }
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        self.looked_ns = self.looked_ns.max(now_ns);
        let earned = since_ns as f64 * f64::from(rate_pps) / 1e9;
        self.credit = (self.credit + earned).min(BURST_FRAMES);
        if self.credit < 1.0 {
            return Act::Drop;
        }
        self.credit -= 1.0;
        Act::Send
    }
}

#[cfg(test)]
mod tests {
    use super::{Act, BURST_FRAMES, Plant, Planted};
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

    #[test]
    fn chance_drops_its_share() {
        let share = count(Plant::DropPercent(30), 100_000, Act::Drop);
        assert!(share.abs_diff(30_000) < 1_000, "{share}");
        assert_eq!(count(Plant::DropPercent(0), 100, Act::Send), 100);
        assert_eq!(count(Plant::DropPercent(100), 100, Act::Drop), 100);
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn a_cap_is_kept_while_frames_come(
            cap in 1_000u32..60_000,
            overload in 1.5..4.0f64,
            away_us in prop::collection::vec(1u64..1_000, 100),
        ) {
            let mut planted = Planted::new(Plant::CapPps(cap));
            // An hour in which nothing came earns nothing.
            planted.act(1);
            let start_ns = 3_600_000_000_000;
            // The device wakes up now and then, and finds what came meanwhile.
            let (mut now_ns, mut sent, mut came) = (start_ns, 0u64, 0u64);
            for away in away_us {
                now_ns += away * 1_000;
                let elapsed_s = (now_ns - start_ns) as f64 / 1e9;
                let all = (elapsed_s * f64::from(cap) * overload) as u64;
                for _ in came..all {
                    sent += u64::from(planted.act(now_ns) == Act::Send);
                }
                came = all;
            }
            let nominal = (now_ns - start_ns) as f64 / 1e9 * f64::from(cap);
            prop_assert!(sent as f64 <= nominal + BURST_FRAMES + 1.0, "{sent} of {nominal}");
            prop_assert!(sent as f64 >= (nominal - 1.0).min(came as f64) - 1.0, "{sent} of {nominal}");
        }
    }
}
