//! A chart's numbers as a table, for those who cannot see it or want them.

use trial::{Chart, Dot};

use crate::html::markup::{Html, details, head};
use crate::html::tables::grid;
use crate::number::number;
use crate::words::{heading, place_name, value};

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
    let x_class = if chart.places.is_empty() {
        "number"
    } else {
        ""
    };
    let heads = [
        head("", "series"),
        head(x_class, heading(&chart.x.label, &chart.x.unit)),
        head("number", heading(&chart.y.label, &chart.y.unit)),
        head("number", "interval"),
        head("", "valid"),
    ];
    let name = format!("Data of the chart: {}", chart.title);
    details("Data of this chart", [grid(&name, heads, rows)])
}

fn row(chart: &Chart, name: &str, dot: &Dot) -> Html {
    let interval = match (dot.low, dot.high) {
        (None, None) => String::new(),
        (low, high) => {
            let end = |end: Option<f64>| end.map_or_else(|| "–".to_owned(), number);
            format!("{} to {}", end(low), end(high))
        }
    };
    let place = match place_name(chart, dot.x) {
        Some(name) => Html::words("td", "", name),
        None => Html::words("td", "number", value(dot.x, &chart.x.unit)),
    };
    let cells = [
        Html::words("td", "", name),
        place,
        Html::words("td", "number", value(dot.y, &chart.y.unit)),
        Html::words("td", "number", interval),
        Html::words("td", "", if dot.valid { "yes" } else { "no" }),
    ];
    Html::tag("tr", cells)
}
