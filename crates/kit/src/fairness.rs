//! How tenants share, as sections report it.

use model::fairness::{entitlements, share_kept, weighted_jain_index};

use crate::subject::Measure;

/// How evenly shares follow weights, 1 being quite (Jain, Chiu and Hawe, 1984).
pub const JAIN: Measure = Measure::higher("jain_index", "");
pub const LEAST_SHARE: Measure = Measure::higher("share_kept_least", "");
/// Of what a tenant's weight entitles it to.
pub const SHARE: Measure = Measure::higher("share_of_entitlement", "");

/// How evenly shares follow weights, and each one's share of what its weight
/// entitles it to.
pub type Fairness = ([(Measure, f64); 2], Vec<f64>);

/// Of speeds, in any unit, of tenants that ask for all that they can get. None where
/// nothing was done.
#[must_use]
pub fn fairness(speeds: &[f64], weights: &[f64]) -> Option<Fairness> {
    let demands = vec![f64::INFINITY; weights.len()];
    let entitled = entitlements(speeds.iter().sum(), &demands, weights).ok()?;
    let whole = [
        (JAIN, weighted_jain_index(speeds, weights).ok()?),
        (LEAST_SHARE, share_kept(speeds, &entitled).ok()?),
    ];
    let pairs = speeds.iter().zip(&entitled);
    Some((whole, pairs.map(|(speed, own)| speed / own).collect()))
}
