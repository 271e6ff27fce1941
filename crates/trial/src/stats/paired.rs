//! From interleaved pairs to a comparison.
//!
//! Which arm of a pair comes first is drawn by lot. So, whatever the host does
//! meanwhile (states that change, drift, rounds like their neighbours), the
//! logarithm of a pair's ratio lies above the true one as often as below it, each
//! pair for itself: the signs are as good as coins (Fisher, "The design of
//! experiments", 1935, section 21). The interval is the set of ratios that the
//! sign-flip test of the median does not refuse: two order statistics, exact for
//! every host, with a confidence that the number of pairs gives.

use std::collections::BTreeMap;

use super::Interval;
use super::interval::{ERROR, interval_of_median};
use crate::{Comparison, Direction, Outcome, Target};

/// Minimum number of pairs for evidence: five on one side of 1 are chance in one case
/// of 16, six in one of 32.
pub const PAIRS_MIN: usize = 6;

/// Minimum number of pairs to meet a target: a claim rests on nine or more.
pub const PAIRS_FOR_A_CLAIM: usize = 9;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arms {
    /// What is compared: `AES-128-GCM, 16 KiB`.
    pub subject: String,
    pub arm: String,
    pub reference: String,
    pub metric: String,
    pub command: String,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum PairsError {
    #[error(
        "no pairs: a ratio needs at least one, evidence {PAIRS_MIN}, a claim {PAIRS_FOR_A_CLAIM}; measure longer or compare fewer points"
    )]
    Empty,
    #[error(
        "pair {index} (from 0) is {arm} against {reference}: both must be finite and above zero; leave that pair out"
    )]
    NotPositive {
        index: usize,
        arm: f64,
        reference: f64,
    },
}

/// Compares `pairs` of (arm, reference), in the order measured, both in the
/// metric's unit: the median of their ratios with its interval, where the number
/// of pairs was fixed beforehand.
///
/// The caller leaves out pairs of which a trial was not valid. With fewer than
/// [`PAIRS_MIN`] pairs the outcome is `no-evidence`, whatever the interval.
///
/// # Errors
/// [`PairsError`] when there are no pairs or a value (or the ratio of two) is
/// not finite and positive.
pub fn compare(
    arms: Arms,
    direction: Direction,
    pairs: Vec<(f64, f64)>,
) -> Result<Comparison, PairsError> {
    compare_at(arms, direction, pairs, ERROR)
}

/// [`compare`] with an interval that misses no more often than `error`: the
/// share of [`Looks`](super::Looks) where widths had a say in when to end.
pub fn compare_at(
    arms: Arms,
    direction: Direction,
    pairs: Vec<(f64, f64)>,
    error: f64,
) -> Result<Comparison, PairsError> {
    let ratios = ratios(&pairs)?;
    let interval = interval_of_median(&ratios, error);
    let is_sure = interval.confidence >= 1.0 - error && pairs.len() >= PAIRS_MIN;
    let outcome = match is_sure {
        true => outcome(&interval, direction),
        false => Outcome::NoEvidence,
    };
    Ok(Comparison {
        subject: arms.subject,
        arm: arms.arm,
        reference: arms.reference,
        metric: arms.metric,
        ratio: interval.estimate,
        low: interval.low,
        high: interval.high,
        confidence: interval.confidence,
        outcome,
        pairs,
        target: None,
        change: String::new(),
        command: arms.command,
        believed: true,
        arm_point: BTreeMap::new(),
        reference_point: BTreeMap::new(),
    })
}

/// The outcome that an interval of a ratio allows, given which way the metric is
/// better.
pub fn outcome(interval: &Interval, direction: Direction) -> Outcome {
    match direction {
        Direction::Higher if interval.low > 1.0 => Outcome::Faster,
        Direction::Higher if interval.high < 1.0 => Outcome::Slower,
        Direction::Lower if interval.high < 1.0 => Outcome::Faster,
        Direction::Lower if interval.low > 1.0 => Outcome::Slower,
        _ => Outcome::NoEvidence,
    }
}

impl Comparison {
    /// The same comparison with a threshold. It is met when the lower
    /// bound of the ratio is at least `at_least` and the claim rests on
    /// [`PAIRS_FOR_A_CLAIM`] pairs or more. For metrics of which less is
    /// better, compare the other way round (reference over arm).
    #[must_use]
    pub fn with_target(self, at_least: f64) -> Self {
        let met = self.low >= at_least && self.pairs.len() >= PAIRS_FOR_A_CLAIM;
        Self {
            target: Some(Target { at_least, met }),
            ..self
        }
    }

    /// The interval of its ratio where it was picked among `places`: each may miss
    /// less often accordingly (Bonferroni), as far as its pairs allow. `None` where a
    /// stored pair gives no ratio.
    pub fn picked_of(&self, places: usize) -> Option<Interval> {
        if places <= 1 {
            return Some(Interval {
                estimate: self.ratio,
                low: self.low,
                high: self.high,
                confidence: self.confidence,
            });
        }
        let error = (1.0 - self.confidence) / places as f64;
        let ratios = ratios(&self.pairs).ok()?;
        Some(interval_of_median(&ratios, error))
    }
}

fn ratios(pairs: &[(f64, f64)]) -> Result<Vec<f64>, PairsError> {
    if pairs.is_empty() {
        return Err(PairsError::Empty);
    }
    pairs
        .iter()
        .enumerate()
        .map(|(index, &(arm, reference))| {
            let ratio = arm / reference;
            // A subnormal over a huge value can vanish, the reverse overflow.
            let usable = [arm, reference, ratio]
                .iter()
                .all(|value| value.is_finite() && *value > 0.0);
            usable.then_some(ratio).ok_or(PairsError::NotPositive {
                index,
                arm,
                reference,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Arms, PairsError, compare, compare_at};
    use crate::{Comparison, Direction, Outcome};

    fn of(pairs: Vec<(f64, f64)>) -> Result<Comparison, PairsError> {
        compare(Arms::default(), Direction::Higher, pairs)
    }

    #[test]
    fn direction_and_number_decide_what_a_ratio_shows() {
        use Direction::{Higher, Lower, Neutral};
        use Outcome::{Faster, NoEvidence, Slower};
        for (ratio, count, direction, expected) in [
            (2.0, 9, Higher, Faster),
            (2.0, 9, Lower, Slower),
            (0.5, 9, Higher, Slower),
            (0.5, 9, Lower, Faster),
            (2.0, 9, Neutral, NoEvidence),
            (0.99, 9, Higher, NoEvidence),
            (2.0, 5, Higher, NoEvidence),
            (2.0, 6, Higher, Faster),
        ] {
            let pairs = (0..count).map(|at| (ratio * (1.0 + 0.01 * f64::from(at % 3)), 1.0));
            let found = compare(Arms::default(), direction, pairs.collect());
            let outcome = found.expect("all are positive").outcome;
            assert_eq!(outcome, expected, "{ratio}, {count} pairs, {direction:?}");
        }
        let careful = |count| {
            let pairs = vec![(2.0, 1.0); count];
            let found = compare_at(Arms::default(), Direction::Higher, pairs, 0.005);
            found.expect("all are positive").outcome
        };
        assert_eq!(careful(8), Outcome::NoEvidence, "0.8% is more than 0.5%");
        assert_eq!(careful(9), Outcome::Faster);
    }

    #[test]
    fn a_target_is_met_by_the_lower_bound_of_nine_pairs() {
        let is_met = |pairs: &[(f64, f64)], at_least| {
            let comparison = of(pairs.to_vec()).expect("all are positive");
            comparison
                .with_target(at_least)
                .target
                .is_some_and(|it| it.met)
        };
        assert!(!is_met(&[(2.0, 1.0); 8], 1.0), "eight pairs are no claim");
        assert!(is_met(&[(2.0, 1.0); 9], 1.0));
        let pairs = [0.85, 0.88, 0.89, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96].map(|arm| (arm, 1.0));
        let comparison = of(pairs.to_vec()).expect("all are positive");
        assert!(comparison.ratio > 0.9 && !is_met(&pairs, 0.9));
        assert!(is_met(&pairs, comparison.low));
    }

    #[test]
    fn the_best_of_several_places_has_a_wider_interval() {
        let one = of((1..=9).map(|arm| (f64::from(arm), 1.0)).collect()).expect("positive");
        for (places, interval) in [(0, (2.0, 8.0)), (1, (2.0, 8.0)), (2, (1.0, 9.0))] {
            let own = one.picked_of(places).expect("positive");
            assert_eq!((own.low, own.high), interval, "{places} places");
        }
    }

    #[test]
    fn bad_pairs_are_named() {
        for pair in [
            (f64::NAN, 1.0),
            (1.0, 0.0),
            (-1.0, 1.0),
            (f64::INFINITY, 1.0),
            (f64::MIN_POSITIVE, f64::MAX),
            (f64::MAX, f64::MIN_POSITIVE),
        ] {
            let refused = of(vec![(1.0, 1.0), pair]);
            let is_named = matches!(refused, Err(PairsError::NotPositive { index: 1, .. }));
            assert!(is_named, "{pair:?}");
        }
        assert_eq!(of(vec![]), Err(PairsError::Empty));
    }
}
