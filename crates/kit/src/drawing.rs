//! Values of rounds as marks of a chart, and entries of a table.

use trial::stats::{Interval, median_interval};
use trial::{Axis, Cell as Entry, Column, Dot, Scale};

/// A mark: the median of one value a round with its 95% interval; none where
/// a value is no rate.
pub fn dot(x: f64, values: &[f64], valid: bool) -> Option<Dot> {
    let Interval {
        estimate,
        low,
        high,
        ..
    } = median_interval(values).ok()?;
    let interval = (values.len() > 1).then_some((low, high));
    Some(marked((x, estimate), interval, valid))
}

/// A mark with its interval, if it has one.
pub fn marked((x, y): (f64, f64), interval: Option<(f64, f64)>, valid: bool) -> Dot {
    let (low, high) = interval.unzip();
    let at = Dot::at(x, y);
    Dot {
        low,
        high,
        valid,
        ..at
    }
}

/// A column; no unit where it holds text.
pub fn column(label: impl Into<String>, unit: &str) -> Column {
    Column::new(label, unit)
}

/// An entry of words.
pub fn text(text: impl Into<String>) -> Entry {
    Entry::Text(text.into())
}

/// An entry of one number, if there is one.
pub fn number(value: Option<f64>) -> Entry {
    value.map_or(Entry::Empty, Entry::Number)
}

pub fn block_axis() -> Axis {
    Axis::new("block size", "bytes", Scale::Log2)
}
