//! JSON has no NaN and no infinity: one of them in a result would make the
//! whole file unreadable, so they are stopped where they come in.

use trial::{Cell, Chart, Comparison, Dot, Event, Metric, Point, Table};

/// The name of the first number that is not finite, if there is one.
pub(crate) fn not_finite(event: &Event) -> Option<String> {
    match event {
        Event::Progress(..) | Event::Finding(_) => None,
        Event::Point(point) => in_point(point),
        Event::Comparison(comparison) => in_comparison(comparison),
        Event::Price(price) => {
            let fine = all_finite(&[price.ns, price.low_ns, price.high_ns]);
            (!fine).then(|| format!("price '{}'", price.crossing))
        }
        Event::Chart(chart) => in_chart(chart),
        Event::Table(table) => in_table(table),
    }
}

fn in_point(point: &Point) -> Option<String> {
    let broken = |metric: &&Metric| !metric.value.is_finite() || !all_finite(&metric.samples);
    point
        .metrics
        .iter()
        .find(broken)
        .map(|metric| format!("metric '{}'", metric.name))
}

fn in_comparison(comparison: &Comparison) -> Option<String> {
    let Comparison {
        ratio,
        low,
        high,
        confidence,
        pairs,
        ..
    } = comparison;
    let pairs = pairs
        .iter()
        .all(|(arm, reference)| all_finite(&[*arm, *reference]));
    let fine = all_finite(&[*ratio, *low, *high, *confidence]) && pairs;
    (!fine).then(|| format!("comparison '{}'", comparison.subject))
}

fn in_chart(chart: &Chart) -> Option<String> {
    let fine = |dot: &Dot| {
        all_finite(&[
            dot.x,
            dot.y,
            dot.low.unwrap_or(0.0),
            dot.high.unwrap_or(0.0),
        ])
    };
    let fine = chart
        .series
        .iter()
        .flat_map(|series| &series.dots)
        .all(fine);
    (!fine).then(|| format!("chart '{}'", chart.title))
}

fn in_table(table: &Table) -> Option<String> {
    let broken = |cell: &Cell| matches!(cell, Cell::Number(number) if !number.is_finite());
    table
        .rows
        .iter()
        .flatten()
        .any(broken)
        .then(|| format!("table '{}'", table.title))
}

fn all_finite(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use trial::Direction;

    use super::*;
    use crate::testing::point;

    #[test]
    fn a_broken_metric_is_named() {
        let metric = |value, samples| Metric {
            name: "speed_mb_per_s".to_owned(),
            unit: "MB/s".to_owned(),
            direction: Direction::Higher,
            value,
            samples,
        };
        let of = |metric| {
            not_finite(&Event::Point(Point {
                metrics: vec![metric],
                ..point(1)
            }))
        };
        assert_eq!(of(metric(1.0, vec![1.0])), None);
        assert_eq!(
            of(metric(f64::NAN, vec![])),
            Some("metric 'speed_mb_per_s'".to_owned())
        );
        assert!(of(metric(1.0, vec![f64::INFINITY])).is_some());
    }

    #[test]
    fn a_broken_cell_is_named() {
        let table = |cell| {
            let rows = vec![vec![Cell::Empty, cell]];
            let (title, note, command) = ("Speeds".to_owned(), String::new(), String::new());
            not_finite(&Event::Table(Table {
                title,
                note,
                columns: vec![],
                rows,
                command,
            }))
        };
        assert_eq!(table(Cell::Number(1.0)), None);
        assert_eq!(
            table(Cell::Number(f64::NAN)),
            Some("table 'Speeds'".to_owned())
        );
    }
}
