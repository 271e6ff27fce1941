//! How sure the prices are.

use trial::stats::{CONFIDENCE, Random, quantile};

use super::Unknown;
use super::design::Design;
use super::matrix::Vector;
use crate::capacity::Costs;

pub const RESAMPLES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub ns: f64,
    /// Its standard error, ns, as of the fit that may go below zero.
    pub standard_error_ns: f64,
    /// Lower bound of the interval, ns; never negative.
    pub low_ns: f64,
    /// Upper bound of the interval, ns.
    pub high_ns: f64,
    /// Confidence of the interval, e.g. 0.95.
    pub confidence: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    costs: Costs,
    estimates: [Estimate; 3],
    residual_share: f64,
    residuals: Vec<f64>,
    condition: f64,
}

impl Fit {
    pub fn costs(&self) -> Costs {
        self.costs
    }

    pub fn estimate(&self, unknown: Unknown) -> Estimate {
        self.estimates[unknown as usize]
    }

    /// Weighted root mean square of what the prices leave unexplained, as a share of
    /// a core: 0.02 means that the observations are 2% of a core off.
    pub fn residual_share(&self) -> f64 {
        self.residual_share
    }

    /// Observed less explained busy share, one an observation, in their order
    /// (without weights).
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Condition index of the observations, 1 or more; see
    /// [`CONDITION_MAX`](super::CONDITION_MAX).
    pub fn condition(&self) -> f64 {
        self.condition
    }
}

impl Estimate {
    /// Whether the interval is within `share` of the price on either side: then a
    /// report may print it as a figure.
    pub fn is_within(&self, share: f64) -> bool {
        self.ns > 0.0 && (self.high_ns - self.ns).max(self.ns - self.low_ns) <= share * self.ns
    }
}

/// Puts intervals around `prices` (scaled) and `costs` (the same in ns).
pub(super) fn fit(design: &Design, costs: Costs, prices: &Vector, seed: u64) -> Fit {
    let fitted = design.fitted(prices);
    let residuals = difference(design.busy(), &fitted);
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let unbounded = design.unbounded(&design.correlation(design.busy()));
    let errors = standard_errors(design, &unbounded);
    let reach = t_quantile(design.count() - 3);
    let resampled = resample(design, &fitted, &residuals, seed);
    let values = [costs.notification_ns(), costs.request_ns(), costs.byte_ns()];
    let centres = design.unscaled(&unbounded);
    let errors_ns = design.unscaled(&errors);
    let estimates = [0, 1, 2].map(|i| Estimate {
        ns: values[i],
        standard_error_ns: errors_ns[i],
        low_ns: (centres[i] - reach * errors_ns[i])
            .min(resampled[i].0)
            .clamp(0.0, values[i]),
        high_ns: (centres[i] + reach * errors_ns[i])
            .max(resampled[i].1)
            .max(values[i]),
        confidence: CONFIDENCE,
    });
    Fit {
        costs,
        estimates,
        residual_share: (squares / design.weight()).sqrt(),
        residuals: design.unweighted(&residuals),
        condition: design.condition(),
    }
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(l, r)| l - r).collect()
}

/// Of the scaled prices, from the residuals of the fit without bounds.
fn standard_errors(design: &Design, unbounded: &Vector) -> Vector {
    let residuals = difference(design.busy(), &design.fitted(unbounded));
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let variance = squares / (design.count() - 3) as f64;
    design.variances().map(|v| (variance * v).sqrt())
}

/// Percentiles of the prices, ns, over refits in which every residual keeps
/// its place and size and gets a random sign (the wild bootstrap: Wu, Annals
/// of Statistics 14, 1986; residuals over 1 less their leverage, as MacKinnon
/// and White's HC3). The points stay what they are, so that no resample is
/// collinear, and one that scatters more than others keeps doing so.
fn resample(design: &Design, fitted: &[f64], residuals: &[f64], seed: u64) -> [(f64, f64); 3] {
    // A leverage of 1 has no residual to speak of.
    let scaled: Vec<f64> = residuals
        .iter()
        .zip(design.leverages())
        .map(|(residual, leverage)| residual / (1.0 - leverage).max(0.05))
        .collect();
    let mut random = Random::new(seed);
    let mut busy = vec![0.0; fitted.len()];
    let mut refits = [const { Vec::new() }; 3];
    for _ in 0..RESAMPLES {
        for (place, (fitted, residual)) in busy.iter_mut().zip(fitted.iter().zip(&scaled)) {
            let sign = if random.next_u64() >> 63 == 0 {
                1.0
            } else {
                -1.0
            };
            *place = fitted + sign * residual;
        }
        let prices = design.unscaled(&design.non_negative(&design.correlation(&busy)));
        for (list, price) in refits.iter_mut().zip(prices) {
            list.push(price);
        }
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    refits.map(|list| {
        let at = |q| quantile(&list, q).expect("prices are finite, and there are resamples");
        (at(tail), at(1.0 - tail))
    })
}

/// The 97.5% quantile of Student's t: the tables' values for few degrees of
/// freedom, then Cornish and Fisher's series (Abramowitz and Stegun, 26.7.5).
fn t_quantile(freedom: usize) -> f64 {
    const FEW: [f64; 10] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    match FEW.get(freedom.saturating_sub(1)) {
        Some(value) => *value,
        None => {
            let n = freedom as f64;
            1.959_964 + (2.372_3 + (2.822_5 + 2.556 / n) / n) / n
        }
    }
}

#[cfg(test)]
mod tests {
    use super::t_quantile;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, value) in [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (20, 2.086),
            (60, 2.0003),
        ] {
            assert!((t_quantile(freedom) - value).abs() < 2e-3, "{freedom}");
        }
    }
}
