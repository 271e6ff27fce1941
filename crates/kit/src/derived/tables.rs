//! Views as tables.

use trial::{Cell, Table};

use crate::derived::charts::{Shows, by};
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
    let is_across = |name: &str| view.across == Some(name);
    let heads = heads(&all, is_across);
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
    let row = |(spot, own): (Spot, Shows<'_, E>)| {
        let said = |name: &&str| match spot.part(name) {
            Some(part) if !part.words.is_empty() => text(part.words.as_str()),
            _ => Cell::Empty,
        };
        let mut row: Vec<_> = heads.iter().map(said).collect();
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
    let rows = by(&all, |name| !is_across(name));
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
