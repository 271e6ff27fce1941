//! Charts: drawings with their names, notes, commands and data.

mod axis;
mod canvas;
pub(super) mod interval;
mod labels;
mod palette;
mod plot;
mod trace;

use trial::{Axis, Chart, Dot, Series, SeriesKind};

use self::canvas::{Failure, SHAPES, Shape};
use self::palette::{Colour, MEASURED, REFERENCE};
use self::plot::{Frame, NARROW, WIDE};
use super::markup::{Html, command, details, one_line, paragraph};
use crate::number::{bytes, number};

pub(super) use self::palette::style;

/// How a series is told from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    colour: Colour,
    shape: Shape,
}

impl Look {
    /// Colours and shapes go round at lengths without a common divisor, so 40
    /// measured series look different from each other.
    fn of_all(series: &[Series]) -> impl Iterator<Item = Self> {
        let (mut measured, mut reference) = (0, 0);
        series.iter().map(move |series| match series.kind {
            SeriesKind::Measured => {
                measured += 1;
                Self::at(&MEASURED, measured - 1)
            }
            SeriesKind::Reference => {
                reference += 1;
                Self::at(&REFERENCE, reference - 1)
            }
        })
    }

    fn at(colours: &[Colour], index: usize) -> Self {
        Self {
            colour: colours[index % colours.len()],
            shape: SHAPES[index % SHAPES.len()],
        }
    }
}

/// A chart as a figure.
pub(super) fn figure(chart: &Chart) -> Html {
    Html::classed(
        "figure",
        "chart",
        [
            Html::tag("h3", [Html::text(&chart.title)]),
            drawings(chart),
            legend(chart),
            Html::tag(
                "figcaption",
                [
                    paragraph("note", &chart.note),
                    paragraph("note", &key(chart)),
                    command(&chart.command),
                    data(chart),
                ],
            ),
        ],
    )
}

fn drawings(chart: &Chart) -> Html {
    Html::many([WIDE, NARROW].map(|frame| match plot::draw(chart, frame) {
        Some(Ok(svg)) => labelled(&svg, &chart.title, frame.class),
        Some(Err(failure)) => nothing(
            chart,
            frame,
            &format!("The chart could not be drawn: {failure}."),
        ),
        None => nothing(
            chart,
            frame,
            "Nothing to draw: no point has a value that these axes can show.",
        ),
    }))
}

/// Words in place of a drawing, once.
fn nothing(_chart: &Chart, frame: Frame, words: &str) -> Html {
    if frame.class == NARROW.class {
        Html::empty()
    } else {
        paragraph("nothing", words)
    }
}

/// The drawing with a name for those who cannot see it.
fn labelled(svg: &str, name: &str, class: &str) -> Html {
    let title = Html::tag("title", [Html::text(one_line(name))]).into_string();
    let inner = svg.split_once(">\n").map_or("", |(_, inner)| inner);
    let head = svg.split_once(">\n").map_or("", |(head, _)| head);
    let label = one_line(name);
    // Attribute order and escaping come from the element; the drawing's own
    // head, written by plotters, gives its size.
    let opening = Html::element(
        "svg",
        &[("class", class), ("role", "img"), ("aria-label", &label)],
        [],
    )
    .into_string();
    let opening = opening.strip_suffix("></svg>").unwrap_or("<svg");
    let size = head.strip_prefix("<svg").unwrap_or("");
    Html::drawing(format!("{opening}{size}>{title}\n{inner}"))
}

fn legend(chart: &Chart) -> Html {
    if chart.series.is_empty() {
        return Html::empty();
    }
    let class = if plot::names_in_plot(chart, WIDE) {
        "legend narrow"
    } else {
        "legend"
    };
    let names = chart
        .series
        .iter()
        .zip(Look::of_all(&chart.series))
        .map(|(series, look)| {
            let swatch = swatch(look).map_or_else(|_| Html::empty(), Html::drawing);
            Html::tag("li", [swatch, Html::text(&series.name)])
        });
    Html::classed("ul", class, names)
}

fn swatch(look: Look) -> Result<String, Failure> {
    let svg = canvas::drawing((30, 14), |area| {
        canvas::line(area, vec![(1, 7), (29, 7)], look.colour, 2)?;
        canvas::mark(area, (15, 7), look.shape, look.colour, false)
    })?;
    Ok(svg.replacen("<svg", "<svg aria-hidden=\"true\"", 1))
}

/// What the signs in this drawing mean; signs it does not use are not named.
fn key(chart: &Chart) -> String {
    let dots = || chart.series.iter().flat_map(|series| &series.dots);
    let hidden = hidden(chart);
    let is_reference = |series: &Series| series.kind == SeriesKind::Reference;
    let signs = [
        (
            dots().any(|dot| !dot.valid),
            "Hollow marks are points whose verdict is not valid; lines pass them by.",
        ),
        (
            chart.series.iter().any(is_reference),
            "Dashed lines are yardsticks.",
        ),
        (
            dots().any(|dot| dot.low.is_some()),
            "Whiskers are intervals.",
        ),
    ];
    let mut key: Vec<String> = signs
        .iter()
        .filter(|(used, _)| *used)
        .map(|(_, words)| (*words).to_owned())
        .collect();
    match hidden {
        0 => {}
        1 => key.push("One point has no place on these axes (zero or less on a logarithmic axis, or not a number): see the data.".to_owned()),
        many => key.push(format!("{} points have no place on these axes (zero or less on a logarithmic axis, or not a number): see the data.", number(many as f64))),
    }
    key.join(" ")
}

/// How many dots the axes cannot show.
fn hidden(chart: &Chart) -> usize {
    let dots = || chart.series.iter().flat_map(|series| &series.dots);
    let Some((x, y)) = plot::rulers(chart, WIDE) else {
        return 0;
    };
    dots()
        .filter(|dot| !trace::is_drawable(dot, &x, &y))
        .count()
}

/// The chart's numbers as a table, for those who cannot see it or want them.
fn data(chart: &Chart) -> Html {
    let heads = [
        "series".to_owned(),
        plot::axis_name(&chart.x),
        plot::axis_name(&chart.y),
    ];
    let heads = heads
        .into_iter()
        .chain(["interval".to_owned(), "valid".to_owned()]);
    let head = Html::tag(
        "tr",
        heads.map(|head| Html::element("th", &[("scope", "col")], [Html::text(head)])),
    );
    let rows = chart
        .series
        .iter()
        .flat_map(|series| series.dots.iter().map(move |dot| (series, dot)));
    let rows = rows.map(|(series, dot)| row(chart, &series.name, dot));
    let table = Html::tag(
        "table",
        [Html::tag("thead", [head]), Html::tag("tbody", rows)],
    );
    details(
        "Data of this chart",
        [Html::classed("div", "scroll", [table])],
    )
}

fn row(chart: &Chart, name: &str, dot: &Dot) -> Html {
    let figure = |text: String| Html::classed("td", "number", [Html::text(text)]);
    let interval = match (dot.low, dot.high) {
        (None, None) => String::new(),
        (low, high) => {
            let end = |end: Option<f64>| end.map_or_else(|| "–".to_owned(), number);
            format!("{} to {}", end(low), end(high))
        }
    };
    Html::tag(
        "tr",
        [
            Html::tag("td", [Html::text(name)]),
            figure(on_axis(&chart.x, dot.x)),
            figure(on_axis(&chart.y, dot.y)),
            figure(interval),
            Html::tag("td", [Html::text(if dot.valid { "yes" } else { "no" })]),
        ],
    )
}

fn on_axis(axis: &Axis, value: f64) -> String {
    if axis.unit == "bytes" && value.is_finite() {
        bytes(value)
    } else {
        number(value)
    }
}
