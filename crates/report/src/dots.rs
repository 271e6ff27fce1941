//! A chart over named places as text: one line a place, one letter a series.

use trial::{Chart, Scale, Series};

use crate::number::number;
use crate::scale;
use crate::words::heading;
use sys::plain::one_line;

/// Least and most columns of a line for marks.
const MARKS: (usize, usize) = (24, 72);
const NAME_MAX: usize = 28;
/// Signs of series, the first for what is measured, then the yardsticks'.
const SIGNS: [char; 12] = ['#', 'o', 's', 'D', 'd', 'r', '|', '+', 'x', '*', '%', '@'];
const SEVERAL: char = '&';

/// The lines of the picture, within `width` columns: the legend, one line per place,
/// the axis. Empty where the chart has no places or nothing to show.
pub(crate) fn lines(chart: &Chart, width: usize) -> Vec<String> {
    let span = scale::span(chart.y.scale, chart.dots().map(|dot| dot.y));
    let Some((low, high)) = span.filter(|_| !chart.places.is_empty()) else {
        return Vec::new();
    };
    let names: Vec<String> = chart.places.iter().map(|name| short(name)).collect();
    let indent = names.iter().map(|name| name.chars().count()).max();
    let indent = indent.unwrap_or(0) + 2;
    let columns = width.saturating_sub(indent + 2).clamp(MARKS.0, MARKS.1);
    let column = |value: f64| {
        let share = if high > low {
            (scale::place(chart.y.scale, value)? - low) / (high - low)
        } else {
            0.5
        };
        Some((share * (columns - 1) as f64).round() as usize)
    };
    let line = |(place, name): (usize, &String)| {
        let marks = marks(&chart.series, place, columns, column);
        format!("  {name:<indent$}{marks}").trim_end().to_owned()
    };
    let [least, most] = [low, high].map(|at| number(scale::value(chart.y.scale, at)));
    let room = columns.saturating_sub(least.chars().count());
    let axis = format!("  {:indent$}{least}{most:>room$}", "");
    let mut lines = vec![format!("  {}", legend(chart))];
    lines.extend(names.iter().enumerate().map(line));
    lines.push(axis);
    lines
}

fn sign(series: usize) -> char {
    SIGNS[series % SIGNS.len()]
}

/// The marks of one place; the measured series is never hidden.
fn marks(
    series: &[Series],
    place: usize,
    columns: usize,
    column: impl Fn(f64) -> Option<usize>,
) -> String {
    let mut marks = vec![' '; columns];
    for (index, series) in series.iter().enumerate() {
        let dots = series.dots.iter().filter(|dot| dot.x == place as f64);
        for at in dots.filter_map(|dot| column(dot.y)) {
            marks[at] = match marks[at] {
                ' ' => sign(index),
                taken if taken == sign(0) => taken,
                _ => SEVERAL,
            };
        }
    }
    marks.into_iter().collect()
}

fn legend(chart: &Chart) -> String {
    let names = chart.series.iter().enumerate();
    let names = names.filter(|(_, series)| !series.dots.is_empty());
    let names = names.map(|(index, series)| format!("{} {}", sign(index), one_line(&series.name)));
    let names: Vec<_> = names.collect();
    let scale = match chart.y.scale {
        Scale::Linear => "",
        Scale::Log2 | Scale::Log10 => ", logarithmic",
    };
    format!(
        "{}; {SEVERAL} several; {}{scale}",
        names.join(", "),
        heading(&chart.y.label, &chart.y.unit)
    )
}

fn short(name: &str) -> String {
    let name = one_line(name);
    if name.chars().count() <= NAME_MAX {
        return name;
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use trial::{Axis, Dot};

    use super::*;

    fn chart(series: Vec<(&str, Vec<(f64, f64)>)>) -> Chart {
        let line = |(name, dots): (&str, Vec<(f64, f64)>)| {
            Series::measured(name, dots.into_iter().map(|(x, y)| Dot::at(x, y)).collect())
        };
        Chart {
            title: String::new(),
            note: String::new(),
            x: Axis::new("algorithm", "", Scale::Linear),
            y: Axis::new("speed", "MB/s", Scale::Log10),
            places: vec!["sha256".to_owned(), "aes-128-cbc".to_owned()],
            series: series.into_iter().map(line).collect(),
            command: String::new(),
        }
    }

    #[test]
    fn each_place_has_a_line_and_each_series_its_sign() {
        let chart = chart(vec![
            ("engine", vec![(0.0, 100.0), (1.0, 1000.0)]),
            ("ring", vec![(0.0, 10.0), (1.0, 1000.0)]),
        ]);
        let lines = lines(&chart, 40);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[0].contains("# engine, o ring") && lines[0].contains("speed"));
        assert_eq!(lines[1], format!("  sha256       o{}#", " ".repeat(11)));
        assert!(lines[2].ends_with('#') && !lines[2].contains('o'));
        assert!(lines[3].contains("10") && lines[3].ends_with("1,000"));
        assert!(lines.iter().all(|line| line.chars().count() <= 60));
    }

    #[test]
    fn nothing_to_show_is_no_picture() {
        assert!(lines(&chart(vec![("engine", vec![(0.0, 0.0)])]), 80).is_empty());
        let one = lines(&chart(vec![("engine", vec![(0.0, 5.0), (9.0, 5.0)])]), 80);
        assert_eq!(one.iter().filter(|line| line.contains('#')).count(), 2);
    }
}
