//! Values of rounds as marks of a chart, and entries of a table.

use trial::stats::median_interval;
use trial::{Axis, Cell as Entry, Column, Dot, Scale};

/// A mark: the median of one value a round with its 95% interval; none where
/// a value is no rate.
pub fn dot(x: f64, values: &[f64], valid: bool) -> Option<Dot> {
    let interval = median_interval(values).ok()?;
    let is_sound = values.len() > 1;
    Some(Dot {
        x,
        y: interval.estimate,
        low: is_sound.then_some(interval.low),
        high: is_sound.then_some(interval.high),
        valid,
    })
}

/// A column; no unit where it holds text.
pub fn column(label: impl Into<String>, unit: &str) -> Column {
    Column {
        label: label.into(),
        unit: unit.to_owned(),
    }
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
    Axis {
        label: "block size".to_owned(),
        unit: "bytes".to_owned(),
        scale: Scale::Log2,
    }
}

/// A mark of a yardstick.
pub fn dot_without_interval(x: f64, y: f64) -> Dot {
    Dot {
        x,
        y,
        low: None,
        high: None,
        valid: true,
    }
}
