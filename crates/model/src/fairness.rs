//! How tenants share what there is.

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FairnessError {
    /// No tenant, or none that got or wants anything.
    #[error("no tenant has anything, so that there is nothing to share; leave that phase out")]
    Nothing,
    #[error("tenant {index} (from 0) has {value}: {what} must be {least}")]
    Value {
        index: usize,
        value: f64,
        what: &'static str,
        least: &'static str,
    },
    #[error("{left} and {right} tenants cannot be compared; give as many of each")]
    Lengths {
        left: usize,
        /// In the second.
        right: usize,
    },
}

/// Jain's index of `rates` (any unit): `(Σx)² / (n·Σx²)`, 1 when all are
/// equal, 1/n when one has everything (Jain, Chiu, Hawe: "A quantitative
/// measure of fairness and discrimination for resource allocation in shared
/// computer systems", DEC-TR-301, 1984).
///
/// # Errors
/// [`FairnessError`] when there is no rate, all are zero, or one is negative
/// or not finite.
pub fn jain_index(rates: &[f64]) -> Result<f64, FairnessError> {
    check(rates, "a rate", false)?;
    // Scaled first, so that no square overflows or vanishes.
    let largest = rates.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return Err(FairnessError::Nothing);
    }
    let scaled = || rates.iter().map(|rate| rate / largest);
    let sum: f64 = scaled().sum();
    let squares: f64 = scaled().map(|rate| rate * rate).sum();
    let least = 1.0 / rates.len() as f64;
    Ok((sum * sum / (rates.len() as f64 * squares)).clamp(least, 1.0))
}

/// [`jain_index`] of rates over weights: 1 when each has its weight's share.
///
/// # Errors
/// [`FairnessError`]; weights must be above zero.
pub fn weighted_jain_index(rates: &[f64], weights: &[f64]) -> Result<f64, FairnessError> {
    same_length(rates, weights)?;
    check(weights, "a weight", true)?;
    let normal: Vec<f64> = rates.iter().zip(weights).map(|(r, w)| r / w).collect();
    jain_index(&normal)
}

/// What each tenant is entitled to of `capacity` (any unit): weighted max-min
/// shares. A tenant that demands less than its weight's share gets what it
/// demands, and the others share the rest by weight. A tenant that keeps its
/// lane full demands [`f64::INFINITY`].
///
/// # Errors
/// [`FairnessError`] when there is no tenant, a weight is not above zero, a
/// demand is negative or not a number, or `capacity` is (as tenant 0's value).
pub fn entitlements(
    capacity: f64,
    demands: &[f64],
    weights: &[f64],
) -> Result<Vec<f64>, FairnessError> {
    same_length(demands, weights)?;
    check(&[capacity], "the capacity", false)?;
    check(weights, "a weight", true)?;
    check_demands(demands)?;
    let mut entitled = vec![0.0; demands.len()];
    let mut open: Vec<usize> = (0..demands.len()).collect();
    let mut left = capacity;
    // The tenant that wants least for its weight is served first: what it leaves
    // raises the others' shares, never lowers them.
    open.sort_by(|&a, &b| (demands[a] / weights[a]).total_cmp(&(demands[b] / weights[b])));
    let mut weight_left: f64 = weights.iter().sum();
    for tenant in open {
        let share = left * (weights[tenant] / weight_left).min(1.0);
        entitled[tenant] = demands[tenant].min(share);
        left = (left - entitled[tenant]).max(0.0);
        weight_left -= weights[tenant];
    }
    Ok(entitled)
}

/// The least of got/entitled over the tenants that are entitled to anything:
/// 1 when everyone has at least its share, 0 when one is starved.
pub fn share_kept(rates: &[f64], entitled: &[f64]) -> Result<f64, FairnessError> {
    same_length(rates, entitled)?;
    check(rates, "a rate", false)?;
    check(entitled, "an entitlement", false)?;
    rates
        .iter()
        .zip(entitled)
        .filter(|(_, entitled)| **entitled > 0.0)
        .map(|(rate, entitled)| (rate / entitled).min(1.0))
        .min_by(f64::total_cmp)
        .ok_or(FairnessError::Nothing)
}

fn same_length(left: &[f64], right: &[f64]) -> Result<(), FairnessError> {
    if left.len() == right.len() {
        Ok(())
    } else {
        Err(FairnessError::Lengths {
            left: left.len(),
            right: right.len(),
        })
    }
}

fn check(values: &[f64], what: &'static str, above_zero: bool) -> Result<(), FairnessError> {
    if values.is_empty() {
        return Err(FairnessError::Nothing);
    }
    let is_wrong = |value: f64| !value.is_finite() || value < 0.0 || (above_zero && value == 0.0);
    match values.iter().position(|value| is_wrong(*value)) {
        Some(index) => Err(FairnessError::Value {
            index,
            value: values[index],
            what,
            least: if above_zero {
                "finite and above 0"
            } else {
                "finite and at least 0"
            },
        }),
        None => Ok(()),
    }
}

fn check_demands(demands: &[f64]) -> Result<(), FairnessError> {
    match demands
        .iter()
        .position(|demand| demand.is_nan() || *demand < 0.0)
    {
        Some(index) => Err(FairnessError::Value {
            index,
            value: demands[index],
            what: "a demand",
            least: "at least 0, or infinite",
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_at_its_ends_and_between() {
        assert_eq!(jain_index(&[3.0; 7]), Ok(1.0));
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Ok(0.25));
        // (1 + 2 + 3)² / (3 · 14)
        assert!((jain_index(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-12);
        assert_eq!(weighted_jain_index(&[1.0, 2.0], &[10.0, 20.0]), Ok(1.0));
        assert_eq!(jain_index(&[1e300, 1e300]), Ok(1.0));
    }

    #[test]
    fn who_wants_little_leaves_the_rest() {
        let inf = f64::INFINITY;
        let shares = entitlements(90.0, &[10.0, inf, inf], &[1.0, 1.0, 3.0]).unwrap();
        assert_eq!(shares, [10.0, 20.0, 60.0]);
        let all = entitlements(90.0, &[1.0, 2.0, 3.0], &[1.0, 1.0, 1.0]).unwrap();
        assert_eq!(all, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn the_share_kept_is_that_of_the_worst_off() {
        let kept = share_kept(&[10.0, 19.0, 200.0], &[10.0, 20.0, 60.0]);
        assert_eq!(kept, Ok(0.95));
        assert_eq!(share_kept(&[0.0, 1.0], &[1.0, 1.0]), Ok(0.0));
        assert_eq!(share_kept(&[5.0], &[0.0]), Err(FairnessError::Nothing));
    }

    #[test]
    fn what_cannot_be_shared_is_refused() {
        assert_eq!(jain_index(&[]), Err(FairnessError::Nothing));
        assert_eq!(jain_index(&[0.0, 0.0]), Err(FairnessError::Nothing));
        assert!(jain_index(&[1.0, -1.0]).is_err());
        assert!(weighted_jain_index(&[1.0], &[0.0]).is_err());
        assert!(weighted_jain_index(&[1.0], &[1.0, 2.0]).is_err());
        assert!(entitlements(f64::NAN, &[1.0], &[1.0]).is_err());
        assert!(entitlements(1.0, &[1.0, f64::NAN], &[1.0, 1.0]).is_err());
        let error = entitlements(1.0, &[-2.0], &[1.0]).unwrap_err();
        assert!(error.to_string().contains("has -2: a demand"), "{error}");
    }
}
