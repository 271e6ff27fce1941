//! What the rounds gave for one thing measured, and whether to believe it.

use std::collections::BTreeMap;

use trial::Verdict;
use trial::stats::{Arms, median};

use crate::judged::{over_rounds, spread};
use crate::ratio::Ratio;
use crate::routers::trial::Trial;
use crate::told::Tried;

/// What one round gave.
pub trait Measured {
    /// Whether it is valid.
    fn verdict(&self) -> Verdict;
    /// What rounds are compared with each other by, in its own unit.
    fn rate(&self) -> f64;
}

impl Measured for forward::bench::TcpResult {
    fn verdict(&self) -> Verdict {
        self.verdict.clone()
    }

    /// Mbit/s of all directions.
    fn rate(&self) -> f64 {
        self.received_mbit_per_s.iter().sum()
    }
}

/// Results by round.
#[derive(Clone, Debug)]
pub struct Series<R = Trial> {
    pub trials: BTreeMap<usize, R>,
    /// Why there is nothing: once it is known, it is not tried again.
    pub failure: Option<Verdict>,
}

impl<R> Default for Series<R> {
    fn default() -> Self {
        Self {
            trials: BTreeMap::new(),
            failure: None,
        }
    }
}

impl<R> Series<R> {
    /// Whether there is anything to tell of it.
    pub fn is_tried(&self) -> bool {
        !self.trials.is_empty() || self.failure.is_some()
    }
}

impl<R: Measured> Series<R> {
    /// The rounds that are valid.
    fn valid(&self) -> impl Iterator<Item = (usize, &R)> {
        let rounds = self.trials.iter().map(|(round, trial)| (*round, trial));
        rounds.filter(|(_, trial)| trial.verdict().is_valid())
    }

    pub fn is_ever_believed(&self) -> bool {
        self.valid().next().is_some()
    }

    /// One value a believable round; all rounds where none is, so that a point
    /// shows what its verdict is about.
    pub fn values(&self, value: impl Fn(&R) -> Option<f64>) -> Vec<f64> {
        let of = |trials: &mut dyn Iterator<Item = &R>| -> Vec<f64> {
            trials.filter_map(&value).collect()
        };
        let valid = of(&mut self.valid().map(|(_, trial)| trial));
        if valid.is_empty() {
            of(&mut self.trials.values())
        } else {
            valid
        }
    }

    /// Their median; none without a round.
    pub fn median(&self, value: impl Fn(&R) -> Option<f64>) -> Option<f64> {
        median(&self.values(value))
    }

    /// The median of what rounds are compared by.
    pub fn rate(&self) -> Option<f64> {
        self.median(|trial| Some(trial.rate()))
    }

    /// The same, where it is valid.
    pub fn believed_rate(&self) -> Option<f64> {
        self.rate().filter(|_| self.is_valid())
    }

    /// Both series' values of the rounds in which both are valid.
    pub fn pairs(&self, reference: &Self, value: impl Fn(&R) -> Option<f64>) -> Vec<(f64, f64)> {
        let pair = |(round, trial): (usize, &R)| {
            let other = reference.trials.get(&round)?;
            let is_valid = other.verdict().is_valid();
            Some((value(trial)?, value(other).filter(|_| is_valid)?))
        };
        let is_rate = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        self.valid().filter_map(pair).filter(is_rate).collect()
    }

    /// Whether the whole is valid.
    pub fn verdict(&self) -> Verdict {
        let verdict = self.of_rounds();
        if verdict.is_valid() {
            let rates = self.values(|trial| Some(trial.rate()));
            spread(&rates).unwrap_or(verdict)
        } else {
            verdict
        }
    }

    /// Whether what was measured is valid, round by round.
    fn of_rounds(&self) -> Verdict {
        let rounds = self.trials.values().map(R::verdict).collect::<Vec<_>>();
        (self.failure.clone()).unwrap_or_else(|| over_rounds(&rounds))
    }

    pub fn is_valid(&self) -> bool {
        self.verdict().is_valid()
    }

    /// Whether it may be compared with another, round by round. Rounds far apart
    /// spoil no ratio: what both sides share cancels out in a pair, and what they
    /// do not share makes its interval wide.
    pub fn is_comparable(&self) -> bool {
        self.of_rounds().is_valid()
    }
}

impl Ratio {
    /// One series over another.
    pub fn of<R: Measured>(
        (arm, reference): (&Series<R>, &Series<R>),
        arms: Arms,
        value: impl Fn(&R) -> Option<f64>,
    ) -> Option<Self> {
        let is_believed = arm.is_comparable() && reference.is_comparable();
        Self::of_pairs(arms, arm.pairs(reference, value), is_believed)
    }
}

impl Tried {
    /// A series, if it was tried at all.
    pub fn of<R: Measured>(series: &Series<R>, (name, label): (String, String)) -> Option<Self> {
        series.is_tried().then(|| Self {
            name,
            label,
            is_measured: !series.trials.is_empty(),
            verdict: series.verdict(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routers::testing::result;
    use trial::Validity;

    fn trial(received: u64, verdict: Verdict) -> Trial {
        let mut result = result(received, received);
        result.verdict = verdict;
        Trial {
            routers: vec![result],
        }
    }

    fn noisy() -> Verdict {
        Verdict::new(
            Validity::Noisy,
            "a thread did not run for 20 ms",
            "a quiet host",
        )
    }

    fn series(trials: impl IntoIterator<Item = Trial>) -> Series {
        Series {
            trials: trials.into_iter().enumerate().collect(),
            failure: None,
        }
    }

    #[test]
    fn one_disturbed_round_of_nine_is_left_out_and_two_spoil_it() {
        let with = |disturbed: usize| {
            series((0..9).map(|round| match round < disturbed {
                true => trial(1, noisy()),
                false => trial(1000 + round as u64, Verdict::valid()),
            }))
        };
        assert!(with(1).is_valid());
        assert_eq!(with(1).rate(), Some(1004.5));
        let two = with(2).verdict();
        assert_eq!(two.validity, Validity::Noisy);
        assert!(two.reason.contains("2 of 9 rounds"), "{}", two.reason);
        assert!(!series([]).is_valid());
    }

    #[test]
    fn pairs_are_of_rounds_in_which_both_may_be_believed() {
        let arm = series([
            trial(200, Verdict::valid()),
            trial(900, noisy()),
            trial(210, Verdict::valid()),
        ]);
        let reference = series([
            trial(100, Verdict::valid()),
            trial(100, Verdict::valid()),
            trial(0, Verdict::valid()),
        ]);
        let pairs = arm.pairs(&reference, |trial| Some(trial.received_pps()));
        assert_eq!(pairs, [(200.0, 100.0)]);
    }

    #[test]
    fn rounds_far_apart_are_noisy_and_make_pairs() {
        let far = series([100, 50, 150, 60, 140].map(|rate| trial(rate, Verdict::valid())));
        assert_eq!(far.verdict().validity, Validity::Noisy);
        assert!(far.is_comparable(), "a host that changes does so for both");
        assert!(!series([trial(1, noisy())]).is_comparable());
    }
}
