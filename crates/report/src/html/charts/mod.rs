//! Charts: drawings with their names, notes, commands and data.

mod axis;
mod canvas;
mod data;
pub(super) mod interval;
mod key;
mod labels;
mod palette;
mod places;
mod plot;
mod ticks;
mod trace;

use sys::plain::one_line;
use trial::{Chart, Series, SeriesKind};

use self::canvas::{Failure, SHAPES, Shape};
use self::palette::{Colour, MEASURED, REFERENCE};
use self::plot::{NARROW, WIDE};
use super::markup::{Html, command, paragraph};

pub(super) use self::palette::style;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    colour: Colour,
    shape: Shape,
}

impl Look {
    /// Colours and shapes go round at lengths without a common divisor, so 56
    /// measured series look different from each other. Shapes go on from what
    /// is measured to the yardsticks: no seven series need their colours to be
    /// told apart.
    fn of_all(series: &[Series]) -> impl Iterator<Item = Self> {
        let (mut measured, mut reference) = (0, 0);
        series.iter().enumerate().map(move |(index, series)| {
            let (colours, own): (&[Colour], _) = match series.kind {
                SeriesKind::Measured => (&MEASURED, &mut measured),
                SeriesKind::Reference => (&REFERENCE, &mut reference),
            };
            *own += 1;
            Self {
                colour: colours[(*own - 1) % colours.len()],
                shape: SHAPES[index % SHAPES.len()],
            }
        })
    }
}

pub(super) fn figure(chart: &Chart) -> Html {
    Html::classed(
        "figure",
        "chart",
        [
            Html::words("h3", "", &chart.title),
            drawings(chart),
            legend(chart),
            Html::tag(
                "figcaption",
                [
                    paragraph("note", &chart.note),
                    paragraph("note", &key::words(chart)),
                    command(&chart.command),
                    data::table(chart),
                ],
            ),
        ],
    )
}

fn drawings(chart: &Chart) -> Html {
    let draw = if chart.places.is_empty() {
        plot::draw
    } else {
        places::draw
    };
    match [WIDE, NARROW].map(|frame| (frame, draw(chart, frame))) {
        [(wide, Some(Ok(large))), (narrow, Some(Ok(small)))] => Html::many([
            labelled(&large, &chart.title, wide.class),
            labelled(&small, &chart.title, narrow.class),
        ]),
        [(_, Some(Err(failure))), _] | [_, (_, Some(Err(failure)))] => {
            let words = format!("The chart could not be drawn: {failure}.");
            paragraph("nothing", &words)
        }
        _ => paragraph("nothing", NOTHING),
    }
}

const NOTHING: &str = "Nothing to draw: no point has a value that these axes can show.";

/// The drawing with a name for readers who cannot see it.
fn labelled(svg: &str, name: &str, class: &str) -> Html {
    let name = one_line(name);
    let attributes = [("class", class), ("role", "img"), ("aria-label", &name)];
    Html::drawing(svg, &attributes, [Html::words("title", "", &name)])
}

fn legend(chart: &Chart) -> Html {
    if chart.series.is_empty() {
        return Html::empty();
    }
    let names_in_plot = chart.places.is_empty() && plot::names_in_plot(chart, WIDE);
    let class = match names_in_plot {
        true => "legend narrow",
        false => "legend",
    };
    let series = chart.series.iter().zip(Look::of_all(&chart.series));
    // One without a mark only holds its look for other charts.
    let series = series.filter(|(series, _)| !series.dots.is_empty());
    let names = series.map(|(series, look)| {
        let swatch = swatch(look, chart.places.is_empty()).unwrap_or_default();
        Html::tag("li", [swatch, Html::text(&series.name)])
    });
    Html::classed("ul", class, names)
}

fn swatch(look: Look, has_line: bool) -> Result<Html, Failure> {
    let svg = canvas::drawing((30, 14), |area| {
        if has_line {
            canvas::line(area, vec![(1, 7), (29, 7)], look.colour, 2)?;
        }
        canvas::mark(area, (15, 7), look.shape, look.colour, false)
    })?;
    Ok(Html::drawing(&svg, &[("aria-hidden", "true")], []))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(kind: SeriesKind) -> Series {
        Series {
            name: String::new(),
            kind,
            dots: Vec::new(),
        }
    }

    #[test]
    fn one_measured_and_six_yardsticks_need_no_colour_to_be_told_apart() {
        let mut all = vec![series(SeriesKind::Measured)];
        all.extend((0..6).map(|_| series(SeriesKind::Reference)));
        let shapes: Vec<_> = Look::of_all(&all).map(|look| look.shape).collect();
        assert_eq!(shapes, SHAPES);
    }

    #[test]
    fn forty_measured_series_look_different() {
        let all: Vec<_> = (0..40).map(|_| series(SeriesKind::Measured)).collect();
        let looks: Vec<_> = Look::of_all(&all).collect();
        for (at, look) in looks.iter().enumerate() {
            assert!(!looks[..at].contains(look), "{at}");
        }
    }
}
