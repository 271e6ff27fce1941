//! Where values lie on an axis: the value itself, or its logarithm.

use trial::Scale;

/// Beyond this a linear span could overflow; no measured value comes near.
const LINEAR_MAX: f64 = 1e300;

/// The coordinate of a value; `None` where the scale has none.
pub(crate) fn place(scale: Scale, value: f64) -> Option<f64> {
    let is_positive = value.is_finite() && value > 0.0;
    match scale {
        Scale::Linear => (value.abs() <= LINEAR_MAX).then_some(value),
        Scale::Log2 => is_positive.then(|| value.log2()),
        Scale::Log10 => is_positive.then(|| value.log10()),
    }
}

pub(crate) fn value(scale: Scale, at: f64) -> f64 {
    match scale {
        Scale::Linear => at,
        Scale::Log2 => at.exp2(),
        Scale::Log10 => 10_f64.powf(at),
    }
}

/// The least and the greatest coordinate of those values that have one.
pub(crate) fn span(scale: Scale, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let places = values.filter_map(|value| place(scale, value));
    places
        .map(|at| (at, at))
        .reduce(|(low, high), (at, _)| (low.min(at), high.max(at)))
}
