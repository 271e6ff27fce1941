//! A part of the run with a steady load.

use serde::{Deserialize, Serialize};

use kit::load::rig::Load;
use kit::words::size;

/// One phase: so many tenants, each with so much in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phase {
    pub(super) block_bytes: usize,
    /// Requests that each tenant keeps in flight.
    pub(super) depth: usize,
    pub(super) tenants: usize,
}

/// Every kind of change: of size, of depth, of tenants, of all.
const USUAL: [(usize, usize, usize); 10] = [
    (1024, 32, 1),
    (64, 64, 1),
    (65_536, 8, 1),
    (1024, 1, 1),
    (4096, 16, 2),
    (256, 8, 4),
    (16_384, 32, 1),
    (64, 4, 1),
    (4096, 1, 4),
    (1024, 64, 1),
];

/// The phases where the user names none.
pub(super) fn usual() -> Vec<Phase> {
    let of = |(block_bytes, depth, tenants)| Phase {
        block_bytes,
        depth,
        tenants,
    };
    USUAL.map(of).to_vec()
}

impl Phase {
    /// In words: `4 KiB × 16, 2 tenants`.
    pub(super) fn label(&self) -> String {
        let tenants = match self.tenants {
            1 => String::new(),
            many => format!(", {many} tenants"),
        };
        format!("{} × {}{tenants}", size(self.block_bytes), self.depth)
    }

    /// What each of `tenants` tenants does; `sizes_bytes` are their workloads.
    pub(super) fn loads(&self, sizes_bytes: &[usize], tenants: usize) -> Vec<Load> {
        let workload = sizes_bytes
            .iter()
            .position(|size| *size == self.block_bytes)
            .expect("every phase's size has a workload");
        let load = |tenant| {
            let tasks = usize::from(tenant < self.tenants);
            Load::closed(workload, self.depth).with_tasks(tasks)
        };
        (0..tenants).map(load).collect()
    }
}

/// Every block size of some phases, once.
pub(super) fn sizes_bytes(phases: &[Phase]) -> Vec<usize> {
    let mut sizes: Vec<_> = phases.iter().map(|phase| phase.block_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_tenants_have_no_task() {
        let phases = usual();
        let sizes = sizes_bytes(&phases);
        assert_eq!(sizes, [64, 256, 1024, 4096, 16_384, 65_536]);
        let loads = phases[4].loads(&sizes, 4);
        let tasks: Vec<_> = loads.iter().map(|load| load.tasks).collect();
        assert_eq!(tasks, [1, 1, 0, 0]);
        assert_eq!((loads[0].workload, loads[0].depth), (3, 16));
        assert_eq!(phases[4].label(), "4 KiB × 16, 2 tenants");
    }
}
