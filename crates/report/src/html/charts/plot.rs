//! One chart on one canvas.

use plotters::chart::ChartBuilder;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};
use trial::{Axis, Chart};

use super::axis::Ruler;
use super::canvas::{self, Area, Failure, Pixel, bar, drawing, line, mark, width_px, words};
use super::palette::{GRID, INK, MUTED, UNITY};
use super::trace::Trace;
use super::{Look, labels};

/// The size of a canvas: one for the page and one for a telephone, whose letters
/// would be too small if it only shrank the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) class: &'static str,
    x_ticks_max: usize,
    y_ticks_max: usize,
    names_in_plot: bool,
}

pub(super) const WIDE: Frame = Frame {
    width: 640,
    height: 360,
    class: "wide",
    x_ticks_max: 8,
    y_ticks_max: 8,
    names_in_plot: true,
};

pub(super) const NARROW: Frame = Frame {
    width: 340,
    height: 290,
    class: "narrow",
    x_ticks_max: 6,
    y_ticks_max: 7,
    names_in_plot: false,
};

const TOP: i32 = 28;
const BOTTOM: i32 = 42;

pub(super) fn draw(chart: &Chart, frame: Frame) -> Option<Result<String, Failure>> {
    let (x, y) = rulers(chart, frame)?;
    let size = (frame.width, frame.height);
    Some(drawing(size, |area| fill(area, chart, &x, &y, frame)))
}

pub(super) fn names_in_plot(chart: &Chart, frame: Frame) -> bool {
    frame.names_in_plot && labels::width(&chart.series, plot_height(frame)).is_some()
}

/// The axes fitted to what can be shown on both. Rates are read against zero
/// and ratios against 1, so the axis shows that; it also starts there, unless
/// all ratios are so near 1 that zero would flatten their differences.
pub(super) fn rulers(chart: &Chart, frame: Frame) -> Option<(Ruler, Ruler)> {
    let x = Ruler::fit(
        &chart.x,
        chart.dots().map(|dot| dot.x),
        false,
        frame.x_ticks_max,
    )?;
    let shown = || chart.dots().filter(|dot| x.place(dot.x).is_some());
    let ys = || {
        shown()
            .flat_map(|dot| [Some(dot.y), dot.low, dot.high])
            .flatten()
    };
    let ratio = chart.y.unit.is_empty();
    let near_one = ratio && ys().all(|y| y > 0.5);
    // Without a dot to show, a line at 1 would be a chart of nothing.
    Ruler::fit(&chart.y, shown().map(|dot| dot.y), false, frame.y_ticks_max)?;
    let values = ys().chain(ratio.then_some(1.0));
    let y = Ruler::fit(&chart.y, values, !near_one, frame.y_ticks_max)?;
    Some((x, y))
}

fn plot_height(frame: Frame) -> i32 {
    frame.height as i32 - TOP - BOTTOM
}

fn fill(area: &Area<'_>, chart: &Chart, x: &Ruler, y: &Ruler, frame: Frame) -> Result<(), Failure> {
    let left = 14
        + y.ticks
            .iter()
            .map(|tick| width_px(&tick.label))
            .max()
            .unwrap_or(0);
    let names = frame
        .names_in_plot
        .then(|| labels::width(&chart.series, plot_height(frame)));
    let right = names.flatten().map_or(16, |width| width + 34);
    let mut plot = ChartBuilder::on(area)
        .margin_top(TOP)
        .margin_right(right)
        .x_label_area_size(BOTTOM)
        .y_label_area_size(left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    plot.configure_mesh()
        .bold_line_style(GRID.ink())
        .light_line_style(RGBColor(0, 0, 0).mix(0.0))
        .axis_style(MUTED.ink())
        .set_all_tick_mark_size(4)
        .label_style(canvas::text_style(MUTED, HPos::Center, VPos::Center))
        .draw()?;
    let pixel = |x: f64, y: f64| plot.backend_coord(&(x, y));
    let (from, to) = (pixel(x.low, y.low), pixel(x.high, y.high));
    axis_names(area, chart, from, to, frame)?;
    line_at_one(area, chart, y, from, to, pixel)?;
    let traces: Vec<Trace> = chart
        .series
        .iter()
        .map(|series| Trace::of(series, x, y, pixel))
        .collect();
    for (trace, look) in traces.iter().zip(Look::of_all(&chart.series)) {
        draw_trace(area, trace, look)?;
    }
    match names.flatten() {
        Some(_) => draw_names(area, chart, &traces, from, to),
        None => Ok(()),
    }
}

fn axis_names(
    area: &Area<'_>,
    chart: &Chart,
    from: Pixel,
    to: Pixel,
    frame: Frame,
) -> Result<(), Failure> {
    // Above the axis and level: sideways words are hard to read.
    words(area, &axis_name(&chart.y), (2, 11), INK, HPos::Left)?;
    let below = (to.0.midpoint(from.0), frame.height as i32 - 9);
    words(area, &axis_name(&chart.x), below, INK, HPos::Center)
}

pub(super) fn axis_name(axis: &Axis) -> String {
    match axis.unit.as_str() {
        "" => axis.label.clone(),
        unit => format!("{}, {unit}", axis.label),
    }
}

fn line_at_one(
    area: &Area<'_>,
    chart: &Chart,
    y: &Ruler,
    from: Pixel,
    to: Pixel,
    pixel: impl Fn(f64, f64) -> Pixel,
) -> Result<(), Failure> {
    let at = y.place(1.0).filter(|at| (y.low..=y.high).contains(at));
    let Some(at) = at.filter(|_| chart.y.unit.is_empty()) else {
        return Ok(());
    };
    let (_, height) = pixel(0.0, at);
    line(area, vec![(from.0, height), (to.0, height)], UNITY, 1)
}

fn draw_trace(area: &Area<'_>, trace: &Trace, look: Look) -> Result<(), Failure> {
    for (x, top, bottom) in &trace.whiskers {
        bar(area, (*x, *top), (x + 1, *bottom), look.colour)?;
        for end in [top, bottom] {
            bar(area, (x - 3, *end), (x + 4, end + 1), look.colour)?;
        }
    }
    for places in &trace.lines {
        line(area, places.clone(), look.colour, 2)?;
    }
    for (at, hollow) in &trace.marks {
        mark(area, *at, look.shape, look.colour, *hollow)?;
    }
    Ok(())
}

fn draw_names(
    area: &Area<'_>,
    chart: &Chart,
    traces: &[Trace],
    from: Pixel,
    to: Pixel,
) -> Result<(), Failure> {
    let ends: Vec<Pixel> = traces.iter().map(|trace| trace.end.unwrap_or(to)).collect();
    let wanted: Vec<i32> = ends.iter().map(|(_, y)| *y).collect();
    let heights = labels::spread(&wanted, to.1, from.1);
    let looks = Look::of_all(&chart.series);
    for (((series, look), height), end) in chart.series.iter().zip(looks).zip(heights).zip(ends) {
        // A leader only where the name is beside its line's end.
        if end.0 > to.0 - 60 {
            let leader = vec![(end.0 + 7, end.1), (to.0 + 10, height)];
            line(area, leader, UNITY, 1)?;
        }
        mark(area, (to.0 + 18, height), look.shape, look.colour, false)?;
        words(area, &series.name, (to.0 + 28, height), INK, HPos::Left)?;
    }
    Ok(())
}
