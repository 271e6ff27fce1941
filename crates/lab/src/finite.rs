//! JSON has no NaN and no infinity: one of them in a result would make the
//! whole file unreadable, so they are stopped where they come in.

use trial::{Cell, Event, Metric};

/// The name of the first that has a number that is not finite, if there is one.
pub(crate) fn not_finite(event: &Event) -> Option<String> {
    let (kind, name, numbers): (_, &str, Vec<f64>) = match event {
        Event::Progress(..) | Event::Finding(_) => return None,
        Event::Point(point) => {
            let is_broken = |metric: &&Metric| {
                !metric.value.is_finite() || !metric.samples.iter().all(|one| one.is_finite())
            };
            let metric = point.metrics.iter().find(is_broken)?;
            return Some(format!("metric '{}'", metric.name));
        }
        Event::Comparison(one) => {
            let pairs = one
                .pairs
                .iter()
                .flat_map(|(arm, reference)| [*arm, *reference]);
            let own = [one.ratio, one.low, one.high, one.confidence];
            ("comparison", &one.subject, pairs.chain(own).collect())
        }
        Event::Price(price) => {
            let own = vec![price.ns, price.low_ns, price.high_ns];
            ("price", &price.crossing, own)
        }
        Event::Chart(chart) => {
            let dots = chart.series.iter().flat_map(|series| &series.dots);
            let numbers = dots.flat_map(|dot| [Some(dot.x), Some(dot.y), dot.low, dot.high]);
            ("chart", &chart.title, numbers.flatten().collect())
        }
        Event::Table(table) => {
            let number = |cell: &Cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            };
            let cells = table.rows.iter().flatten().filter_map(number);
            ("table", &table.title, cells.collect())
        }
    };
    let is_broken = !numbers.iter().all(|number| number.is_finite());
    is_broken.then(|| format!("{kind} '{name}'"))
}

#[cfg(test)]
mod tests {
    use trial::{Direction, Point};

    use super::*;
    use crate::testing::{point, table};

    #[test]
    fn what_holds_a_broken_number_is_named() {
        let of_metric = |value, samples| {
            let metric = Metric {
                name: "speed_mb_per_s".to_owned(),
                unit: "MB/s".to_owned(),
                direction: Direction::Higher,
                value,
                samples,
            };
            Event::Point(Point {
                metrics: vec![metric],
                ..point(1)
            })
        };
        let of_cell = |number| Event::Table(table(Cell::Number(number)));
        for (event, broken) in [
            (of_metric(1.0, vec![1.0]), None),
            (of_metric(f64::NAN, vec![]), Some("metric 'speed_mb_per_s'")),
            (
                of_metric(1.0, vec![f64::INFINITY]),
                Some("metric 'speed_mb_per_s'"),
            ),
            (of_cell(1.0), None),
            (of_cell(f64::NAN), Some("table 'Speeds'")),
        ] {
            assert_eq!(not_finite(&event).as_deref(), broken, "{event:?}");
        }
    }
}
