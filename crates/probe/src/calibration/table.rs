//! The calibration as a table of a report.

use crypto::{Calibration, Kind};
use trial::{Cell, Column, Table};

use crate::calibration::choice::{GB_PER_S, chosen_at, size, stand_in};
use crate::calibration::current;

/// A small and a large request, alone and in numbers.
const SHOWN: [(usize, usize); 4] = [(64, 1), (16_384, 1), (64, 32), (16_384, 32)];

const NOTE: &str = "`auto` gives each request to the back-end that was fastest on this host for its algorithm, size and number of requests at hand, the most trusted one unless another is clearly faster; in brackets the next one. Kinds that cost the same share a row. `lockgate probe --json` has every place measured, `lockgate probe --calibrate` measures again.";

/// This process's choices.
pub fn table(command: String) -> Option<Table> {
    of(&current().calibration, command)
}

fn of(calibration: &Calibration, command: String) -> Option<Table> {
    let rows: Vec<_> = Kind::all()
        .filter(|&kind| stand_in(calibration, kind).is_none())
        .filter_map(|kind| row(calibration, kind))
        .collect();
    let column = |label: String, unit: &str| Column {
        label,
        unit: unit.to_owned(),
    };
    let place = |(bytes, jobs)| column(format!("{jobs} × {}", size(bytes)), GB_PER_S);
    let columns = std::iter::once(column("request".to_owned(), ""));
    (!rows.is_empty()).then(|| Table {
        title: "Which back-end for which request".to_owned(),
        note: NOTE.to_owned(),
        columns: columns.chain(SHOWN.map(place)).collect(),
        rows,
        command,
    })
}

fn row(calibration: &Calibration, kind: Kind) -> Option<Vec<Cell>> {
    let entries = SHOWN.map(|(bytes, jobs)| {
        let Some(((name, speed), others)) = chosen_at(calibration, kind, bytes, jobs) else {
            return Cell::Empty;
        };
        let next = others
            .first()
            .map_or_else(String::new, |(name, speed)| format!(" ({name} {speed})"));
        Cell::Text(format!("{name} {speed}{next}"))
    });
    if entries.iter().all(|entry| *entry == Cell::Empty) {
        return None;
    }
    let same = Kind::all().filter(|&other| stand_in(calibration, other) == Some(kind));
    let names = Cell::Text(names(std::iter::once(kind).chain(same).collect()));
    Some(std::iter::once(names).chain(entries).collect())
}

/// `aes-256-ctr, aes-192-ctr encrypt/decrypt`.
fn names(kinds: Vec<Kind>) -> String {
    let mut algorithms: Vec<_> = kinds.iter().map(|kind| kind.algorithm.name()).collect();
    let mut operations: Vec<_> = kinds.iter().map(|kind| kind.operation.name()).collect();
    // Those of one algorithm stand together only after sorting.
    algorithms.sort_unstable_by(|a, b| b.cmp(a));
    algorithms.dedup();
    operations.sort_unstable_by(|a, b| b.cmp(a));
    operations.dedup();
    format!("{} {}", algorithms.join(", "), operations.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::choice::example;

    #[test]
    fn a_row_names_the_chosen_one_and_the_next_at_each_place() {
        let table = of(&example(), "lockgate probe".to_owned()).unwrap();
        let text = |text: &str| Cell::Text(text.to_owned());
        let row = table
            .rows
            .iter()
            .find(|row| matches!(&row[0], Cell::Text(name) if name == "aes-128-cbc encrypt"))
            .unwrap();
        assert_eq!(row[2], text("aws-lc 1.00 (kernels 0.50)"));
        assert_eq!(row[4], text("kernels 10.0 (aws-lc 1.00)"));
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len())
        );
        assert!(of(&Calibration::from_measured(Vec::new()), String::new()).is_none());
    }
}
