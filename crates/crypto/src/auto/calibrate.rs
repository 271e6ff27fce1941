//! Measuring the back-ends against each other.

use std::sync::Arc;

use super::grid::{CELLS, place};
use super::{Calibration, Measured, stand_in};
use crate::{Backend, Kind, RawLoop, Workload};

/// The best of this many short rounds counts: noise only adds time.
const ROUNDS: usize = 3;
/// Most memory of a place's requests: what the L2 caches of this decade hold.
const BYTES_MAX: usize = 512 * 1024;

struct Contender {
    backend: &'static str,
    raw: RawLoop,
    best_ns: f64,
}

/// Measures each of `candidates` that has it on each of `kinds`, at every
/// place of the grid, within about `budget_ns`; kinds that one candidate
/// alone has are left out, since there is nothing to choose. `now_ns` is a
/// monotonic clock. A back-end that fails a request is not measured there.
pub fn calibrate(
    candidates: &[Arc<dyn Backend>],
    kinds: &[Kind],
    budget_ns: u64,
    now_ns: impl Fn() -> u64,
) -> Calibration {
    let mut kinds: Vec<_> = kinds.iter().map(|&kind| stand_in(kind)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let contested: Vec<_> = kinds
        .into_iter()
        .map(|kind| (kind, having(candidates, kind)))
        .filter(|(_, having)| having.len() > 1)
        .collect();
    let loops: usize = contested
        .iter()
        .map(|(_, having)| having.len() * CELLS)
        .sum();
    let slice_ns = budget_ns / (loops * ROUNDS).max(1) as u64;
    let measured = contested
        .iter()
        .flat_map(|(kind, having)| of_kind(*kind, having, slice_ns, &now_ns))
        .collect();
    Calibration::from_measured(measured)
}

fn having(candidates: &[Arc<dyn Backend>], kind: Kind) -> Vec<&Arc<dyn Backend>> {
    let has = |candidate: &&Arc<dyn Backend>| candidate.supports(kind);
    candidates.iter().filter(has).collect()
}

fn of_kind(
    kind: Kind,
    having: &[&Arc<dyn Backend>],
    slice_ns: u64,
    now_ns: &impl Fn() -> u64,
) -> Vec<Measured> {
    let mut measured = Vec::new();
    for index in 0..CELLS {
        let mut contenders: Vec<_> = having
            .iter()
            .filter_map(|backend| contender(kind, index, backend))
            .collect();
        for _ in 0..ROUNDS {
            // A loop that fails once is out.
            contenders.retain_mut(|one| one.round(slice_ns, now_ns));
        }
        let (bytes, jobs) = place(index);
        measured.extend(contenders.into_iter().map(|one| Measured {
            kind,
            bytes,
            jobs,
            backend: one.backend.to_owned(),
            ns: one.best_ns,
        }));
    }
    measured
}

fn contender(kind: Kind, index: usize, backend: &Arc<dyn Backend>) -> Option<Contender> {
    let (bytes, jobs) = place(index);
    let workload = Workload::new(backend, kind, bytes).ok()?;
    let jobs = jobs
        .min(BYTES_MAX / workload.footprint_bytes().max(1))
        .max(1);
    let raw = RawLoop::new(Arc::clone(backend), &workload, jobs).ok()?;
    Some(Contender {
        backend: backend.name(),
        raw,
        best_ns: f64::INFINITY,
    })
}

impl Contender {
    fn round(&mut self, slice_ns: u64, now_ns: &impl Fn() -> u64) -> bool {
        let begin = now_ns();
        let mut requests = 0;
        loop {
            match self.raw.pass() {
                Ok(passed) => requests += passed,
                Err(_) => return false,
            }
            let passed_ns = now_ns() - begin;
            if passed_ns >= slice_ns {
                self.best_ns = self.best_ns.min(passed_ns as f64 / requests as f64);
                return true;
            }
        }
    }
}
