//! Routers side by side.

use super::{Bench, BenchError, Offer, Setup, TrialResult};
use crate::tester::length::Lengths;
use crate::tester::trial::run;

/// Several routers side by side, each with ports and a home of its own; all
/// share the CPUs that their setups name.
pub struct Rack {
    benches: Vec<Bench>,
}

impl Rack {
    /// Starts one after the other. If one fails, none is left.
    ///
    /// # Errors
    /// As [`Bench::start`].
    pub fn start(setups: &[Setup]) -> Result<Self, BenchError> {
        let benches = setups.iter().map(Bench::start).collect::<Result<_, _>>()?;
        Ok(Self { benches })
    }

    /// The routers, in order.
    pub fn benches(&mut self) -> &mut [Bench] {
        &mut self.benches
    }

    /// One trial of all at the same moment: one offer for each router; results
    /// in the same order. `go_on` as in [`Bench::trial_while`].
    ///
    /// # Errors
    /// As [`Bench::trial_while`].
    ///
    /// # Panics
    /// If there is not one offer for each router.
    pub fn trial_while(
        &mut self,
        offers: &[Offer],
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<TrialResult>, BenchError> {
        assert_eq!(offers.len(), self.benches.len(), "one offer a router");
        let mut begun = Vec::new();
        for (bench, offer) in self.benches.iter_mut().zip(offers) {
            begun.push(bench.begin(offer)?);
        }
        let mut cpus: Vec<usize> = Vec::new();
        for bench in &self.benches {
            cpus.extend(bench.placement().cpus());
        }
        let mut ways = Vec::new();
        let mut counts = Vec::new();
        for (bench, offer) in self.benches.iter_mut().zip(offers) {
            let before = ways.len();
            ways.extend(bench.ways(offer)?);
            counts.push(ways.len() - before);
        }
        let longest = offers.iter().map(|offer| offer.duration).max();
        let residual = Lengths::short(longest.unwrap_or_default()).residual;
        let ran = run(&mut ways, &cpus, residual, go_on)?;
        drop(ways);
        let mut results = ran.directions.into_iter();
        let mut trials = Vec::new();
        for (((bench, offer), before), count) in
            self.benches.iter_mut().zip(offers).zip(begun).zip(counts)
        {
            let directions = results.by_ref().take(count).collect();
            trials.push(bench.finish(offer, directions, ran.host, before)?);
        }
        Ok(trials)
    }
}
