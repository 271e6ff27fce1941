//! The observations as a least-squares problem, each column scaled to length
//! 1, so that a condition index means something.

use super::matrix::{Matrix, SUPPORTS, Vector, dot, eigen, form, inverse, solve};
use super::{CONDITION_MAX, FitError, Observation, Unknown};

/// Belsley, Kuh, Welsch, section 3.2: an unknown takes part in a collinearity
/// when more than half of its variance comes from it.
const PROPORTION_MIN: f64 = 0.5;

pub(super) struct Design {
    rows: Vec<Vector>,
    busy: Vec<f64>,
    roots: Vec<f64>,
    /// Length of each column before scaling, with rates in 1/ns.
    lengths: Vector,
    gram: Matrix,
}

impl Design {
    pub(super) fn new(observations: &[Observation]) -> Result<Self, FitError> {
        let raw: Vec<Vector> = observations
            .iter()
            .map(|observation| {
                let root = observation.weight.sqrt();
                Unknown::ALL.map(|unknown| root * unknown.rate(observation) / 1e9)
            })
            .collect();
        let lengths = [0, 1, 2].map(|i| raw.iter().map(|row| row[i] * row[i]).sum::<f64>().sqrt());
        if let Some(place) = lengths.iter().position(|length| *length == 0.0) {
            let unknown = Unknown::ALL[place];
            return Err(FitError::Absent { unknown });
        }
        let rows: Vec<Vector> = raw
            .iter()
            .map(|row| [0, 1, 2].map(|i| row[i] / lengths[i]))
            .collect();
        Ok(Self {
            gram: gram(&rows),
            busy: observations
                .iter()
                .map(|observation| observation.weight.sqrt() * observation.busy_share)
                .collect(),
            roots: observations
                .iter()
                .map(|observation| observation.weight.sqrt())
                .collect(),
            rows,
            lengths,
        })
    }

    /// Refuses observations that cannot tell the unknowns apart.
    pub(super) fn check_condition(&self) -> Result<(), FitError> {
        let pairs = eigen(&self.gram);
        // Rounding can leave an eigenvalue of nothing slightly below zero.
        let values = pairs.map(|(value, _)| value.max(f64::EPSILON * f64::EPSILON));
        let condition = (values[2] / values[0]).sqrt();
        if condition <= CONDITION_MAX {
            return Ok(());
        }
        // Every dimension that is (nearly) missing counts: where all points
        // are one, two are.
        let missing = |k: usize| (values[2] / values[k]).sqrt() > CONDITION_MAX;
        let variance = |i: usize, k: usize| pairs[k].1[i].powi(2) / values[k];
        let unknowns = [0, 1, 2]
            .into_iter()
            .filter(|i| {
                let all: f64 = (0..3).map(|k| variance(*i, k)).sum();
                let lost: f64 = (0..3)
                    .filter(|k| missing(*k))
                    .map(|k| variance(*i, k))
                    .sum();
                lost > PROPORTION_MIN * all
            })
            .map(|i| Unknown::ALL[i])
            .collect();
        Err(FitError::Collinear {
            unknowns,
            condition,
        })
    }

    pub(super) fn busy(&self) -> &[f64] {
        &self.busy
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn weight(&self) -> f64 {
        self.roots.iter().map(|root| root * root).sum()
    }

    /// Weighted values, one an observation, as they were without weights.
    pub(super) fn unweighted(&self, values: &[f64]) -> Vec<f64> {
        values
            .iter()
            .zip(&self.roots)
            .map(|(value, root)| value / root)
            .collect()
    }

    /// Column products with `right`, one value an observation.
    pub(super) fn correlation(&self, right: &[f64]) -> Vector {
        let mut sums = [0.0; 3];
        for (row, value) in self.rows.iter().zip(right) {
            for (sum, entry) in sums.iter_mut().zip(row) {
                *sum += entry * value;
            }
        }
        sums
    }

    /// The least squares, whatever their sign, in scaled units.
    pub(super) fn unbounded(&self, correlation: &Vector) -> Vector {
        solve(&self.gram, correlation, [true; 3])
    }

    /// The least squares with none below zero. The best point that holds some
    /// unknowns at zero is the unbounded one of the others, so that looking at
    /// all seven choices finds the best. All are zero where every column
    /// speaks for less than nothing, as a resample's may.
    pub(super) fn non_negative(&self, correlation: &Vector) -> Vector {
        let explained = |prices: &Vector| dot(prices, correlation);
        SUPPORTS
            .iter()
            .map(|support| solve(&self.gram, correlation, *support))
            .filter(|prices| prices.iter().all(|price| *price >= 0.0))
            .max_by(|left, right| explained(left).total_cmp(&explained(right)))
            .unwrap_or_default()
    }

    /// The values of the observations according to `prices` (scaled).
    pub(super) fn fitted(&self, prices: &Vector) -> Vec<f64> {
        self.rows.iter().map(|row| dot(row, prices)).collect()
    }

    /// How far each observation pulls the fit towards itself, 0 to 1.
    pub(super) fn leverages(&self) -> Vec<f64> {
        let inverse = inverse(&self.gram);
        self.rows.iter().map(|row| form(&inverse, row)).collect()
    }

    /// Variances of the scaled prices, for a residual variance of 1.
    pub(super) fn variances(&self) -> Vector {
        let inverse = inverse(&self.gram);
        [0, 1, 2].map(|i| inverse[i][i])
    }

    /// Scaled prices in ns.
    pub(super) fn unscaled(&self, prices: &Vector) -> Vector {
        [0, 1, 2].map(|i| prices[i] / self.lengths[i])
    }

    pub(super) fn condition(&self) -> f64 {
        let pairs = eigen(&self.gram);
        (pairs[2].0 / pairs[0].0).sqrt()
    }
}

fn gram(rows: &[Vector]) -> Matrix {
    let entry = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum();
    [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j)))
}
