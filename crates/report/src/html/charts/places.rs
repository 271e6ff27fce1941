//! A chart over named places: one row a place, its values to the right.

use plotters::style::text_anchor::HPos;
use trial::{Chart, Dot};

use super::Look;
use super::axis::Ruler;
use super::canvas::{Area, Failure, bar, drawing, line, mark, width_px, words};
use super::palette::{GRID, INK, MUTED, UNITY};
use super::plot::{Frame, axis_name, rulers};

/// Height of a row: a line of text, and space.
const ROW_PX: i32 = 18;
const TOP: i32 = 44;
/// The figures again: a long chart is read at both ends.
const BOTTOM: i32 = 24;
const RIGHT: i32 = 24;
/// Names take no more than this share of the width.
const NAMES_SHARE: f64 = 0.42;
const PLACES_MAX: usize = 400;

/// Draws the chart; None where it has nothing that its axes can show.
pub(super) fn draw(chart: &Chart, frame: Frame) -> Option<Result<String, Failure>> {
    let (_, values) = rulers(chart, frame)?;
    let rows = chart.places.len().min(PLACES_MAX);
    let height = TOP + i32::try_from(rows).ok()? * ROW_PX + BOTTOM;
    let picture = Picture {
        chart,
        values,
        left: names_px(chart, frame),
        right: frame.width as i32 - RIGHT,
        bottom: height - BOTTOM,
        rows,
    };
    let size = (frame.width, u32::try_from(height).ok()?);
    Some(drawing(size, |area| picture.fill(area)))
}

fn names_px(chart: &Chart, frame: Frame) -> i32 {
    let widest = chart.places.iter().map(|name| width_px(name)).max();
    let most = (f64::from(frame.width) * NAMES_SHARE) as i32;
    (widest.unwrap_or(0) + 20).min(most)
}

struct Picture<'a> {
    chart: &'a Chart,
    values: Ruler,
    left: i32,
    right: i32,
    bottom: i32,
    rows: usize,
}

impl Picture<'_> {
    fn fill(&self, area: &Area<'_>) -> Result<(), Failure> {
        let name = axis_name(&self.chart.y);
        words(area, &name, (self.left, 11), INK, HPos::Left)?;
        self.grid(area)?;
        for (row, name) in self.chart.places.iter().take(self.rows).enumerate() {
            let y = row_px(row);
            bar(area, (self.left, y), (self.right, y + 1), GRID)?;
            let room = self.left - 12;
            words(area, &shortened(name, room), (room, y), INK, HPos::Right)?;
        }
        let looks = Look::of_all(&self.chart.series);
        let series: Vec<_> = self.chart.series.iter().zip(looks).collect();
        // The first is the one in question: on top of its yardsticks.
        for (series, look) in series.into_iter().rev() {
            for dot in &series.dots {
                self.dot(area, dot, look)?;
            }
        }
        Ok(())
    }

    fn grid(&self, area: &Area<'_>) -> Result<(), Failure> {
        for tick in &self.values.ticks {
            let x = self.pixel(tick.at);
            line(area, vec![(x, TOP - 8), (x, self.bottom)], GRID, 1)?;
            for y in [TOP - 16, self.bottom + 12] {
                words(area, &tick.label, (x, y), MUTED, HPos::Center)?;
            }
        }
        let is_ratio = self.chart.y.unit.is_empty();
        let inside = |at: &f64| (self.values.low..=self.values.high).contains(at);
        match self.values.place(1.0).filter(inside).filter(|_| is_ratio) {
            Some(at) => {
                let x = self.pixel(at);
                line(area, vec![(x, TOP - 8), (x, self.bottom)], UNITY, 1)
            }
            None => Ok(()),
        }
    }

    fn dot(&self, area: &Area<'_>, dot: &Dot, look: Look) -> Result<(), Failure> {
        let is_row = dot.x >= 0.0 && dot.x.fract() == 0.0 && dot.x < self.rows as f64;
        let Some(at) = self.values.place(dot.y).filter(|_| is_row) else {
            return Ok(());
        };
        let y = row_px(dot.x as usize);
        let end = |value: Option<f64>| value.and_then(|value| self.values.place(value));
        if let (Some(low), Some(high)) = (end(dot.low), end(dot.high)) {
            let (low, high) = (self.pixel(low), self.pixel(high));
            let (left, right) = (low.min(high), high.max(low));
            bar(area, (left, y), (right, y + 2), look.colour)?;
        }
        let at = (self.pixel(at), y);
        mark(area, at, look.shape, look.colour, !dot.valid)
    }

    fn pixel(&self, at: f64) -> i32 {
        self.values.pixel(at, (self.left, self.right))
    }
}

fn row_px(row: usize) -> i32 {
    TOP + ROW_PX / 2 + i32::try_from(row).unwrap_or(0) * ROW_PX
}

fn shortened(name: &str, room: i32) -> String {
    let mut name = name.to_owned();
    if width_px(&name) <= room {
        return name;
    }
    while !name.is_empty() && width_px(&name) + width_px("…") > room {
        name.pop();
    }
    name + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_to_its_room() {
        assert_eq!(shortened("aes-128-cbc", 200), "aes-128-cbc");
        let cut = shortened(&"chacha20".repeat(9), 100);
        assert!(cut.ends_with('…') && width_px(&cut) <= 100, "{cut}");
        assert_eq!(shortened("name", 0), "…");
    }
}
