//! Every point of a run as CSV (RFC 4180, lines ending in a bare newline).

use std::collections::BTreeSet;

use trial::{Metric, Point, Run, SectionResult};

/// Columns that every row has, beside one for each dimension.
const FIXED: [&str; 7] = [
    "section", "metric", "unit", "value", "verdict", "reason", "remedy",
];

/// One row for each point and metric: section, one column for each dimension that any
/// point has (empty where a point lacks it), metric, unit, value, verdict, reason,
/// remedy. A point without metrics has one row without a value. A dimension with the
/// name of a fixed column is written `dimension.<name>`. Values have every digit, and
/// no thousands separators. No cell, of a head or a row, is a formula: where it would begin
/// as one, an apostrophe stands before it.
pub fn render(run: &Run) -> String {
    let dimensions: BTreeSet<&str> = run
        .points()
        .flat_map(|point| point.dimensions.keys())
        .map(String::as_str)
        .collect();
    let heads = dimensions.iter().map(|name| match FIXED.contains(name) {
        true => format!("dimension.{name}"),
        false => (*name).to_owned(),
    });
    let head = row(std::iter::once("section".to_owned())
        .chain(heads)
        .chain(FIXED[1..].iter().map(ToString::to_string)));
    let rows = run
        .sections
        .iter()
        .flat_map(|section| section.points.iter().map(move |point| (section, point)));
    head + &rows
        .map(|(section, point)| point_rows(section, point, &dimensions))
        .collect::<String>()
}

fn point_rows(section: &SectionResult, point: &Point, dimensions: &BTreeSet<&str>) -> String {
    let coordinate = |name: &&str| {
        point
            .dimensions
            .get(*name)
            .map_or_else(String::new, ToString::to_string)
    };
    let write = |metric: Option<&Metric>| {
        let (name, unit, value) = metric.map_or_else(Default::default, |it| {
            (it.name.clone(), it.unit.clone(), value(it.value))
        });
        let verdict = &point.verdict;
        let last = [
            name,
            unit,
            value,
            verdict.validity.name().to_owned(),
            verdict.reason.clone(),
            verdict.remedy.clone(),
        ];
        row(std::iter::once(section.name.clone())
            .chain(dimensions.iter().map(coordinate))
            .chain(last))
    };
    match point.metrics.as_slice() {
        [] => write(None),
        metrics => metrics.iter().map(|metric| write(Some(metric))).collect(),
    }
}

fn value(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let plain = value.to_string();
    // 10^300 written out is not readable.
    if plain.len() > 24 {
        format!("{value:e}")
    } else {
        plain
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    cells
        .map(|cell| quoted(&cell))
        .collect::<Vec<_>>()
        .join(",")
        + "\n"
}

/// What a spreadsheet would compute: a text that begins as a formula does and is no
/// number. Outer space is no part of a cell for some of them; wide signs are signs.
fn is_formula(cell: &str) -> bool {
    const SIGNS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    cell.starts_with(['\t', '\n']) || cell.trim_start().starts_with(SIGNS) && !is_number()
}

/// As text only: what is not shown is left out, an apostrophe stands before a formula. In
/// quotes where necessary: separators, quotes, line ends, outer spaces.
fn quoted(cell: &str) -> String {
    let shown = sys::plain::lines(cell);
    let mark = if is_formula(&shown) { "'" } else { "" };
    let cell = &format!("{mark}{shown}");
    let special = cell.contains([',', '"', '\n']) || cell.trim() != cell;
    if special {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{quoted, value};

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (cell, expected) in [
            ("plain text", "plain text"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            (" led", "\" led\""),
            ("", ""),
            ("a\u{202e}b\u{1b}[2J\r\n", "\"ab[2J\n\""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }

    #[test]
    fn no_cell_is_a_formula() {
        for (cell, expected) in [
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("+cmd", "'+cmd"),
            ("-1+1", "'-1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'=1"),
            ("\n=1", "\"'\n=1\""),
            ("\tx", "'\tx"),
            (" =1", "' =1"),
            ("\u{200b}=1", "'=1"),
            ("\u{a0}=1", "'\u{a0}=1"),
            ("＝1", "'＝1"),
            ("-", "'-"),
            ("-inf", "'-inf"),
            ("+NaN", "'+NaN"),
            ("-1.5", "-1.5"),
            ("+2e3", "+2e3"),
            ("a=b", "a=b"),
        ] {
            assert_eq!(quoted(cell), expected, "{cell:?}");
        }
    }

    #[test]
    fn values_keep_every_digit() {
        assert_eq!(value(13349.27), "13349.27");
        assert_eq!(value(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(value(1e300), "1e300");
        assert_eq!(value(f64::NAN), "");
    }
}
