//! Whose speed is examined, and how it is run.

use crypto::Kind;
use kit::place::Placement;
use kit::places::on;
use kit::words::what;
use policy::Policy;

use super::plant::Plant;

/// Block sizes of planted faults.
const PLANTED_BYTES: [usize; 4] = [1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// A planted fault is on one shared core, where both sides spend of one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Load {
        kind: Kind,
        depth: usize,
        placement: Placement,
        policy: Policy,
    },
    Planted(Plant),
}

/// How it is run in one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub block_bytes: usize,
    pub depth: usize,
    pub placement: Placement,
    pub policy: Policy,
}

/// A peak, and the fall beyond.
pub type Ends = (Setting, Setting);

impl Setting {
    pub fn in_flight_bytes(&self) -> usize {
        self.block_bytes * self.depth
    }
}

impl Place {
    pub fn plant(self) -> Option<Plant> {
        match self {
            Self::Planted(plant) => Some(plant),
            Self::Load { .. } => None,
        }
    }

    pub fn name(self) -> String {
        match self {
            Self::Planted(plant) => format!("planted: {}", plant.what()),
            Self::Load {
                kind,
                placement,
                policy,
                ..
            } => format!("{}, {policy}, {}", what(kind), on(placement)),
        }
    }

    /// Its block sizes, rising, where loads have those.
    pub fn sizes(self, of_loads: &[usize]) -> &[usize] {
        self.plant().map_or(of_loads, |_| &PLANTED_BYTES)
    }

    /// As it is, at that size.
    pub fn setting(self, block_bytes: usize) -> Setting {
        let (depth, placement, policy) = match self {
            Self::Planted(plant) => (plant.depth(block_bytes), Placement::Shared, Policy::EACH),
            Self::Load {
                depth,
                placement,
                policy,
                ..
            } => (depth, placement, policy),
        };
        Setting {
            block_bytes,
            depth,
            placement,
            policy,
        }
    }
}
