//! Whether clients look by themselves, by the price of their time.

use crate::controllers::meter::Lap;

/// Looks at each way before they are compared; the first still shows the other.
const LOOKS: usize = 7;

const REQUESTS_MIN: u64 = 32;

/// Another way must be better by this factor: less is noise.
const BETTER: f64 = 1.03;

/// Looks until the other way is tried again: first and maximum.
const HELD_MIN: u32 = 32;
const HELD_MAX: u32 = 1024;

/// Tries both ways in turns and keeps the one whose requests cost less: more requests
/// per second of the worker's time plus, at its price, the time that clients polled.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    price: f64,
    looks: bool,
    worths: [Vec<f64>; 2],
    is_trial: bool,
    left: u32,
    held: u32,
}

impl Choice {
    pub(super) fn new(price: f64) -> Self {
        Self {
            price,
            looks: true,
            worths: [const { Vec::new() }; 2],
            is_trial: false,
            left: 0,
            held: HELD_MIN,
        }
    }

    pub(super) fn looks(&self) -> bool {
        self.looks
    }

    /// One more look. Returns whether it belongs to a comparison, and so says nothing
    /// about caps. No comparison begins while caps are tried.
    pub(super) fn look(&mut self, lap: &Lap, may_begin: bool) -> bool {
        let is_idle = lap.counted.requests < REQUESTS_MIN;
        if is_idle || self.worths[0].is_empty() && (self.left > 0 || !may_begin) {
            if std::mem::take(&mut self.is_trial) {
                self.looks = !self.looks;
            }
            self.worths.iter_mut().for_each(Vec::clear);
            self.left = self.left.saturating_sub(1);
            return false;
        }
        let cpus = lap.counted.spun_ns as f64 / lap.elapsed_ns.max(1) as f64;
        let worth = lap.requests_per_s() / (1.0 + self.price * cpus);
        let worths = &mut self.worths[usize::from(self.is_trial)];
        worths.push(worth);
        if worths.len() == LOOKS {
            if self.is_trial {
                self.judge();
            } else {
                self.is_trial = true;
                self.looks = !self.looks;
            }
        }
        true
    }

    fn judge(&mut self) {
        let [own, other] = &mut self.worths;
        if median(other) > BETTER * median(own) {
            self.held = HELD_MIN;
        } else {
            self.looks = !self.looks;
            self.held = (2 * self.held).min(HELD_MAX);
        }
        self.worths.iter_mut().for_each(Vec::clear);
        self.is_trial = false;
        self.left = self.held;
    }
}

fn median(worths: &mut [f64]) -> f64 {
    let own = &mut worths[1..];
    own.sort_by(f64::total_cmp);
    own[own.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counters;
    use proptest::prelude::*;

    const LAP_NS: u64 = 10_000_000;

    fn lap(choice: &Choice, speeds: [f64; 2], cpus: f64) -> Lap {
        let looks = choice.looks();
        let spun = if looks { cpus } else { 0.0 };
        Lap {
            elapsed_ns: LAP_NS,
            counted: Counters {
                requests: (speeds[usize::from(looks)] * LAP_NS as f64) as u64,
                spun_ns: (spun * LAP_NS as f64) as u64,
                ..Counters::default()
            },
        }
    }

    proptest! {
        #[test]
        fn keeps_what_is_worth_more(
            asleep in 1e-4..1e-2, gain in 0.5..3.0, cpus in 0.0..1.0, price in 0.0..=1.0,
        ) {
            let speeds = [asleep, asleep * gain];
            let worth = gain / (1.0 + price * cpus);
            prop_assume!(!(0.92..1.08).contains(&worth));
            let mut choice = Choice::new(price);
            let mut right = 0;
            for round in 0..2000 {
                let lap = lap(&choice, speeds, cpus);
                choice.look(&lap, true);
                right += usize::from(round >= 1000 && choice.looks() == (worth > 1.0));
            }
            prop_assert!(right > 950, "{right}");
        }
    }

    #[test]
    fn a_load_that_stops_ends_a_trial_and_caps_on_trial_wait_for_none() {
        let mut choice = Choice::new(0.5);
        let busy = lap(&choice, [1e-3; 2], 0.1);
        assert!(!choice.look(&busy, false));
        for _ in 0..LOOKS {
            assert!(choice.looks() && choice.look(&busy, true));
        }
        assert!(!choice.looks(), "the other way is tried");
        assert!(!choice.look(&Lap::default(), true));
        assert!(choice.looks());
    }
}
