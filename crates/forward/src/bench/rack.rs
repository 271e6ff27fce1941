//! Routers side by side.

use super::{Bench, BenchError, Offer, Setup, TrialResult};
use crate::tester::length::Lengths;
use crate::tester::trial::{HostUse, Placement, run};
use crate::tester::validity::OwnCpu;

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
        let mut placement = Placement::default();
        for (bench, offer) in self.benches.iter_mut().zip(offers) {
            bench.ceiling_pps(offer)?;
            placement.add(bench.placement());
        }
        for (bench, offer) in self.benches.iter_mut().zip(offers) {
            begun.push(bench.begin(offer)?);
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
        let ran = run(&mut ways, &placement, residual, go_on)?;
        drop(ways);
        let mut directions = ran.directions.into_iter();
        let mut results = Vec::new();
        let parts = self.benches.iter_mut().zip(offers).zip(begun).zip(counts);
        for (((bench, offer), before), count) in parts {
            let own = directions.by_ref().take(count).collect();
            results.push(bench.finish(offer, own, before)?);
        }
        self.judge(&mut results, ran.host)?;
        Ok(results)
    }

    /// Each router's verdict; the others' CPU time is not a stranger's, and all
    /// together share the generator and its ceiling.
    fn judge(&self, results: &mut [TrialResult], host: HostUse) -> Result<(), BenchError> {
        let mut own_cpu = OwnCpu::default();
        for result in results.iter() {
            let one = result.own_cpu();
            own_cpu.generators += one.generators;
            own_cpu.behind += one.behind;
        }
        let all_pps: f64 = results.iter().map(TrialResult::received_pps).sum();
        for (bench, result) in self.benches.iter().zip(results) {
            let ceiling_pps = bench.ceiling_for(&result.offer, all_pps)?;
            let share = if all_pps > 0.0 {
                result.received_pps() / all_pps
            } else {
                1.0
            };
            // A router that received nothing has no result that could be near.
            let ceiling_pps = if share > 0.0 {
                ceiling_pps * share
            } else {
                ceiling_pps
            };
            bench.judge(result, host, ceiling_pps, own_cpu);
        }
        Ok(())
    }
}
