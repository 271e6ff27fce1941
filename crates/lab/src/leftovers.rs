//! What a killed run left on the host: found by its journal where the next run
//! begins, and removed.

use net::journal::{Entry, Swept};
use sys::failure::with_causes;

/// What was removed, and what could not be.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Things that are gone now, e.g. `the namespace lockgate-…`.
    pub removed: Vec<String>,
    /// Why others are still there, each with its remedy.
    pub complaints: Vec<String>,
}

/// Removes what runs that were killed left behind; runs that live are left
/// alone. Without root nothing can have been left, and nothing is looked for.
#[must_use]
pub fn sweep() -> Leftovers {
    if !rustix::process::geteuid().is_root() {
        return Leftovers::default();
    }
    match net::journal::sweep() {
        Ok(swept) => described(&swept),
        Err(error) => Leftovers {
            removed: vec![],
            complaints: vec![with_causes(&error)],
        },
    }
}

fn described(swept: &Swept) -> Leftovers {
    let complaints = swept.failed.iter().map(|error| with_causes(error));
    Leftovers {
        removed: swept.undone.iter().map(Entry::to_string).collect(),
        complaints: complaints.collect(),
    }
}

#[cfg(test)]
mod tests {
    use sys::failure::Failure;

    use super::*;

    #[test]
    fn what_was_swept_is_told_with_its_causes() {
        let name = "lockgate-x".to_owned();
        let source = std::io::Error::other("a gate stands open");
        let swept = Swept {
            undone: vec![
                Entry::Namespace { name },
                Entry::Process { pid: 7, started: 1 },
            ],
            failed: vec![Failure::of("cannot read the journal x.journal")(source)],
        };
        let told = described(&swept);
        assert_eq!(told.removed, ["the namespace lockgate-x", "the process 7"]);
        assert_eq!(
            told.complaints,
            ["cannot read the journal x.journal: a gate stands open"]
        );
    }
}
