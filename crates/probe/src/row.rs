//! A row of a table of facts, and a heading above some.

use trial::{Fact, Group};

use crate::fact::Found;
use crate::machine::Machine;

/// Key and label of a fact, and what reads it.
pub(crate) enum Row {
    /// Always shown.
    One(&'static str, &'static str, fn(&Machine) -> Found),
    /// Shown where it applies.
    Maybe(&'static str, &'static str, fn(&Machine) -> Option<Found>),
    /// Facts whose names or number depend on the machine.
    Many(fn(&Machine) -> Vec<Fact>),
}

impl Row {
    fn facts(&self, on: &Machine) -> Vec<Fact> {
        match self {
            Self::One(key, label, read) => vec![read(on).named(key, label)],
            Self::Maybe(key, label, read) => {
                let found = read(on).map(|found| found.named(key, label));
                found.into_iter().collect()
            }
            Self::Many(read) => read(on),
        }
    }
}

/// A heading and what stands below it.
pub(crate) struct Titled(pub &'static str, pub &'static [&'static [Row]]);

impl Titled {
    pub(crate) fn read(&self, on: &Machine) -> Group {
        let rows = self.1.iter().copied().flatten();
        Group {
            title: self.0.to_owned(),
            facts: rows.flat_map(|row| row.facts(on)).collect(),
        }
    }
}
