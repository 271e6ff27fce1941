//! User space's own crypto, without the kernel: requests in flight through one
//! lane, by the back-end that is fastest here.

use std::sync::Arc;

use crypto::{Backend, Workload};
use kit::load::alone::Slice;
use kit::load::once;
use kit::load::rig::Load;
use kit::place::{Placement, place, usable_cpus};
use policy::Policy;
use sys::clock::now_ns;

use super::{Request, TrialError, TrialLine};

/// The calibration of every kind takes seconds where the processor is
/// emulated: candidates are measured this long, on this kind alone.
const CALIBRATION_NS: u64 = 60_000_000;

/// Measures once. Client and worker share a core where there is only one.
pub fn measure(depth: usize, request: &Request) -> Result<TrialLine, TrialError> {
    request.check()?;
    if !(1..=engine::DEPTH_MAX).contains(&depth) {
        let reason = format!("depth {depth} is outside 1 to {}", engine::DEPTH_MAX);
        return Err(TrialError::Usage(reason));
    }
    let backend = fastest(request, depth)?;
    let workload = Workload::new(&backend, request.own(), request.size_bytes);
    let workload = Arc::new(workload.map_err(failed)?);
    let cpus = usable_cpus().map_err(failed)?;
    let both = [Placement::Split, Placement::Shared];
    let cpus = both.into_iter().find_map(|how| place(&cpus, how, 1, 1));
    let cpus = cpus.ok_or_else(|| failed("no CPU may be used"))?;
    let ways = (Load::closed(0, depth), Policy::ARMED);
    let record = once::trial(&backend, &workload, &cpus, ways, Slice::whole(request.time));
    let window = record.map_err(failed)?.whole();
    let window = window.ok_or_else(|| failed("nothing was measured"))?;
    let elapsed_ns = (window.seconds * 1e9).round() as u64;
    let completed = window.tenants[0].counters.requests;
    Ok(request.line(backend.name(), elapsed_ns, completed))
}

fn fastest(request: &Request, jobs: usize) -> Result<Arc<dyn Backend>, TrialError> {
    let kind = request.own();
    let candidates = crypto::candidates();
    let calibration = crypto::calibrate(&candidates, &[kind], CALIBRATION_NS, now_ns);
    let chosen = calibration.backend_for(kind, request.size_bytes, jobs);
    let mut having = candidates.into_iter().filter(|one| one.supports(kind));
    let found = match chosen {
        Some(name) => having.find(|one| one.name() == name),
        None => having.next(),
    };
    found.ok_or_else(|| failed("no library computes it"))
}

fn failed(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TrialError {
    TrialError::Failed {
        what: "the trial failed".to_owned(),
        source: source.into(),
    }
}
