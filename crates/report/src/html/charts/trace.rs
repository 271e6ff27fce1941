//! A series on its way to the canvas: which of its dots become a line, marks
//! and whiskers.

use trial::{Dot, Series};

use super::axis::Ruler;
use super::canvas::Pixel;

/// With more dots than this a mark for each would hide the line.
const MARKS_MAX: usize = 120;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Trace {
    /// Lines through the valid dots; a dot that the axes cannot show ends one.
    pub(super) lines: Vec<Vec<Pixel>>,
    pub(super) marks: Vec<(Pixel, bool)>,
    pub(super) whiskers: Vec<(i32, i32, i32)>,
    pub(super) end: Option<Pixel>,
}

impl Trace {
    /// Traces `series` on its axes with `pixel` from drawn coordinates.
    pub(super) fn of(
        series: &Series,
        x: &Ruler,
        y: &Ruler,
        pixel: impl Fn(f64, f64) -> Pixel,
    ) -> Self {
        let dense = series.dots.len() > MARKS_MAX;
        let mut trace = Self {
            lines: vec![Vec::new()],
            ..Self::default()
        };
        for dot in &series.dots {
            let Some(at) = place(dot, x, y).map(|(x, y)| pixel(x, y)) else {
                trace.lines.push(Vec::new());
                continue;
            };
            trace.add(dot, at, dense);
            if !dense {
                trace.whiskers.extend(whisker(dot, x, y, &pixel));
            }
        }
        trace.lines.retain(|line| line.len() > 1);
        trace.lines.iter_mut().for_each(|line| *line = thin(line));
        trace
    }

    fn add(&mut self, dot: &Dot, at: Pixel, dense: bool) {
        self.end = Some(at);
        if dot.valid {
            self.lines
                .last_mut()
                .expect("there is always a line begun")
                .push(at);
        }
        let crowded =
            |(other, _): &(Pixel, bool)| (other.0 - at.0).abs() < 5 && (other.1 - at.1).abs() < 5;
        let skip = dense && (dot.valid || self.marks.last().is_some_and(crowded));
        if !skip {
            self.marks.push((at, !dot.valid));
        }
    }
}

pub(super) fn is_drawable(dot: &Dot, x: &Ruler, y: &Ruler) -> bool {
    place(dot, x, y).is_some()
}

fn place(dot: &Dot, x: &Ruler, y: &Ruler) -> Option<(f64, f64)> {
    Some((x.place(dot.x)?, y.place(dot.y)?))
}

fn whisker(
    dot: &Dot,
    x: &Ruler,
    y: &Ruler,
    pixel: &impl Fn(f64, f64) -> Pixel,
) -> Option<(i32, i32, i32)> {
    let at = x.place(dot.x)?;
    let (low, high) = (y.place(dot.low?)?, y.place(dot.high?)?);
    let ((x, bottom), (_, top)) = (pixel(at, low), pixel(at, high));
    Some((x, top.min(bottom), top.max(bottom)))
}

/// At most four places for each column of pixels, its first, highest, lowest
/// and last: the line looks the same.
fn thin(line: &[Pixel]) -> Vec<Pixel> {
    let mut out = Vec::new();
    for column in line.chunk_by(|a, b| a.0 == b.0) {
        let x = column[0].0;
        let ys = || column.iter().map(|(_, y)| *y);
        let (first, last) = (column[0].1, column[column.len() - 1].1);
        let (top, bottom) = (ys().min().unwrap_or(first), ys().max().unwrap_or(last));
        out.extend([first, top, bottom, last].map(|y| (x, y)));
        out.dedup();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::{Axis, Scale};

    fn dot(x: f64, y: f64, valid: bool) -> Dot {
        Dot {
            valid,
            ..Dot::at(x, y)
        }
    }

    fn trace(dots: Vec<Dot>) -> Trace {
        let axis = Axis::new("", "", Scale::Log10);
        let ruler = Ruler::fit(&axis, [1.0, 1e4], false, 7).unwrap();
        Trace::of(&Series::measured("s", dots), &ruler, &ruler, |x, y| {
            ((x * 100.0) as i32, (y * 100.0) as i32)
        })
    }

    #[test]
    fn lines_pass_invalid_dots_by() {
        let dots = [(1.0, 1.0, true), (10.0, 1e4, false), (100.0, 1.0, true)];
        let trace = trace(dots.map(|(x, y, valid)| dot(x, y, valid)).into());
        assert_eq!(trace.lines, [vec![(0, 0), (200, 0)]]);
        assert_eq!(
            trace.marks,
            [((0, 0), false), ((100, 400), true), ((200, 0), false)]
        );
    }

    #[test]
    fn lines_end_where_an_axis_cannot_follow() {
        let dots =
            [1.0, 10.0, 0.0, 1e3, 1e4].map(|y| dot(if y == 0.0 { 50.0 } else { y }, y, true));
        assert_eq!(
            trace(dots.to_vec()).lines,
            [[(0, 0), (100, 100)], [(300, 300), (400, 400)]]
        );
    }

    #[test]
    fn intervals_become_whiskers_unless_an_end_cannot_be_shown() {
        let sound = Dot {
            low: Some(1.0),
            high: Some(100.0),
            ..Dot::at(10.0, 10.0)
        };
        let zero = Dot {
            low: Some(0.0),
            ..sound
        };
        let trace = trace(vec![sound, zero]);
        assert_eq!(trace.whiskers, [(100, 0, 200)]);
    }

    #[test]
    fn ten_thousand_dots_stay_a_light_line() {
        let dots = (1..=10_000).map(|x| dot(f64::from(x), f64::from(x % 97 + 1), x % 5 != 0));
        let trace = trace(dots.collect());
        assert!(trace.lines[0].len() <= 4 * 401, "{}", trace.lines[0].len());
        assert!(trace.marks.len() < 2_000, "{}", trace.marks.len());
    }
}
