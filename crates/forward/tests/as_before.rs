//! Devices that were lent are back as they were.

use crate::snapshot::{Settings, differences, snapshot};
use net::Namespace;

/// Devices of a namespace that plays the host, and how they were.
pub struct AsBefore<'a> {
    home: &'a Namespace,
    names: &'a [String],
    before: Vec<Settings>,
}

impl<'a> AsBefore<'a> {
    pub fn of(home: &'a Namespace, names: &'a [String]) -> Self {
        Self {
            home,
            names,
            before: all(home, names),
        }
    }

    #[track_caller]
    pub fn check(&self) {
        let now = all(self.home, self.names);
        let each = self.before.iter().zip(&now);
        let changed: Vec<_> = each
            .flat_map(|(before, now)| differences(before, now))
            .collect();
        testing::certainly!(changed.is_empty(), "of {:?}: {changed:?}", self.names);
    }
}

fn all(home: &Namespace, names: &[String]) -> Vec<Settings> {
    let all = || names.iter().map(|name| snapshot(name)).collect();
    home.run(all).unwrap()
}
