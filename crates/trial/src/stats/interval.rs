//! Confidence intervals of medians, from order statistics; and of the ratio of
//! two separate arms, by resampling.

use super::describe::quantile_of_sorted;
use super::{Random, median};

pub const RESAMPLES: usize = 10_000;

/// Confidence that every interval has at least, where there are values enough.
pub const CONFIDENCE: f64 = 0.95;

/// How often an interval may miss, over all looks.
pub const ERROR: f64 = 1.0 - CONFIDENCE;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    /// Lower bound; never above `estimate`.
    pub low: f64,
    /// Upper bound; never below `estimate`.
    pub high: f64,
    /// How often such an interval holds the truth: 0.961 of nine values, 0.9375
    /// of five.
    pub confidence: f64,
}

/// Why a list of values has no interval.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    #[error("no values: an interval needs at least one; measure longer or more often")]
    Empty,
    #[error(
        "value {value} at place {index} (from 0): only finite values above zero can be compared; leave that repetition out"
    )]
    NotPositive { index: usize, value: f64 },
}

/// The median of one arm's values with its interval, in the values' unit: the
/// order statistics that hold the median with at least [`CONFIDENCE`], whatever
/// the distribution (Conover, "Practical nonparametric statistics", section
/// 3.2). With five values or fewer even smallest to largest holds it less often;
/// `confidence` says how often. That the values do not depend on each other is
/// assumed: on a host that changes state, take it for where the rounds lay.
///
/// # Errors
/// [`StatsError`] when there is no value or one is not finite and positive.
pub fn median_interval(values: &[f64]) -> Result<Interval, StatsError> {
    check(values)?;
    Ok(interval_of_median(values, ERROR))
}

/// The ratio of two arms' medians, `arm` / `reference`, with its interval,
/// where the values are *not* paired (two separate runs): both arms are
/// resampled independently. Prefer pairs (`compare`): they cancel what
/// disturbs both arms.
///
/// # Errors
/// [`StatsError`] when an arm has no value or one is not finite and positive.
pub fn ratio_of_medians(arm: &[f64], reference: &[f64], seed: u64) -> Result<Interval, StatsError> {
    check(arm)?;
    check(reference)?;
    let mut random = Random::new(seed);
    let mut scratch = (vec![0.0; arm.len()], vec![0.0; reference.len()]);
    let ratios = (0..RESAMPLES)
        .map(|_| {
            let above = resampled_median(arm, &mut scratch.0, &mut random);
            above / resampled_median(reference, &mut scratch.1, &mut random)
        })
        .collect();
    Ok(percentiles(
        checked_median(arm) / checked_median(reference),
        ratios,
    ))
}

/// [`median_interval`] of values already checked, that misses no more often
/// than `error` where there are values enough.
pub(super) fn interval_of_median(values: &[f64], error: f64) -> Interval {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (outside, confidence) = left_out(sorted.len(), error);
    Interval {
        estimate: checked_median(values),
        low: sorted[outside],
        high: sorted[sorted.len() - 1 - outside],
        confidence,
    }
}

fn check(values: &[f64]) -> Result<(), StatsError> {
    if values.is_empty() {
        return Err(StatsError::Empty);
    }
    let is_bad = |(_, value): &(usize, &f64)| !value.is_finite() || **value <= 0.0;
    match values.iter().enumerate().find(is_bad) {
        Some((index, &value)) => Err(StatsError::NotPositive { index, value }),
        None => Ok(()),
    }
}

fn checked_median(values: &[f64]) -> f64 {
    median(values).expect("`check` refused empty lists and values that are not finite")
}

/// The median of as many values drawn with replacement; `scratch` is as long
/// as `values`, so that resampling allocates nothing.
fn resampled_median(values: &[f64], scratch: &mut [f64], random: &mut Random) -> f64 {
    for place in scratch.iter_mut() {
        *place = values[random.below(values.len())];
    }
    let middle = scratch.len() / 2;
    let (lower, &mut upper_middle, _) = scratch.select_nth_unstable_by(middle, f64::total_cmp);
    if values.len() % 2 == 1 {
        return upper_middle;
    }
    let lower_middle = lower.iter().copied().fold(f64::MIN, f64::max);
    lower_middle / 2.0 + upper_middle / 2.0
}

fn percentiles(estimate: f64, mut resampled: Vec<f64>) -> Interval {
    resampled.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Interval {
        estimate,
        low: quantile_of_sorted(&resampled, tail).min(estimate),
        high: quantile_of_sorted(&resampled, 1.0 - tail).max(estimate),
        confidence: CONFIDENCE,
    }
}

/// How many values at either end the interval of a median may leave out at
/// [`CONFIDENCE`]. That many of `count` values can be anything, and the interval
/// still holds the median.
pub fn values_outside(count: usize) -> usize {
    left_out(count, ERROR).0
}

/// The largest `k` with 2·P(Binomial(n, 1/2) ≤ k) ≤ `error`, or 0, and how often
/// the interval that leaves out `k` at either end holds the median.
fn left_out(count: usize, error: f64) -> (usize, f64) {
    if count == 0 {
        return (0, 0.0);
    }
    let n = count as f64;
    // In logarithms, since 2^-n underflows where many values were measured.
    let mut log_probability = -n * std::f64::consts::LN_2;
    let mut misses = 2.0 * log_probability.exp();
    for k in 1..=(count - 1) / 2 {
        log_probability += ((n - k as f64 + 1.0) / k as f64).ln();
        let more = misses + 2.0 * log_probability.exp();
        if more > error {
            return (k - 1, 1.0 - misses);
        }
        misses = more;
    }
    ((count - 1) / 2, 1.0 - misses)
}

#[cfg(test)]
mod tests {
    use super::{StatsError, median_interval, ratio_of_medians, values_outside};

    #[test]
    fn the_sign_test_leaves_out_what_the_tables_say() {
        // Conover, table A3 at p = 1/2: the ranks of a 95% interval.
        let counts = [0, 1, 2, 5, 6, 8, 9, 12, 20, 100];
        let outside = [0, 0, 0, 0, 0, 0, 1, 2, 5, 39];
        assert_eq!(counts.map(values_outside), outside);
        assert!((4_850..5_000).contains(&values_outside(10_000)));
    }

    #[test]
    fn an_interval_is_two_order_statistics_with_their_confidence() {
        for (count, (low, high), confidence) in [
            (1, (1.0, 1.0), 0.0),
            (5, (1.0, 5.0), 0.9375),
            (6, (1.0, 6.0), 0.96875),
            (9, (2.0, 8.0), 0.9609375),
        ] {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let found = median_interval(&values).expect("all are positive");
            assert_eq!((found.low, found.high), (low, high), "{count} values");
            let is_right = (found.confidence - confidence).abs() < 1e-9;
            assert!(is_right, "{count} values: {found:?}");
        }
        let equal = median_interval(&[3.3; 9]).expect("all are positive");
        assert_eq!((equal.low, equal.estimate, equal.high), (3.3, 3.3, 3.3));
        let careful = super::interval_of_median(&[1.0; 9], 0.005);
        assert!((careful.confidence - 0.99609375).abs() < 1e-9);
        assert!(super::interval_of_median(&[1.0; 8], 0.005).confidence < 0.995);
    }

    #[test]
    fn bad_values_are_named() {
        assert_eq!(median_interval(&[]), Err(StatsError::Empty));
        let (index, value) = (1, 0.0);
        let error = StatsError::NotPositive { index, value };
        assert_eq!(median_interval(&[1.0, 0.0]), Err(error));
        assert!(ratio_of_medians(&[1.0], &[f64::NAN], 1).is_err());
        assert!(ratio_of_medians(&[-1.0], &[1.0], 1).is_err());
    }

    #[test]
    fn an_unpaired_ratio_is_the_ratio_of_the_medians() {
        let ratio = ratio_of_medians(&[2.0, 2.2, 1.8], &[1.0, 1.1, 0.9], 1).expect("positive");
        assert_eq!(ratio.estimate, 2.0);
        assert!(ratio.low < 2.0 && ratio.high > 2.0, "{ratio:?}");
    }
}
