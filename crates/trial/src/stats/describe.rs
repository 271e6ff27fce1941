//! Figures that describe one list of values.

/// The middle value, or the mean of the two middle ones. `None` when there is
/// no value or one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which a share `q` (0 to 1, clamped) of the values lies, by
/// linear interpolation between order statistics (Hyndman and Fan, 1996, type
/// 7). `None` when there is no value, or one of them or `q` is not finite.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() || !q.is_finite() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(quantile_of_sorted(&sorted, q))
}

/// [`quantile`] of values that are finite, sorted and at least one.
pub(super) fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    let place = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    let share = place.fract();
    // Weighted this way round, two equal neighbours give exactly their value.
    if below == above {
        below
    } else {
        below * (1.0 - share) + above * share
    }
}

#[cfg(test)]
mod tests {
    use super::{median, quantile};

    #[test]
    fn medians_of_odd_and_even_lists() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn quantiles_interpolate_and_clamp() {
        let values = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(quantile(&values, 0.25), Some(20.0));
        assert_eq!(quantile(&values, 0.9), Some(46.0));
        assert_eq!(quantile(&values, -1.0), Some(10.0));
        assert_eq!(quantile(&values, 2.0), Some(50.0));
    }

    #[test]
    fn nothing_and_not_a_number_give_nothing() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(median(&[f64::INFINITY]), None);
    }
}
