//! Where values lie on an axis.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use trial::{Axis, Scale};

use super::ticks::{Tick, ticks};
use crate::scale;

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
    /// Fits `axis` to those `values` that it can show, with at most `ticks_max`
    /// ticks; `from_zero` keeps zero in sight of a linear axis. `None` when it can
    /// show none of them.
    pub(super) fn fit(
        axis: &Axis,
        values: impl IntoIterator<Item = f64>,
        from_zero: bool,
        ticks_max: usize,
    ) -> Option<Self> {
        let (low, high) = scale::span(axis.scale, values.into_iter())?;
        let zero = from_zero && axis.scale == Scale::Linear;
        let (low, high) = if zero {
            (low.min(0.0), high.max(0.0))
        } else {
            (low, high)
        };
        let (low, high) = pad(axis.scale, low, high, zero);
        let ticks = ticks(axis, low, high, ticks_max);
        Some(Self {
            scale: axis.scale,
            low,
            high,
            ticks,
        })
    }

    /// The drawn coordinate of a value; None where the axis cannot show it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        scale::place(self.scale, value)
    }

    /// The pixel of a drawn coordinate on a line `from..to`.
    pub(super) fn pixel(&self, at: f64, (from, to): (i32, i32)) -> i32 {
        let share = (at - self.low) / (self.high - self.low);
        from + (share * f64::from(to - from)).round() as i32
    }
}

/// `plotters` draws axis, grid and labels from this. Its own logarithmic ranges
/// choose odd ticks, so the ruler brings its own.
impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, limit: (i32, i32)) -> i32 {
        self.pixel(*at, limit)
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

/// Room around the outermost marks; a single value gets a span of its own.
fn pad(scale: Scale, low: f64, high: f64, zero: bool) -> (f64, f64) {
    let span = high - low;
    if span <= low.abs().max(high.abs()) * 1e-9 {
        let half = match scale {
            // Half of the smallest number there is would be nothing.
            Scale::Linear if low != 0.0 => (low.abs() * 0.5).max(f64::MIN_POSITIVE),
            _ => 1.0,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, unit: &str) -> Axis {
        Axis::new("a", unit, scale)
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
        let spans = extremes
            .iter()
            .flat_map(|low| extremes.map(|high| [*low, high]));
        for (values, from_zero) in spans.flat_map(|span| [(span, false), (span, true)]) {
            for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
                let Some(ruler) = Ruler::fit(&axis(scale, "bytes"), values, from_zero, 7) else {
                    continue;
                };
                let span = ruler.low..=ruler.high;
                assert!(ruler.low < ruler.high, "{scale:?} {values:?}");
                assert!(ruler.ticks.len() <= 8, "{scale:?} {values:?}");
                assert!(ruler.ticks.iter().all(|tick| span.contains(&tick.at)));
            }
        }
    }
}
