//! Trials with a bench of their own, without a virtual function: what a program
//! gets that has an engine to itself. They are compared with loops of other
//! programs, which start anew for each trial as well.

use std::sync::Arc;

use crypto::{Backend, Workload};
use policy::Policy;

use crate::load::alone::{Slice, WARM_UP};
use crate::load::rig::{Bench, Course, Load, Record, RigError, Tenant};
use crate::place::Cpus;

/// Set-up, warm-up and clean-up of one, seconds.
pub const OVERHEAD_S: f64 = 0.012;

/// Starts an engine with a worker on each of their CPUs, runs the load, and ends it.
/// The load's depth is that of the lanes.
pub fn trial(
    backend: &Arc<dyn Backend>,
    workload: &Arc<Workload>,
    cpus: &Cpus,
    (load, policy): (Load, Policy),
    slice: Slice<'_>,
) -> Result<Record, RigError> {
    let tenant = Tenant {
        workloads: vec![Arc::clone(workload)],
        depth_max: load.depth,
        tasks_max: load.tasks,
    };
    let mut bench = Bench::plain(cpus, backend, &tenant)?;
    bench.apply(0, policy.into())?;
    let course = Course::steady(WARM_UP, slice.length, vec![load]);
    bench.run(&course, &|| !(slice.go_on)())
}
