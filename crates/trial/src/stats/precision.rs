//! When enough pairs have been measured.
//!
//! Measuring until an interval is narrow (Chow and Robbins, "On the asymptotic
//! theory of fixed-width sequential confidence intervals for the mean", Annals
//! of Mathematical Statistics 36, 1965; for a relative width: Nadas, ibid. 40,
//! 1969) leaves the interval its confidence only if nothing but its width
//! decides. Stopping when a ratio has got where one wants it would not: sooner
//! or later chance takes it there. So [`Precision`] never looks at whether a
//! ratio is above 1, at outcomes or at targets. What remains is that an
//! interval can be narrow by chance, which matters where pairs are few: hence
//! `pairs_min`, and few looks that share the error ([`Looks`](super::Looks)).

use super::{Interval, PAIRS_FOR_A_CLAIM};
use crate::Comparison;

/// How narrow intervals must be, and between which numbers of pairs that is decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the width of a ratio's interval, as a share of the ratio: 0.02
    /// means ±2%.
    pub relative_half_width: f64,
    pub pairs_min: usize,
    /// With this many pairs of every comparison, it ends whatever the widths.
    pub pairs_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Enough,
    More,
    /// Some are still wide, and all have the maximum number of pairs.
    Exhausted,
}

impl Precision {
    pub fn new(relative_half_width: f64, pairs_max: usize) -> Self {
        Self {
            relative_half_width,
            pairs_min: PAIRS_FOR_A_CLAIM,
            pairs_max,
        }
    }

    /// What to do, given every comparison from its pairs so far. Without a comparison
    /// nothing needs to be narrower: enough.
    pub fn decide(&self, comparisons: &[Comparison]) -> Decision {
        let are_few = |comparison: &Comparison| comparison.pairs.len() < self.pairs_min;
        let wide = self.wide(comparisons);
        if wide.is_empty() && !comparisons.iter().any(are_few) {
            return Decision::Enough;
        }
        let is_spent = |comparison: &Comparison| comparison.pairs.len() >= self.pairs_max;
        if comparisons.iter().all(is_spent) {
            return Decision::Exhausted;
        }
        Decision::More
    }

    pub fn wide<'a>(&self, comparisons: &'a [Comparison]) -> Vec<&'a Comparison> {
        // What is not a number is not narrow.
        let is_narrow = |width: f64| width <= self.relative_half_width;
        let mut wide: Vec<_> = comparisons
            .iter()
            .filter(|comparison| !is_narrow(comparison.relative_half_width()))
            .collect();
        wide.sort_by(|a, b| b.relative_half_width().total_cmp(&a.relative_half_width()));
        wide
    }
}

impl Interval {
    /// Half its width, as a share of the estimate: 0.02 is ±2%.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate
    }
}

impl Comparison {
    /// Half the width of the ratio's interval, as a share of the ratio: 0.02
    /// is ±2%.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::stats::{Arms, Random, compare};

    fn of(pairs: Vec<(f64, f64)>) -> Comparison {
        compare(Arms::default(), Direction::Higher, pairs).expect("all are positive")
    }

    fn around(ratio: f64, noise: f64, count: usize, random: &mut Random) -> Vec<(f64, f64)> {
        let mut noisy = || ratio * (1.0 + noise * (2.0 * random.unit() - 1.0));
        (0..count).map(|_| (noisy(), 1.0)).collect()
    }

    #[test]
    fn narrow_ends_it_and_wide_or_few_does_not() {
        let precision = Precision::new(0.02, 30);
        let mut random = Random::new(1);
        let mut comparison = |noise, count| of(around(2.0, noise, count, &mut random));
        let (narrow, wide) = (comparison(0.005, 9), comparison(0.2, 9));
        let both = [narrow.clone(), wide.clone()];
        assert_eq!(precision.wide(&both), [&wide]);
        for (what, all, decision) in [
            ("none", vec![], Decision::Enough),
            ("narrow", vec![narrow], Decision::Enough),
            (
                "narrow by chance",
                vec![comparison(0.005, 8)],
                Decision::More,
            ),
            ("one wide", both.into(), Decision::More),
            (
                "no pair left",
                vec![comparison(0.2, 30)],
                Decision::Exhausted,
            ),
            (
                "narrow at last",
                vec![comparison(0.005, 30)],
                Decision::Enough,
            ),
        ] {
            assert_eq!(precision.decide(&all), decision, "{what}");
        }
    }

    #[test]
    fn the_widest_is_named_first_and_what_is_no_number_is_wide() {
        let mut random = Random::new(3);
        let widths = [0.1, 0.4, 0.2];
        let mut all: Vec<_> = widths
            .map(|noise| of(around(1.0, noise, 9, &mut random)))
            .into();
        let precision = Precision::new(0.001, 99);
        assert_eq!(precision.wide(&all), [&all[1], &all[2], &all[0]]);
        all[0].high = f64::NAN;
        assert_eq!(precision.wide(&all)[0].subject, all[0].subject);
        assert_eq!(precision.wide(&all).len(), 3);
    }

    /// A ratio's value must not decide, nor which way it points.
    #[test]
    fn only_the_width_decides() {
        let precision = Precision::new(0.03, 50);
        for seed in 0..20 {
            let pairs = around(1.0, 0.05, 11, &mut Random::new(seed));
            let decision = precision.decide(&[of(pairs.clone())]);
            for factor in [1e-6, 0.5, 0.999, 1.001, 2.0, 1e6] {
                let scaled = pairs
                    .iter()
                    .map(|(arm, reference)| (arm * factor, *reference));
                assert_eq!(precision.decide(&[of(scaled.collect())]), decision);
            }
        }
    }
}
