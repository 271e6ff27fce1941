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
mod stand_in;

use std::sync::{Arc, OnceLock};

pub use calibrate::calibrate;
pub use calibration::{Calibration, Measured};
pub use grid::{JOBS, SIZES_BYTES};

use key::AutoKey;
use stand_in::stand_in;

use crate::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Status};

/// The name in flags and reports.
pub(crate) const NAME: &str = "auto";

/// Chooses a back-end for each request.
pub struct Auto {
    /// The most trusted first: it does what nothing was measured for.
    candidates: Vec<Arc<dyn Backend>>,
    calibration: OnceLock<Calibration>,
    source: Box<dyn Fn() -> Calibration + Send + Sync>,
}

impl Auto {
    /// Chooses among `candidates`, the most trusted first, by what `source`
    /// yields: it is asked once, when the first key is made.
    ///
    /// # Panics
    /// Without a candidate.
    #[must_use]
    pub fn new(
        candidates: Vec<Arc<dyn Backend>>,
        source: impl Fn() -> Calibration + Send + Sync + 'static,
    ) -> Self {
        assert!(!candidates.is_empty(), "someone has to do the work");
        Self {
            candidates,
            calibration: OnceLock::new(),
            source: Box::new(source),
        }
    }

    /// What the choice is made by.
    pub fn calibration(&self) -> &Calibration {
        self.calibration
            .get_or_init(|| (self.source)().among(&self.candidates))
    }

    /// The candidate for a request of `bytes` among `jobs` of its kind.
    fn choose(&self, kind: Kind, bytes: usize, jobs: usize) -> Option<usize> {
        let chosen = self.calibration().choice(kind, bytes, jobs);
        chosen.or_else(|| self.first_with(kind))
    }

    fn first_with(&self, kind: Kind) -> Option<usize> {
        self.candidates
            .iter()
            .position(|candidate| candidate.supports(kind))
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
        self.first_with(kind).is_some()
    }

    /// As many as the widest of those that are chosen for this kind.
    fn width(&self, kind: Kind) -> usize {
        let chosen = self.calibration().chosen(kind);
        chosen
            .map(|candidate| self.candidates[candidate].width(kind))
            .max()
            .or_else(|| {
                self.first_with(kind)
                    .map(|first| self.candidates[first].width(kind))
            })
            .unwrap_or(1)
    }

    /// A key for every candidate that may get a request: those that are
    /// chosen for some operation, and the first that has one.
    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        let mut needed: Vec<_> = algorithm
            .operations()
            .iter()
            .map(|&operation| Kind {
                algorithm,
                operation,
            })
            .flat_map(|kind| self.calibration().chosen(kind).chain(self.first_with(kind)))
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
        let choice = |job: &Job<'_>| self.choose(kind, job.source.first.len, jobs.len());
        let mut begin = 0;
        // Neighbours with the same choice go together; mostly that is all.
        for run in
            jobs.chunk_by(|a, b| a.source.first.len == b.source.first.len || choice(a) == choice(b))
        {
            let statuses = &mut statuses[begin..begin + run.len()];
            begin += run.len();
            match choice(&run[0]) {
                // SAFETY: forwarded from the caller. The key holds the
                // candidate's own among its parts, else it says so.
                Some(candidate) => unsafe {
                    self.candidates[candidate].process(kind, run, statuses);
                },
                None => statuses.fill(Status::Unsupported),
            }
        }
    }
}

#[cfg(test)]
mod tests;
