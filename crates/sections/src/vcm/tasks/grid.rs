//! What is measured where, and on which benches.

use std::sync::Arc;

use crypto::{Workload, WorkloadError};

use crate::vcm::tasks::config::Config;
use kit::load::cell::{Cell, Series};
use kit::load::moderated::Arm;
use kit::load::rig::{Load, Setup, Tenant, Window};
use kit::place::Placement;
use kit::places::{Places, on};

/// A place in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) placement: Placement,
    pub(super) tasks: usize,
    /// Input bytes of a request.
    pub(super) block_bytes: usize,
}

/// One place with its arms.
pub(super) type Place = Cell<Spot, Arm>;

/// The benches' setups, one a placement, and the cells on them.
pub(super) fn grid(
    config: &Config,
    places: &Places,
) -> Result<(Vec<Setup>, Vec<Place>), WorkloadError> {
    let workload = Workload::new(&config.backend, config.kind, config.block_bytes)?;
    let (block_bytes, footprint_bytes) = (workload.block_bytes, workload.footprint_bytes());
    let tenant = Tenant {
        workloads: vec![Arc::new(workload)],
        depth_max: config.depth,
        tasks_max: config.tasks_max(),
    };
    let setups = places.kept.iter().map(|&(_, cores)| Setup {
        cores,
        backend: Arc::clone(&config.backend),
        tenants: vec![tenant.clone()],
    });
    let mut cells = Vec::new();
    for (bench, &(placement, _)) in places.kept.iter().enumerate() {
        cells.extend(config.tasks.iter().map(|&tasks| Cell {
            key: Spot {
                placement,
                tasks,
                block_bytes,
            },
            bench,
            load: Load::closed(0, config.depth).with_tasks(tasks),
            label: format!("{}, {}", many(tasks), on(placement)),
            in_flight_bytes: footprint_bytes * config.depth * tasks,
            arms: arms(config),
        }));
    }
    Ok((setups.collect(), cells))
}

/// `1 task`, `8 tasks`.
pub(super) fn many(tasks: usize) -> String {
    if tasks == 1 {
        "1 task".to_owned()
    } else {
        format!("{tasks} tasks")
    }
}

fn arms(config: &Config) -> Vec<(Arm, Series)> {
    let arm = |&arm: &Arm| (arm, Series::default());
    config.policies.iter().map(arm).collect()
}

/// The places of one placement, by rising number of tasks.
pub(super) fn line(cells: &[Place], placement: Placement) -> Vec<&Place> {
    let same = |cell: &&Place| cell.key.placement == placement;
    cells.iter().filter(same).collect()
}

/// Requests/s of each task at work in a window.
pub(super) fn task_rates(window: &Window, tasks: usize) -> Vec<f64> {
    let requests = window.tenants[0].task_requests.iter().take(tasks);
    requests
        .map(|&requests| requests as f64 / window.seconds)
        .collect()
}

/// How evenly the tasks share, 1 being quite (Jain's index); 0 where none
/// completed anything.
pub(super) fn evenness(window: &Window, tasks: usize) -> f64 {
    model::fairness::jain_index(&task_rates(window, tasks)).unwrap_or(0.0)
}
