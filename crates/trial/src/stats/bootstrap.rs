//! Confidence intervals by resampling (Efron and Tibshirani, "An introduction
//! to the bootstrap", 1993, chapter 13).
//!
//! The percentile form, not BCa: BCa's acceleration comes from the jackknife,
//! which is inconsistent for a median (ibid., section 11.6), and with nine
//! pairs its correction jumps by whole order statistics.

use super::describe::quantile_of_sorted;
use super::{Random, median};

/// Resamples behind every interval.
pub const RESAMPLES: usize = 10_000;

/// Confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate from the values as they are.
    pub estimate: f64,
    /// Lower bound; never above `estimate`.
    pub low: f64,
    /// Upper bound; never below `estimate`.
    pub high: f64,
    /// Confidence, e.g. 0.95.
    pub confidence: f64,
}

/// Why a list of values has no interval.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// Nothing was measured.
    #[error("no values: an interval needs at least one; measure longer or more often")]
    Empty,
    /// A value that no measurement of a rate or a time gives.
    #[error(
        "value {value} at place {index} (from 0): only finite values above zero can be compared; leave that repetition out"
    )]
    NotPositive {
        /// Its place in the list, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// The median of one arm's values with its interval, in the values' unit.
///
/// Percentile bootstrap of [`RESAMPLES`] resamples, never narrower than the
/// order statistics that the sign test gives at the same confidence: the plain
/// percentile interval covers only 87% with seven values. With five values or
/// fewer even smallest to largest covers less than 95% (five: 93.75%). Takes
/// time in proportion to [`RESAMPLES`] times the number of values: meant for
/// repetitions, of which there are tens, not for single requests.
///
/// # Errors
/// [`StatsError`] when there is no value or one is not finite and positive.
pub fn median_interval(values: &[f64], seed: u64) -> Result<Interval, StatsError> {
    check(values)?;
    Ok(interval_of_median(values, seed, RESAMPLES))
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

/// [`median_interval`] of values already checked.
pub(super) fn interval_of_median(values: &[f64], seed: u64, resamples: usize) -> Interval {
    let mut random = Random::new(seed);
    let mut scratch = vec![0.0; values.len()];
    let medians = (0..resamples)
        .map(|_| resampled_median(values, &mut scratch, &mut random))
        .collect();
    let percentile = percentiles(checked_median(values), medians);
    let (low, high) = sign_test_bounds(values);
    Interval {
        low: percentile.low.min(low),
        high: percentile.high.max(high),
        ..percentile
    }
}

/// Refuses what cannot be compared.
fn check(values: &[f64]) -> Result<(), StatsError> {
    if values.is_empty() {
        return Err(StatsError::Empty);
    }
    match values
        .iter()
        .position(|value| !value.is_finite() || *value <= 0.0)
    {
        Some(index) => Err(StatsError::NotPositive {
            index,
            value: values[index],
        }),
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

/// The order statistics that hold the median with at least [`CONFIDENCE`]
/// whatever the distribution (Conover, "Practical nonparametric statistics",
/// section 3.2); smallest to largest where there are too few values for that.
fn sign_test_bounds(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let outside = values_outside(sorted.len());
    (sorted[outside], sorted[sorted.len() - 1 - outside])
}

/// How many values at either end the interval of a median may leave out: the
/// largest `k` with P(Binomial(n, 1/2) ≤ k) within one tail, or 0. So many of
/// `count` values can be anything, and the interval still holds the median.
#[must_use]
pub fn values_outside(count: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let n = count as f64;
    // In logarithms, since 2^-n underflows where many values were measured.
    let mut log_probability = -n * std::f64::consts::LN_2;
    let mut cumulative = log_probability.exp();
    for k in 1..=(count - 1) / 2 {
        log_probability += ((n - k as f64 + 1.0) / k as f64).ln();
        cumulative += log_probability.exp();
        if cumulative > (1.0 - CONFIDENCE) / 2.0 {
            return k - 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::{StatsError, median_interval, ratio_of_medians, values_outside};

    #[test]
    fn the_sign_test_leaves_out_what_the_tables_say() {
        // Conover, table A3 at p = 1/2: the ranks of a 95% interval.
        for (count, outside) in [
            (0, 0),
            (1, 0),
            (2, 0),
            (5, 0),
            (6, 0),
            (8, 0),
            (9, 1),
            (12, 2),
            (20, 5),
            (100, 39),
        ] {
            assert_eq!(values_outside(count), outside, "{count} values");
        }
        assert!((4_850..5_000).contains(&values_outside(10_000)));
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let interval = median_interval(&[3.3; 9], 1).expect("all are positive");
        assert_eq!(
            (interval.low, interval.estimate, interval.high),
            (3.3, 3.3, 3.3)
        );
    }

    #[test]
    fn nine_values_give_the_second_to_the_eighth() {
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        let interval = median_interval(&values, 1).expect("all are positive");
        assert_eq!(
            (interval.low, interval.estimate, interval.high),
            (2.0, 5.0, 8.0)
        );
    }

    #[test]
    fn bad_values_are_named() {
        assert_eq!(median_interval(&[], 1), Err(StatsError::Empty));
        assert_eq!(
            median_interval(&[1.0, 0.0], 1),
            Err(StatsError::NotPositive {
                index: 1,
                value: 0.0
            })
        );
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
