//! Where values lie on an axis and where its ticks are.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use trial::{Axis, Scale};

use crate::number;

/// Beyond this a linear span could overflow; no measured value comes near.
const LINEAR_MAX: f64 = 1e300;

/// A tick: its place in drawn coordinates and its label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// An axis fitted to its values. Drawn coordinates are the value itself or
/// its logarithm.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
}

impl Ruler {
    /// Fits `axis` to those `values` that it can show, with at most
    /// `ticks_max` ticks; `from_zero` keeps zero in sight of a linear axis.
    /// None when it can show none of them.
    pub(super) fn fit(
        axis: &Axis,
        values: impl IntoIterator<Item = f64>,
        from_zero: bool,
        ticks_max: usize,
    ) -> Option<Self> {
        let (low, high) = values
            .into_iter()
            .filter_map(|value| place(axis.scale, value))
            .fold(None, |span: Option<(f64, f64)>, at| match span {
                None => Some((at, at)),
                Some((low, high)) => Some((low.min(at), high.max(at))),
            })?;
        let zero = from_zero && axis.scale == Scale::Linear;
        let (low, high) = if zero {
            (low.min(0.0), high.max(0.0))
        } else {
            (low, high)
        };
        let (low, high) = pad(axis.scale, low, high, zero);
        let mut ruler = Self {
            scale: axis.scale,
            low,
            high,
            ticks: Vec::new(),
        };
        ruler.ticks = ruler
            .tick_values(ticks_max)
            .into_iter()
            .filter_map(|value| {
                let at = ruler.place(value)?;
                Some(Tick {
                    at,
                    label: label(value, &axis.unit),
                })
            })
            .filter(|tick| (low..=high).contains(&tick.at))
            .collect();
        Some(ruler)
    }

    /// The drawn coordinate of a value; None where the axis cannot show it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        place(self.scale, value)
    }

    fn tick_values(&self, ticks_max: usize) -> Vec<f64> {
        let logarithmic = match self.scale {
            Scale::Linear => Vec::new(),
            Scale::Log2 => self.powers(2.0, ticks_max),
            Scale::Log10 => self.round_digits(ticks_max),
        };
        if logarithmic.len() >= 2 {
            return logarithmic;
        }
        steps(self.value(self.low), self.value(self.high), ticks_max)
    }

    /// The value drawn at a coordinate.
    fn value(&self, at: f64) -> f64 {
        match self.scale {
            Scale::Linear => at,
            Scale::Log2 => at.exp2(),
            Scale::Log10 => 10f64.powf(at),
        }
    }

    fn powers(&self, base: f64, ticks_max: usize) -> Vec<f64> {
        // Exponents of an f64 are within ±1,100: they fit.
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let fits = |every: &i32| (first..=last).filter(|e| e % every == 0).count() <= ticks_max;
        let every = (1..).find(fits).unwrap_or(i32::MAX);
        (first..=last)
            .filter(|e| e % every == 0)
            .map(|e| base.powi(e))
            .collect()
    }

    fn round_digits(&self, ticks_max: usize) -> Vec<f64> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        if last - first <= 8 {
            for digits in [
                &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0][..],
                &[1.0, 2.0, 5.0],
                &[1.0, 3.0],
            ] {
                let values: Vec<f64> = (first..=last)
                    .flat_map(|e| digits.iter().map(move |digit| digit * 10f64.powi(e)))
                    .filter(|value| (self.low..=self.high).contains(&value.log10()))
                    .collect();
                if (2..=ticks_max).contains(&values.len()) {
                    return values;
                }
            }
        }
        self.powers(10.0, ticks_max)
    }
}

/// `plotters` draws axis, grid and labels from this. Its own logarithmic ranges
/// choose ticks that nobody would say, so the ruler brings its own.
impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (at - self.low) / (self.high - self.low);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.ticks.iter().map(|tick| tick.at).collect(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, at: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.at == *at);
        tick.map_or_else(String::new, |tick| tick.label.clone())
    }
}

fn place(scale: Scale, value: f64) -> Option<f64> {
    match scale {
        Scale::Linear => (value.abs() <= LINEAR_MAX).then_some(value),
        Scale::Log2 => (value.is_finite() && value > 0.0).then(|| value.log2()),
        Scale::Log10 => (value.is_finite() && value > 0.0).then(|| value.log10()),
    }
}

/// Room around the outermost marks; a lone value gets a span of its own.
fn pad(scale: Scale, low: f64, high: f64, zero: bool) -> (f64, f64) {
    let span = high - low;
    if span <= low.abs().max(high.abs()) * 1e-9 {
        let half = match scale {
            // Half of the smallest number there is would be nothing.
            Scale::Linear if low != 0.0 => (low.abs() * 0.5).max(f64::MIN_POSITIVE),
            Scale::Linear => 1.0,
            Scale::Log2 | Scale::Log10 => 1.0,
        };
        return (low - half, high + half);
    }
    let room = span * if scale == Scale::Linear { 0.06 } else { 0.04 };
    match zero {
        true if low == 0.0 => (low, high + room),
        true if high == 0.0 => (low - room, high),
        _ => (low - room, high + room),
    }
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
    if size >= 1000.0 || size == 0.0 || size < 1e-4 {
        return number::number(value);
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, unit: &str) -> Axis {
        Axis {
            label: "a".to_owned(),
            unit: unit.to_owned(),
            scale,
        }
    }

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let ruler = Ruler::fit(axis, values.iter().copied(), true, 7).unwrap();
        ruler.ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn block_sizes_read_as_people_write_them() {
        assert_eq!(
            labels(&axis(Scale::Log2, "bytes"), &[64.0, 65536.0]),
            ["64", "256", "1 KiB", "4 KiB", "16 KiB", "64 KiB"]
        );
    }

    #[test]
    fn decades_and_their_halves() {
        assert_eq!(
            labels(&axis(Scale::Log10, "MB/s"), &[7.0, 13349.0]),
            ["10", "30", "100", "300", "1,000", "3,000", "10,000"]
        );
        assert_eq!(
            labels(&axis(Scale::Log10, ""), &[0.5, 2.0]),
            ["0.5", "0.7", "1", "1.5", "2"]
        );
        assert_eq!(
            labels(&axis(Scale::Log10, "requests/s"), &[1.0, 1e9]),
            ["1", "100", "10,000", "1 M", "100 M"]
        );
    }

    #[test]
    fn linear_ticks_are_round_and_start_at_zero() {
        assert_eq!(
            labels(&axis(Scale::Linear, "MB/s"), &[4000.0, 13349.0]),
            ["0", "5,000", "10,000"]
        );
        assert_eq!(
            labels(&axis(Scale::Linear, ""), &[0.31, 1.2]),
            ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]
        );
    }

    #[test]
    fn what_an_axis_cannot_show_has_no_place() {
        let log = Ruler::fit(&axis(Scale::Log10, ""), [1.0, 0.0, -3.0, f64::NAN], true, 7).unwrap();
        for value in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            assert_eq!(log.place(value), None, "{value}");
        }
        assert!(Ruler::fit(&axis(Scale::Log2, ""), [0.0, f64::NAN], true, 7).is_none());
    }

    #[test]
    fn every_span_gives_ordered_ticks_within_it() {
        let extremes = [
            0.0,
            5e-324,
            1e-300,
            1.0,
            1.0 + 1e-15,
            1e15,
            1e299,
            -1e299,
            1e308,
            f64::MAX,
            -1.0,
        ];
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for low in extremes {
                for high in extremes {
                    for from_zero in [false, true] {
                        let Some(ruler) =
                            Ruler::fit(&axis(scale, "bytes"), [low, high], from_zero, 7)
                        else {
                            continue;
                        };
                        let span = ruler.low..=ruler.high;
                        assert!(ruler.low < ruler.high, "{scale:?} {low} {high}");
                        assert!(ruler.ticks.len() <= 8, "{scale:?} {low} {high}");
                        assert!(ruler.ticks.iter().all(|tick| span.contains(&tick.at)));
                    }
                }
            }
        }
    }
}
