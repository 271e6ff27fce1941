//! Routers side by side.

use super::{Bench, BenchError, Offer, Setup, TrialResult, together};

/// Several routers side by side, each with ports and a home of its own; all
/// share the CPUs that their setups name.
pub struct Rack {
    benches: Vec<Bench>,
}

impl Rack {
    /// Starts one after the other. If one fails, none is left.
    pub fn start(setups: &[Setup]) -> Result<Self, BenchError> {
        Self::start_while(setups, &|| true)
    }

    /// [`start`](Self::start) that stops when `go_on` returns false, which is asked
    /// as in [`Bench::start_while`].
    ///
    /// # Errors
    /// [`BenchError::Interrupted`] if it was; else as [`start`](Self::start).
    pub fn start_while(setups: &[Setup], go_on: &dyn Fn() -> bool) -> Result<Self, BenchError> {
        let start = |setup| Bench::start_while(setup, go_on);
        let benches = setups.iter().map(start).collect::<Result<_, _>>()?;
        Ok(Self { benches })
    }

    pub fn benches(&mut self) -> &mut [Bench] {
        &mut self.benches
    }

    /// One trial of all routers at the same moment, with one offer for each; results
    /// in the same order. `go_on` as in [`Bench::trial_while`].
    ///
    /// # Panics
    /// If there is not one offer for each router.
    pub fn trial_while(
        &mut self,
        offers: &[Offer],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<TrialResult>, BenchError> {
        let mut benches: Vec<_> = self.benches.iter_mut().collect();
        together::trial(&mut benches, offers, go_on)
    }
}
