//! What the rounds gave for one thing measured, and whether to believe it.

use std::collections::BTreeMap;

use trial::stats::{Arms, compare, median};
use trial::{Comparison, Direction, Validity, Verdict};

use super::judged::{over_rounds, spread};
use super::trial::Trial;

/// Why there is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    pub(crate) remedy: String,
}

/// Trials by round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    pub(crate) trials: BTreeMap<usize, Trial>,
    /// Once there is one, it is not tried again.
    pub(crate) failure: Option<Failure>,
}

impl Series {
    /// The rounds that may be believed.
    pub(crate) fn valid(&self) -> impl Iterator<Item = (usize, &Trial)> {
        let rounds = self.trials.iter().map(|(round, trial)| (*round, trial));
        rounds.filter(|(_, trial)| trial.is_valid())
    }

    /// One value a believable round; all rounds where none is, so that a point
    /// shows what its verdict is about.
    pub(crate) fn values(&self, value: impl Fn(&Trial) -> Option<f64>) -> Vec<f64> {
        let of = |trials: &mut dyn Iterator<Item = &Trial>| -> Vec<f64> {
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
    pub(crate) fn median(&self, value: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        median(&self.values(value))
    }

    /// Frames a second received.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.median(|trial| Some(trial.received_pps()))
    }

    /// Both series' values of the rounds in which both may be believed.
    pub(crate) fn pairs(
        &self,
        reference: &Self,
        value: impl Fn(&Trial) -> Option<f64>,
    ) -> Vec<(f64, f64)> {
        let pair = |(round, trial): (usize, &Trial)| {
            let other = reference.trials.get(&round)?;
            let is_valid = other.is_valid();
            Some((value(trial)?, value(other).filter(|_| is_valid)?))
        };
        let is_rate = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        self.valid().filter_map(pair).filter(is_rate).collect()
    }

    /// Whether the whole may be believed.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Some(Failure { reason, remedy }) = &self.failure {
            return Verdict::new(Validity::NotSupported, reason, remedy);
        }
        let rounds: Vec<_> = self.trials.values().map(Trial::verdict).collect();
        let verdict = over_rounds(&rounds);
        if verdict.is_valid() {
            let rates = self.values(|trial| Some(trial.received_pps()));
            spread(&rates).unwrap_or(verdict)
        } else {
            verdict
        }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.verdict().is_valid()
    }
}

/// One series over another, from their interleaved rounds; no evidence where
/// one of them may not be believed.
pub(crate) fn ratio(
    (arm, reference): (&Series, &Series),
    arms: Arms,
    value: impl Fn(&Trial) -> Option<f64>,
    seed: u64,
) -> Option<Comparison> {
    let pairs = arm.pairs(reference, value);
    let ratio = compare(arms, Direction::Higher, pairs, seed).ok()?;
    Some(if arm.is_valid() && reference.is_valid() {
        ratio
    } else {
        crate::speed::comparisons::without_evidence(ratio)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::testing::result;

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
    fn rounds_far_apart_are_noisy() {
        let far = [100, 50, 150, 60, 140].map(|rate| trial(rate, Verdict::valid()));
        assert_eq!(series(far).verdict().validity, Validity::Noisy);
    }
}
