//! How much runs of one program on one host differ from each other.

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::Measured;

/// How far the ratio of two runs of one program is from 1 in 95 of 100 cases, where
/// there are no repeats. Two such runs gave 0.98 to 1.05 in one section and 0.78 to
/// 1.35 in another: 10% holds for the first, which is the usual kind, and is no
/// promise for the second. So it is stated wherever it is used.
pub const CHANGE_ASSUMED: f64 = 0.10;

/// How the runs of one section differ, for one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub section: String,
    pub metric: String,
    /// Runs of A's side, A included, with a valid value at some point.
    pub runs_a: usize,
    pub runs_b: usize,
    /// Further ones, where A and B repeat each other: they show the spread only.
    pub runs_of_both: usize,
    /// Standard deviation between runs of the logarithm of a median; `None` without
    /// repeats, where [`CHANGE_ASSUMED`] holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Degrees of freedom of `deviation`.
    pub degrees_of_freedom: usize,
}

pub(super) fn spreads(measured: &[Measured<'_>]) -> Vec<Spread> {
    let mut tallies: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
    for it in measured {
        tallies.entry(it.name()).or_default().add(it);
    }
    let tallies = tallies.into_iter();
    tallies.map(|(name, tally)| tally.spread(name)).collect()
}

/// What is assumed where one of them is not known.
pub(super) fn assumed(spreads: &[Spread]) -> Option<f64> {
    let unknown = spreads.iter().any(|spread| spread.deviation.is_none());
    unknown.then_some(CHANGE_ASSUMED)
}

#[derive(Default)]
struct Tally {
    runs: [usize; 3],
    squares: f64,
    freedom: usize,
    points: usize,
}

impl Tally {
    fn add(&mut self, it: &Measured<'_>) {
        let mut freedom = 0;
        let groups = [&it.medians.a, &it.medians.b, &it.medians.both];
        for (runs, values) in self.runs.iter_mut().zip(groups) {
            *runs = (*runs).max(values.len());
            let mean = mean_log(values);
            let square = |value: &f64| (value.ln() - mean).powi(2);
            self.squares += values.iter().map(square).sum::<f64>();
            freedom += values.len().saturating_sub(1);
        }
        self.freedom += freedom;
        self.points += usize::from(freedom > 0);
    }

    fn spread(&self, (section, metric): (&str, &str)) -> Spread {
        let [runs_a, runs_b, runs_of_both] = self.runs;
        let deviation = (self.squares / self.freedom as f64).sqrt();
        Spread {
            section: section.to_owned(),
            metric: metric.to_owned(),
            runs_a,
            runs_b,
            runs_of_both,
            deviation: (self.freedom > 0).then_some(deviation),
            // What disturbs a run shifts all its points alike, so that more
            // points tell no more: the mean over points counts runs alone.
            degrees_of_freedom: self.freedom.checked_div(self.points).unwrap_or(0),
        }
    }
}

impl Spread {
    /// Half the width, as a logarithm, of the interval of a ratio of this many runs,
    /// as far as the spread between runs causes it.
    pub(super) fn half_width(&self, runs_a: usize, runs_b: usize) -> f64 {
        match self.deviation {
            Some(deviation) => {
                let runs = 1.0 / runs_a as f64 + 1.0 / runs_b as f64;
                t(self.degrees_of_freedom) * deviation * runs.sqrt()
            }
            // Downwards 10% is more than upwards, in logarithms.
            None => -(-CHANGE_ASSUMED).ln_1p(),
        }
    }
}

/// Mean of the values' logarithms; 0 of none.
fn mean_log(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    sum / values.len().max(1) as f64
}

pub(super) fn geometric_mean(values: &[f64]) -> f64 {
    match values {
        [only] => *only,
        several => mean_log(several).exp(),
    }
}

/// Student's t at [`trial::stats::CONFIDENCE`], two-sided, for one or more
/// degrees of freedom: from ten on by Fisher's expansion (Abramowitz and
/// Stegun, 26.7.5), whose error is below 0.0002 there.
fn t(freedom: usize) -> f64 {
    const FEW: [f64; 9] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622,
    ];
    const Z: f64 = 1.959_964;
    let few = FEW.get(freedom.saturating_sub(1)).copied();
    few.unwrap_or_else(|| {
        let n = freedom as f64;
        let one = (Z.powi(3) + Z) / 4.0;
        let two = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
        let three = (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0;
        Z + (one + (two + three / n) / n) / n
    })
}

#[cfg(test)]
mod tests {
    use super::t;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        assert_eq!(trial::stats::CONFIDENCE, 0.95);
        for (freedom, expected) in [
            (1, 12.7062),
            (4, 2.7764),
            (9, 2.2622),
            (10, 2.2281),
            (11, 2.2010),
            (20, 2.0860),
            (38, 2.0244),
            (1_000_000, 1.95997),
        ] {
            let error: f64 = t(freedom) - expected;
            assert!(error.abs() < 2e-4, "{freedom}: {}", t(freedom));
        }
    }
}
