//! A chart's numbers as a table, for those who cannot see it or want them.

use trial::{Axis, Chart, Dot};

use super::plot::axis_name;
use crate::html::markup::{Html, details};
use crate::html::tables::grid;
use crate::number::{bytes, number};
use crate::words::place_name;

/// Every dot of the chart, in a table to open; nothing where there is none.
pub(super) fn table(chart: &Chart) -> Html {
    let dots = chart
        .series
        .iter()
        .flat_map(|series| series.dots.iter().map(move |it| (series, it)));
    let rows: Vec<Html> = dots
        .map(|(series, dot)| row(chart, &series.name, dot))
        .collect();
    if rows.is_empty() {
        return Html::empty();
    }
    let cell = |class: &str, name: &str| {
        Html::element(
            "th",
            &[("scope", "col"), ("class", class)],
            [Html::text(name)],
        )
    };
    let heads = [
        cell("", "series"),
        cell(
            if chart.places.is_empty() {
                "number"
            } else {
                ""
            },
            &head(&chart.x),
        ),
        cell("number", &head(&chart.y)),
        cell("number", "interval"),
        cell("", "valid"),
    ];
    let name = format!("Data of the chart: {}", chart.title);
    details(
        "Data of this chart",
        [grid(&name, Html::tag("tr", heads), rows)],
    )
}

fn head(axis: &Axis) -> String {
    if axis.unit == "bytes" {
        axis.label.clone()
    } else {
        axis_name(axis)
    }
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
            place(chart, dot.x),
            figure(on_axis(&chart.y, dot.y)),
            figure(interval),
            Html::tag("td", [Html::text(if dot.valid { "yes" } else { "no" })]),
        ],
    )
}

/// Where a mark stands: the name of its place, or a figure.
fn place(chart: &Chart, x: f64) -> Html {
    match place_name(chart, x) {
        Some(name) => Html::tag("td", [Html::text(name)]),
        None => Html::classed("td", "number", [Html::text(on_axis(&chart.x, x))]),
    }
}

fn on_axis(axis: &Axis, value: f64) -> String {
    if axis.unit == "bytes" && value.is_finite() {
        bytes(value)
    } else {
        number(value)
    }
}
