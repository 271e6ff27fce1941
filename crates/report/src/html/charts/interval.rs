//! Ratios with their intervals, drawn on one scale for all rows of a table.

use plotters::style::text_anchor::HPos;
use trial::{Axis, Comparison, Outcome, Scale};

use super::axis::Ruler;
use super::canvas::{Area, Failure, SHAPES, bar, drawing, line, mark, words};
use super::palette::{GRID, INK, MUTED, REFERENCE, UNITY};
use crate::html::markup::Html;

const WIDTH: i32 = 300;
const HEIGHT: i32 = 24;
const MARGIN: i32 = 16;

/// A logarithmic scale of ratios: twice and half are equally far from 1.
pub(in crate::html) struct RatioScale(Ruler);

impl RatioScale {
    /// The scale that holds every interval, every target and 1.
    pub(in crate::html) fn of(comparisons: &[Comparison]) -> Option<Self> {
        let axis = Axis::new("", "", Scale::Log10);
        let values = comparisons.iter().flat_map(|c| {
            [
                Some(c.low),
                Some(c.ratio),
                Some(c.high),
                c.target.map(|target| target.at_least),
            ]
        });
        Ruler::fit(&axis, values.flatten().chain([1.0]), false, 6).map(Self)
    }

    pub(in crate::html) fn head(&self) -> Html {
        picture(|area| {
            for tick in &self.0.ticks {
                let x = self.pixel(tick.at);
                words(area, &tick.label, (x, HEIGHT / 2 - 2), MUTED, HPos::Center)?;
                bar(area, (x, HEIGHT - 4), (x + 1, HEIGHT), MUTED)?;
            }
            Ok(())
        })
    }

    /// One ratio: its interval, the line at 1, and the target dashed. Words
    /// beside it say the same, so it is hidden from screen readers.
    pub(in crate::html) fn row(&self, comparison: &Comparison) -> Html {
        let place = |value: f64| self.0.place(value).map(|at| self.pixel(at));
        picture(|area| {
            bar(area, (0, HEIGHT / 2), (WIDTH, HEIGHT / 2 + 1), GRID)?;
            if let Some(x) = place(1.0) {
                bar(area, (x, 0), (x + 1, HEIGHT), UNITY)?;
            }
            if let Some(x) = comparison.target.and_then(|target| place(target.at_least)) {
                line(area, vec![(x, 0), (x, HEIGHT)], REFERENCE[3], 2)?;
            }
            if let (Some(low), Some(high)) = (place(comparison.low), place(comparison.high)) {
                whisker(area, low, high)?;
            }
            let hollow = comparison.outcome == Outcome::NoEvidence;
            place(comparison.ratio).map_or(Ok(()), |x| {
                mark(area, (x, HEIGHT / 2), SHAPES[0], INK, hollow)
            })
        })
    }

    fn pixel(&self, at: f64) -> i32 {
        self.0.pixel(at, (MARGIN, WIDTH - MARGIN))
    }
}

fn whisker(area: &Area<'_>, low: i32, high: i32) -> Result<(), Failure> {
    let middle = HEIGHT / 2;
    bar(area, (low, middle - 1), (high, middle + 1), INK)?;
    bar(area, (low, middle - 5), (low + 1, middle + 5), INK)?;
    bar(area, (high, middle - 5), (high + 1, middle + 5), INK)
}

fn picture(draw: impl FnOnce(&Area<'_>) -> Result<(), Failure>) -> Html {
    let size = (WIDTH as u32, HEIGHT as u32);
    let attributes = [("class", "interval"), ("aria-hidden", "true")];
    drawing(size, draw).map_or_else(
        |_| Html::empty(),
        |svg| Html::drawing(&svg, &attributes, []),
    )
}
