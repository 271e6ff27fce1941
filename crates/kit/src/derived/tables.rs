//! Views as tables.

use trial::{Cell, Table};

use crate::derived::charts::Shows;
use crate::drawing::{column, number, text};
use crate::experiment::{Experiment, Results};
use crate::judged::judged;
use crate::series::Series;
use crate::spot::{Part, Spot};
use crate::subject::Subject;
use crate::view::{Cells, Sheet};

/// Values that must lie beyond a quantile; a hair less, since 100 × (1 − 0.9) is.
const BEYOND_MIN: f64 = 10.0 - 1e-6;

/// The table of a view; none where nothing was measured.
pub fn sheet<E: Experiment>(
    results: &Results<'_, E>,
    view: &Sheet<E::Place, E::Arm>,
) -> Option<Table> {
    let all = results.shown(view.only);
    let (heads, rows) = keyed(&all, view.across);
    let across = across(&all, view.across);
    let mut columns: Vec<_> = heads.iter().map(|name| column(heading(name), "")).collect();
    for cells in &view.columns {
        let (label, unit) = label(cells);
        columns.extend(across.iter().map(|part| match part {
            Some(part) if label.is_empty() => column(part.words.as_str(), unit),
            Some(part) => column(format!("{label}, {}", part.words), unit),
            None => column(label, unit),
        }));
    }
    let row = |(mut row, own): (Vec<Cell>, Shows<'_, E>)| {
        for cells in &view.columns {
            row.extend(across.iter().map(|part| {
                let is_own = |subject: &&&Subject<_, _>| {
                    part.is_none_or(|part| subject.spot.value(part.name) == Some(&part.value))
                };
                let subject = own.iter().find(is_own);
                subject.map_or(Cell::Empty, |subject| cell(results, cells, subject))
            }));
        }
        row
    };
    let mut rows: Vec<_> = rows.into_iter().map(row).collect();
    // What no row has is no column.
    for index in (heads.len()..columns.len()).rev() {
        if rows.iter().all(|row| row[index] == Cell::Empty) {
            columns.remove(index);
            rows.iter_mut().for_each(|row| drop(row.remove(index)));
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: view.title.clone(),
        note: view.note.clone(),
        columns,
        rows,
        command: results.command.to_owned(),
    })
}

/// Rows: what each says of the dimensions that tell them apart, and its subjects.
type Rows<'a, P, A> = Vec<(Vec<Cell>, Vec<&'a Subject<P, A>>)>;

/// The dimensions that rows name, and the rows: one for all that is called the same,
/// which differs in what stands side by side alone. What goes without saying parts no
/// rows, unless nothing else tells subjects apart: then its value is said.
fn keyed<'a, P, A>(
    all: &[&'a Subject<P, A>],
    across: Option<&'static str>,
) -> (Vec<&'static str>, Rows<'a, P, A>) {
    let is_across = |name: &str| across == Some(name);
    let mut heads = heads(all, is_across);
    let mut by_value = Vec::new();
    loop {
        let key = |spot: &Spot| {
            let said = heads.iter().map(|name| said(spot, name, &by_value));
            said.collect::<Vec<_>>()
        };
        let (rows, alike) = called(all, across, key);
        let lacking = alike.and_then(|(one, other)| {
            let parts = || one.parts().chain(other.parts());
            let untold = |part: &&Part| {
                let differs = one.value(part.name) != other.value(part.name);
                differs && !part.follows && !is_across(part.name) && !by_value.contains(&part.name)
            };
            let is_new = |part: &&Part| !heads.contains(&part.name);
            parts().filter(untold).find(is_new).or(parts().find(untold))
        });
        let Some(part) = lacking else {
            return (heads, rows);
        };
        by_value.push(part.name);
        if !heads.contains(&part.name) {
            heads.push(part.name);
        }
    }
}

/// Rows by their keys, and two subjects that would share a cell.
fn called<'a, P, A>(
    all: &[&'a Subject<P, A>],
    across: Option<&'static str>,
    key: impl Fn(&Spot) -> Vec<Cell>,
) -> (Rows<'a, P, A>, Option<(&'a Spot, &'a Spot)>) {
    let mut rows: Rows<'a, P, A> = Vec::new();
    let mut alike = None;
    for &subject in all {
        let own = key(&subject.spot);
        let Some((_, beside)) = rows.iter_mut().find(|(key, _)| *key == own) else {
            rows.push((own, vec![subject]));
            continue;
        };
        let is_beside =
            |other: &Spot| across.is_some_and(|name| other.value(name) != subject.spot.value(name));
        let other = beside.iter().find(|other| !is_beside(&other.spot));
        alike = alike.or(other.map(|other| (&other.spot, &subject.spot)));
        beside.push(subject);
    }
    (rows, alike)
}

/// What a row says of a dimension.
fn said(spot: &Spot, name: &'static str, by_value: &[&str]) -> Cell {
    match spot.part(name) {
        Some(part) if by_value.contains(&name) => text(part.value.to_string()),
        Some(part) if !part.words.is_empty() => text(part.words.as_str()),
        _ => Cell::Empty,
    }
}

/// The dimensions that rows name: those that have words, and differ in them or
/// in their value.
fn heads<P, A>(all: &[&Subject<P, A>], is_across: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut heads = Vec::new();
    let mut constant = Vec::new();
    for part in all.iter().flat_map(|subject| subject.spot.parts()) {
        if part.words.is_empty() || is_across(part.name) || heads.contains(&part.name) {
            continue;
        }
        let differs = |subject: &&Subject<P, A>| subject.spot.part(part.name) != Some(part);
        if all.iter().any(differs) {
            heads.push(part.name);
        } else if !constant.contains(&part.name) {
            constant.push(part.name);
        }
    }
    // A single row is called by something.
    if heads.is_empty() {
        constant.truncate(1);
        return constant;
    }
    heads
}

/// What stands side by side; one column where nothing does.
fn across<'a, P, A>(
    all: &[&'a Subject<P, A>],
    name: Option<&'static str>,
) -> Vec<Option<&'a Part>> {
    let Some(name) = name else {
        return vec![None];
    };
    let mut parts: Vec<Option<&Part>> = Vec::new();
    for part in all.iter().filter_map(|subject| subject.spot.part(name)) {
        if !parts.iter().flatten().any(|own| own.value == part.value) {
            parts.push(Some(part));
        }
    }
    parts
}

/// A dimension as people call it: its unit is with its values.
fn heading(name: &str) -> String {
    name.trim_end_matches("_bytes").replace('_', " ")
}

fn label<A>(cells: &Cells<A>) -> (&'static str, &'static str) {
    match cells {
        Cells::Value { label, unit, .. } => (label, unit),
        Cells::P99 => ("p99", "µs"),
        Cells::Latency(_, label) => (label, "µs"),
        Cells::Ratio(_, _, label) => (label, ""),
        Cells::Also(_, label) => (label, ""),
        Cells::Verdict => ("verdict", ""),
    }
}

fn cell<E: Experiment>(
    results: &Results<'_, E>,
    cells: &Cells<E::Arm>,
    subject: &Subject<E::Place, E::Arm>,
) -> Cell {
    let (place, arm) = (&subject.place, &subject.arm);
    let series = results.series(place, arm);
    let latency = |share, has_enough: &dyn Fn(u64) -> bool| {
        let latency = series.map(Series::latency);
        let latency = latency.filter(|all| has_enough(all.len()));
        let at = latency.and_then(|latency| latency.quantile_ns(share));
        number(at.map(|ns| ns as f64 / 1e3))
    };
    match cells {
        Cells::Value { measure, scale, .. } => {
            let median = series.and_then(|series| series.median(*measure));
            number(median.map(|value| value * scale))
        }
        Cells::P99 => latency(0.99, &|_| true),
        Cells::Latency(share, _) => {
            latency(*share, &|count| count as f64 * (1.0 - share) >= BEYOND_MIN)
        }
        Cells::Ratio(measure, reference, _) => {
            let ratio = results.ratio((place, arm), (place, reference), *measure);
            ratio.map_or(Cell::Empty, |ratio| text(ratio.words()))
        }
        Cells::Also(name, _) => {
            let last = series.and_then(|series| series.rounds.values().next_back());
            let value = last.and_then(|reading| reading.also.value(name));
            value.map_or(Cell::Empty, |value| text(value.to_string()))
        }
        Cells::Verdict => {
            let verdict = results.verdict(place, arm);
            verdict.map_or(Cell::Empty, |verdict| judged(&verdict))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(spots: &[(&'static str, &'static str, u64)]) -> Vec<Subject<usize, usize>> {
        let subject = |(index, (size, arm, depth)): (usize, &(_, _, u64))| {
            let spot = Spot::new().named("size", size).named("arm", arm);
            Subject::new(index, index, spot.also("depth", *depth))
        };
        spots.iter().enumerate().map(subject).collect()
    }

    fn rows(
        spots: &[(&'static str, &'static str, u64)],
        across: Option<&'static str>,
    ) -> Vec<(String, usize)> {
        let subjects = subjects(spots);
        let all: Vec<_> = subjects.iter().collect();
        let (_, rows) = keyed(&all, across);
        let words = |cell: &Cell| match cell {
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?} calls nothing"),
        };
        let row = |(key, own): (Vec<Cell>, Vec<_>)| {
            let key: Vec<_> = key.iter().map(words).collect();
            (key.join(" "), own.len())
        };
        rows.into_iter().map(row).collect()
    }

    #[test]
    fn what_is_called_the_same_is_one_row() {
        // The depth follows from the arm, and goes without saying.
        let spots = [
            ("64", "sync", 1),
            ("64", "async", 16),
            ("512", "sync", 1),
            ("512", "async", 16),
        ];
        let wanted = [("64".to_owned(), 2), ("512".to_owned(), 2)];
        assert_eq!(rows(&spots, Some("arm")), wanted);
        assert_eq!(rows(&spots, None).len(), 4);
    }

    #[test]
    fn what_nothing_else_tells_apart_is_said() {
        let spots = [("64", "sync", 1), ("64", "sync", 2), ("64", "async", 2)];
        let wanted = [("64 1".to_owned(), 1), ("64 2".to_owned(), 2)];
        assert_eq!(rows(&spots, Some("arm")), wanted);
        let wanted = ["sync 1", "sync 2", "async 2"].map(|key| (key.to_owned(), 1));
        assert_eq!(rows(&spots, None), wanted);
    }
}
