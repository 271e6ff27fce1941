//! The back-end that lets the fastest of the others do each request.
//!
//! Which one that is depends on algorithm, size and how many requests wait: a
//! multi-buffer library is several times faster than a single stream with
//! sixteen requests at hand, and slower with one. A [`Calibration`] says it
//! for this host; without one, [`Calibration::expected`] guesses.

mod calibrate;
mod calibration;
mod grid;
mod key;
mod plan;
mod stand_in;

use std::sync::{Arc, OnceLock};

pub use calibrate::calibrate;
pub use calibration::{Calibration, Measured};
pub use grid::{JOBS, SIZES_BYTES};

use key::AutoKey;
use plan::Plan;
use stand_in::stand_in;

use crate::{Algorithm, Backend, Between, Job, Key, KeyError, KeyMaterial, Kind, Status};

pub(crate) const NAME: &str = "auto";

pub struct Auto {
    /// The most trusted first: it does what nothing was measured for.
    candidates: Vec<Arc<dyn Backend>>,
    decided: OnceLock<(Calibration, Plan)>,
    source: Box<dyn Fn() -> Calibration + Send + Sync>,
}

impl Auto {
    /// Chooses among `candidates`, the most trusted first, by what `source`
    /// yields: it is asked once, when the first key is made.
    ///
    /// # Panics
    /// Without a candidate.
    pub fn new(
        candidates: Vec<Arc<dyn Backend>>,
        source: impl Fn() -> Calibration + Send + Sync + 'static,
    ) -> Self {
        assert!(!candidates.is_empty(), "someone has to do the work");
        Self {
            candidates,
            decided: OnceLock::new(),
            source: Box::new(source),
        }
    }

    pub fn calibration(&self) -> &Calibration {
        &self.decided().0
    }

    fn plan(&self) -> &Plan {
        &self.decided().1
    }

    fn decided(&self) -> &(Calibration, Plan) {
        self.decided.get_or_init(|| {
            let calibration = (self.source)().among(&self.candidates);
            let plan = Plan::new(&calibration, &self.candidates);
            (calibration, plan)
        })
    }
}

impl Backend for Auto {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        let names: Vec<_> = self.candidates.iter().map(|one| one.name()).collect();
        format!(
            "lockgate {}: {}",
            env!("CARGO_PKG_VERSION"),
            names.join(", ")
        )
    }

    fn instructions(&self) -> String {
        let of = |one: &Arc<dyn Backend>| format!("{}: {}", one.name(), one.instructions());
        self.candidates
            .iter()
            .map(of)
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn supports(&self, kind: Kind) -> bool {
        let mut candidates = self.candidates.iter();
        candidates.any(|candidate| candidate.supports(kind))
    }

    fn width(&self, kind: Kind) -> usize {
        self.plan().row(kind).map_or(1, |row| row.width)
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        let mut needed: Vec<_> = algorithm
            .operations()
            .iter()
            .map(|&operation| Kind::new(algorithm, operation))
            .filter_map(|kind| self.plan().row(kind))
            .flat_map(|row| row.chosen().chain(row.of_pieces))
            .collect();
        needed.sort_unstable();
        needed.dedup();
        if needed.is_empty() {
            return Err(KeyError::Unsupported {
                backend: NAME,
                algorithm,
            });
        }
        let parts = needed
            .into_iter()
            .map(|candidate| self.candidates[candidate].key(algorithm, material))
            .collect::<Result<_, _>>()?;
        Ok(Box::new(AutoKey(parts)))
    }

    #[allow(unsafe_code, reason = "the trait's")]
    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        assert_eq!(jobs.len(), statuses.len(), "one status for each job");
        let Some(row) = self.plan().row(kind) else {
            return statuses.fill(Status::Unsupported);
        };
        let choice = |job: &Job<'_>| row.choice(job.source.first.len, jobs.len());
        let mut begin = 0;
        // Neighbours with the same choice go together; mostly that is all.
        for run in
            jobs.chunk_by(|a, b| a.source.first.len == b.source.first.len || choice(a) == choice(b))
        {
            let statuses = &mut statuses[begin..begin + run.len()];
            begin += run.len();
            // SAFETY: forwarded from the caller. The key holds the candidate's
            // own among its parts, else it says so.
            unsafe { self.candidates[choice(&run[0])].process(kind, run, statuses) };
        }
    }

    fn continues(&self, kind: Kind) -> bool {
        let row = self.plan().row(kind);
        row.is_some_and(|row| row.of_pieces.is_some())
    }

    #[allow(unsafe_code, reason = "the trait's")]
    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        let row = self.plan().row(kind);
        match row.and_then(|row| row.of_pieces) {
            // SAFETY: as in `process`.
            Some(one) => unsafe { self.candidates[one].process_piece(kind, job, between, is_last) },
            None => Status::Unsupported,
        }
    }
}

#[cfg(test)]
mod tests;
