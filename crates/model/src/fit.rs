//! The prices of a notification, a request and a byte, from observations.
//!
//! Least squares of `T·I + c·N + t·V = busy share`, none of the three
//! negative, with intervals; refused where the observations cannot tell the
//! three apart.

mod design;
mod error;
mod estimate;
mod matrix;

pub use error::{FitError, Unknown};
pub use estimate::{Estimate, Fit, RESAMPLES};

use crate::capacity::Costs;
use design::Design;

/// The minimum number of observations: three unknowns, and one more that shows how
/// well they fit.
pub const OBSERVATIONS_MIN: usize = 4;

/// Highest condition index of the observations, each column scaled to length
/// 1: above it they cannot tell the unknowns apart (Belsley, Kuh, Welsch:
/// "Regression diagnostics", 1980, section 3.2: above 30 is strong
/// collinearity).
pub const CONDITION_MAX: f64 = 30.0;

/// Highest busy share that is accepted, since clocks of CPU time and of time do not
/// tick together.
pub const BUSY_SHARE_MAX: f64 = 1.05;

/// What one core did during one trial. Only *valid* trials may enter: the caller
/// ensures that, since a verdict cannot be seen from these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// `I`, sent or received on that core.
    pub notifications_per_s: f64,
    /// `N`.
    pub requests_per_s: f64,
    /// `V`.
    pub bytes_per_s: f64,
    /// CPU time of that core over time, of every thread that these rates
    /// belong to: above 0, at most [`BUSY_SHARE_MAX`].
    pub busy_share: f64,
    /// How much it counts, above 0: 1 over the variance of its busy share up
    /// to a common factor, or 1 for all.
    pub weight: f64,
}

impl Observation {
    pub fn new(
        notifications_per_s: f64,
        requests_per_s: f64,
        bytes_per_s: f64,
        busy_share: f64,
    ) -> Self {
        Self {
            notifications_per_s,
            requests_per_s,
            bytes_per_s,
            busy_share,
            weight: 1.0,
        }
    }
}

/// Fits the three prices. Deterministic: the same `seed` resamples the same way.
///
/// A price that would be negative is 0, and the others are what they then
/// have to be: of all ways to hold some at 0, the best that leaves none
/// negative (with three unknowns there are seven).
///
/// # Errors
/// [`FitError`]; where the observations cannot tell the unknowns apart it
/// names them and says what to vary.
pub fn fit(observations: &[Observation], seed: u64) -> Result<Fit, FitError> {
    check(observations)?;
    let design = Design::new(observations)?;
    design.check_condition()?;
    let prices = design.non_negative(&design.correlation(design.busy()));
    let [notification_ns, request_ns, byte_ns] = design.unscaled(&prices);
    let costs = Costs::new(notification_ns, request_ns, byte_ns)
        .expect("rates and shares above zero leave at least one price above zero");
    Ok(estimate::fit(&design, costs, &prices, seed))
}

fn check(observations: &[Observation]) -> Result<(), FitError> {
    if observations.len() < OBSERVATIONS_MIN {
        return Err(FitError::TooFew {
            count: observations.len(),
        });
    }
    observations
        .iter()
        .enumerate()
        .try_for_each(|(index, observation)| check_one(index, observation))
}

fn check_one(index: usize, observation: &Observation) -> Result<(), FitError> {
    let value = |what, value: f64, is_right: bool| {
        if is_right {
            Ok(())
        } else {
            Err(FitError::Value { index, what, value })
        }
    };
    for unknown in Unknown::ALL {
        let rate = unknown.rate(observation);
        value(unknown.rates(), rate, rate.is_finite() && rate >= 0.0)?;
    }
    let busy = observation.busy_share;
    value("busy share", busy, busy > 0.0 && busy <= BUSY_SHARE_MAX)?;
    let weight = observation.weight;
    value("weight", weight, weight.is_finite() && weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a core with these prices shows at a full load, without noise.
    fn observed(costs: &Costs, block: f64, together: f64) -> Observation {
        let requests = 1e9 / (costs.service_ns(block) + costs.notification_ns() / together);
        Observation::new(requests / together, requests, requests * block, 1.0)
    }

    fn grid(costs: &Costs, blocks: &[f64], together: &[f64]) -> Vec<Observation> {
        blocks
            .iter()
            .flat_map(|block| {
                together
                    .iter()
                    .map(|together| observed(costs, *block, *together))
            })
            .collect()
    }

    fn planted() -> Costs {
        Costs::new(650.0, 180.0, 0.09).unwrap()
    }

    #[test]
    fn planted_prices_are_found() {
        let points = grid(&planted(), &[512.0, 4096.0, 32768.0], &[1.0, 4.0, 16.0]);
        let fit = fit(&points, 1).unwrap();
        for (unknown, truth) in [
            (Unknown::Notification, 650.0),
            (Unknown::Request, 180.0),
            (Unknown::Byte, 0.09),
        ] {
            let found = fit.estimate(unknown);
            assert!(
                (found.ns / truth - 1.0).abs() < 1e-9,
                "{unknown}: {found:?}"
            );
            assert!(found.high_ns - found.low_ns < 1e-6 * truth, "{found:?}");
        }
        assert!(fit.residual_share() < 1e-12);
    }

    #[test]
    fn a_notification_each_tells_nothing_of_its_price() {
        let points = grid(&planted(), &[512.0, 2048.0, 8192.0, 32768.0], &[1.0]);
        let error = fit(&points, 1).unwrap_err();
        let FitError::Collinear { unknowns, .. } = &error else {
            panic!("{error}");
        };
        assert!(unknowns.contains(&Unknown::Notification) && unknowns.contains(&Unknown::Request));
        assert!(!unknowns.contains(&Unknown::Byte));
        let text = error.to_string();
        assert!(text.contains("vary the cap or the depth"), "{text}");
    }

    #[test]
    fn one_block_size_cannot_tell_bytes_from_requests() {
        let points = grid(&planted(), &[4096.0], &[1.0, 2.0, 4.0, 8.0]);
        let text = fit(&points, 1).unwrap_err().to_string();
        assert!(text.contains("vary the block size"), "{text}");
        assert!(!text.contains("cap"), "{text}");
    }

    #[test]
    fn one_point_again_and_again_tells_nothing() {
        let points = vec![observed(&planted(), 4096.0, 4.0); 6];
        let FitError::Collinear { unknowns, .. } = fit(&points, 1).unwrap_err() else {
            panic!("not collinear");
        };
        assert_eq!(unknowns, Unknown::ALL);
    }

    #[test]
    fn without_notifications_their_price_is_unknown() {
        let mut points = grid(&planted(), &[512.0, 8192.0], &[1.0, 2.0]);
        for point in &mut points {
            point.notifications_per_s = 0.0;
        }
        let error = fit(&points, 1).unwrap_err();
        assert_eq!(
            error,
            FitError::Absent {
                unknown: Unknown::Notification
            }
        );
    }

    #[test]
    fn a_price_that_would_be_negative_is_zero() {
        let truth = Costs::new(0.0, 180.0, 0.09).unwrap();
        let mut points = grid(&truth, &[512.0, 4096.0, 32768.0], &[1.0, 4.0, 16.0]);
        for point in &mut points {
            // Less busy where there are more notifications.
            point.busy_share -= 1e-9 * 20.0 * point.notifications_per_s;
        }
        let fit = fit(&points, 1).unwrap();
        let found = fit.estimate(Unknown::Notification);
        assert_eq!((found.ns, found.low_ns), (0.0, 0.0));
        assert_eq!(fit.costs().notification_ns(), 0.0);
    }

    #[test]
    fn what_no_trial_gives_is_refused_by_name() {
        let good = grid(&planted(), &[512.0, 8192.0], &[1.0, 8.0]);
        assert_eq!(fit(&good[..3], 1), Err(FitError::TooFew { count: 3 }));
        let with = |change: fn(&mut Observation)| {
            let mut points = good.clone();
            change(&mut points[2]);
            fit(&points, 1).unwrap_err().to_string()
        };
        assert!(with(|point| point.busy_share = 1.2).contains("observation 2"));
        assert!(with(|point| point.bytes_per_s = f64::NAN).contains("bytes/s"));
        assert!(with(|point| point.weight = 0.0).contains("weight"));
        assert!(with(|point| point.requests_per_s = -1.0).contains("requests/s"));
    }
}
