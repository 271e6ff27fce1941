//! Where an axis has its ticks, and what they say.

use trial::{Axis, Scale};

use crate::number;
use crate::scale::{place, value};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// At most `ticks_max` round values within the drawn coordinates `low..=high`,
/// or one more where both ends are round.
pub(super) fn ticks(axis: &Axis, low: f64, high: f64, ticks_max: usize) -> Vec<Tick> {
    let values = values(axis.scale, low, high, ticks_max).into_iter();
    let ticks = values.filter_map(|value| {
        Some(Tick {
            at: place(axis.scale, value)?,
            label: label(value, &axis.unit),
        })
    });
    ticks
        .filter(|tick| (low..=high).contains(&tick.at))
        .collect()
}

fn values(scale: Scale, low: f64, high: f64, ticks_max: usize) -> Vec<f64> {
    let logarithmic = match scale {
        Scale::Linear => Vec::new(),
        Scale::Log2 => powers(2.0, low, high, ticks_max),
        Scale::Log10 => round_digits(low, high, ticks_max),
    };
    if logarithmic.len() >= 2 {
        return logarithmic;
    }
    steps(value(scale, low), value(scale, high), ticks_max)
}

/// Powers of the base, or every second, third … where they are too many.
fn powers(base: f64, low: f64, high: f64, ticks_max: usize) -> Vec<f64> {
    // Exponents of an f64 are within ±1,100: they fit.
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    let fits = |every: &i32| (first..=last).filter(|e| e % every == 0).count() <= ticks_max;
    let every = (1..).find(fits).unwrap_or(i32::MAX);
    (first..=last)
        .filter(|e| e % every == 0)
        .map(|e| base.powi(e))
        .collect()
}

fn round_digits(low: f64, high: f64, ticks_max: usize) -> Vec<f64> {
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    if last - first <= 8 {
        for digits in [
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0][..],
            &[1.0, 2.0, 5.0],
            &[1.0, 3.0],
        ] {
            let values: Vec<f64> = (first..=last)
                .flat_map(|e| digits.iter().map(move |digit| digit * 10f64.powi(e)))
                .filter(|value| (low..=high).contains(&value.log10()))
                .collect();
            if (2..=ticks_max).contains(&values.len()) {
                return values;
            }
        }
    }
    powers(10.0, low, high, ticks_max)
}

/// Multiples of 1, 2 or 5 times a power of ten within the span.
fn steps(low: f64, high: f64, ticks_max: usize) -> Vec<f64> {
    let rough = (high - low) / ticks_max.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    if !(step.is_normal() && low.is_finite()) {
        return vec![low];
    }
    let first = (low / step).ceil();
    (0..=ticks_max)
        .map(|index| (first + index as f64) * step)
        .filter(|value| *value <= high)
        // 0.1 + 0.2 must not be labelled 0.30000000000000004.
        .map(|value| (value / power).round() * power)
        .collect()
}

/// A tick's label: short, exact, without a unit unless the unit is bytes.
fn label(value: f64, unit: &str) -> String {
    if unit == "bytes" && value >= 1.0 {
        let text = number::bytes(value);
        return text.strip_suffix(" B").unwrap_or(&text).to_owned();
    }
    let size = value.abs();
    for (unit, suffix) in [(1e12, " T"), (1e9, " G"), (1e6, " M")] {
        if (unit..unit * 1e3).contains(&size) {
            return format!("{}{suffix}", short(value / unit));
        }
    }
    short(value)
}

fn short(value: f64) -> String {
    let size = value.abs();
    if (size >= 1000.0 && size.fract() == 0.0) || size < 1e-4 {
        return number::number(value);
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::axis::Ruler;
    use super::*;

    fn labels(scale: Scale, unit: &str, values: [f64; 2], from_zero: bool) -> Vec<String> {
        let ruler = Ruler::fit(&Axis::new("a", unit, scale), values, from_zero, 7).unwrap();
        ruler.ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_written_as_people_do() {
        for (scale, unit, values, expected) in [
            (
                Scale::Log2,
                "bytes",
                [64.0, 65536.0],
                "64|256|1 KiB|4 KiB|16 KiB|64 KiB",
            ),
            (
                Scale::Log10,
                "MB/s",
                [7.0, 13349.0],
                "10|30|100|300|1,000|3,000|10,000",
            ),
            (Scale::Log10, "", [0.5, 2.0], "0.5|0.7|1|1.5|2"),
            (
                Scale::Log10,
                "requests/s",
                [1.0, 1e9],
                "1|100|10,000|1 M|100 M",
            ),
            (Scale::Linear, "MB/s", [4000.0, 13349.0], "0|5,000|10,000"),
            (Scale::Linear, "", [0.31, 1.2], "0|0.2|0.4|0.6|0.8|1|1.2"),
        ] {
            assert_eq!(labels(scale, unit, values, true).join("|"), expected);
        }
    }

    #[test]
    fn neighbours_never_share_a_label() {
        let mut labels = labels(Scale::Linear, "s", [1000.2, 1000.8], false);
        assert!(labels.contains(&"1000.5".to_owned()), "{labels:?}");
        let all = labels.len();
        labels.dedup();
        assert_eq!(labels.len(), all);
    }
}
