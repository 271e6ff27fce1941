//! How tenants share, as sections report it.

use model::fairness::{entitlements, share_kept, weighted_jain_index};
use trial::Standing;

use crate::ratio::Ratio;
use crate::series::Told;
use crate::subject::Measure;
use crate::words::percent;

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

/// What is left of others' shares beside a hostile tenant, of the ratios that say so.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The ratio that may be the least, with its interval and what it is of.
    pub least: String,
    /// Met where all are; else that of the least.
    pub standing: Standing,
}

impl Kept {
    /// None where there is no ratio.
    pub fn of<'a, P: 'a, A: 'a>(told: impl Iterator<Item = &'a Told<P, A>>) -> Option<Self> {
        let told: Vec<_> = told.map(|one| &one.ratio).collect();
        let low = |one: &&&Ratio| one.comparison.low;
        let worst = *told.iter().min_by(|a, b| low(a).total_cmp(&low(b)))?;
        let ratio = &worst.comparison;
        let is_met = |one: &&Ratio| one.standing() == Some(Standing::Met);
        Some(Self {
            least: format!(
                "{} ({} to {}), {}, {}",
                percent(ratio.ratio),
                percent(ratio.low),
                percent(ratio.high),
                ratio.subject,
                ratio.arm
            ),
            standing: match worst.standing() {
                _ if told.iter().all(is_met) => Standing::Met,
                Some(Standing::NotMet) => Standing::NotMet,
                _ => Standing::Undecided,
            },
        })
    }
}
