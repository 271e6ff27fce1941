//! Which placements a section measures on this host.

use trial::PlanError;

use crate::config::value::{Auto, List, Name};
use crate::load::rig::Cores;
use crate::place::Placement;

/// The paper's guest has one vCPU: a shared core comes first.
const USUAL: [Placement; 2] = [Placement::Shared, Placement::Split];

/// Placements with their CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// A bench each.
    pub kept: Vec<(Placement, Cores)>,
    /// What this process has too few CPUs for.
    left_out: Vec<Placement>,
}

impl Places {
    /// The wanted ones, or the usual ones where none is named.
    pub fn of(wanted: &[Placement], cpus: &[usize]) -> Self {
        let wanted = if wanted.is_empty() { &USUAL } else { wanted };
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for &placement in wanted {
            match Cores::of(cpus, placement) {
                Some(cores) => kept.push((placement, cores)),
                None => left_out.push(placement),
            }
        }
        Self { kept, left_out }
    }

    /// As [`Places::of`], of an option.
    pub fn named(wanted: &Auto<List<Name<Placement>>>, cpus: &[usize]) -> Self {
        let wanted = wanted.0.iter().flat_map(|list| list.iter());
        Self::of(&wanted.map(|name| name.0).collect::<Vec<_>>(), cpus)
    }

    /// How many there are among some.
    pub fn among(all: impl Iterator<Item = Placement>) -> usize {
        all.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Whether there is any.
    pub fn any(&self) -> Result<(), PlanError> {
        if !self.kept.is_empty() {
            return Ok(());
        }
        Err(PlanError::NotSupported {
            reason: self.left_out().unwrap_or_default(),
            remedy: "allow more CPUs (taskset, cpuset), or measure placement `shared`".to_owned(),
        })
    }

    /// What is left out and why; none where nothing is.
    pub fn left_out(&self) -> Option<String> {
        let names = self.left_out.iter().map(|placement| placement.name());
        let names = names.collect::<Vec<_>>().join(", ");
        (!names.is_empty()).then(|| {
            format!("placement {names} needs two CPUs and is left out: this process may use one")
        })
    }
}

/// A placement in words, after a comma.
pub fn on(placement: Placement) -> &'static str {
    match placement {
        Placement::Split => "a core each",
        Placement::Shared => "one shared core",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cpu_leaves_split_out_and_says_so() {
        let places = Places::of(&[], &[3]);
        assert_eq!(places.kept.len(), 1);
        assert!(places.kept[0].1.is_shared());
        assert!(places.left_out().is_some_and(|text| text.contains("split")));
        let both = Places::of(&[], &[0, 1]);
        assert_eq!(both.kept.len(), 2);
        assert_eq!(both.left_out(), None);
        let one = Places::of(&[Placement::Split], &[0, 1]);
        assert_eq!(one.kept[0].0, Placement::Split);
    }
}
