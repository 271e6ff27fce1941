//! Whether a series may be believed.

use trial::stats::median;
use trial::validity::over_rounds;
use trial::{Observed, Verdict};

use crate::load::cell::{Cell, Series};
use crate::load::rig::Cores;
use crate::observe::{CpuTimes, drift};

/// What a verdict rests on besides the series itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    pub cores: Cores,
    /// Of the worker's core; 0 when unknown.
    pub l2_bytes: u64,
    /// How fast the worker's core was in this run: ns of one step.
    pub usual_step_ns: Option<f64>,
}

impl Conditions {
    /// Of cells whose workers have one core.
    pub fn of<K, A>(cores: Cores, l2_bytes: u64, cells: &[&Cell<K, A>]) -> Self {
        let trials = cells
            .iter()
            .flat_map(|cell| &cell.arms)
            .flat_map(|(_, series)| series.trials.values());
        let steps: Vec<_> = trials.filter_map(|trial| trial.facts.step_ns).collect();
        Self {
            cores,
            l2_bytes,
            usual_step_ns: median(&steps),
        }
    }

    /// The verdict on one arm of a cell.
    pub fn verdict(&self, series: &Series, in_flight_bytes: usize) -> Verdict {
        let cpus = self.cores.all().len();
        let mut times = CpuTimes::default();
        let facts = || series.trials.values().map(|trial| &trial.facts);
        facts().for_each(|facts| times.add(facts.times));
        let ours = series.values(|window| {
            let tenants = 0..window.tenants.len();
            window.worker_cpus() + tenants.map(|one| window.client_cpus(one)).sum::<f64>()
        });
        let ours = ours.iter().sum::<f64>() / ours.len().max(1) as f64;
        let pauses: Vec<_> = facts().map(|facts| facts.pause_ns).collect();
        let steps = facts().filter_map(|facts| facts.step_ns);
        let drifts: Vec<_> = self.usual_step_ns.map_or_else(Vec::new, |usual| {
            steps.map(|step| drift(step, usual)).collect()
        });
        let completed = |window: &crate::load::rig::Window| {
            window
                .tenants
                .iter()
                .map(|share| share.counters.requests)
                .sum::<u64>()
        };
        Observed {
            samples: series
                .trials
                .values()
                .map(|trial| completed(&trial.window))
                .sum(),
            steal_ratio: times.steal_ratio(),
            load_elsewhere: times.load_elsewhere(series.trials.len(), cpus, ours),
            gap_ns_max: over_rounds(&pauses).unwrap_or(0.0) as u64,
            frequency_drift: over_rounds(&drifts).unwrap_or(0.0),
            in_flight_bytes: in_flight_bytes as u64,
            l2_bytes: self.l2_bytes,
            busy_threads: cpus,
            cpus,
            shared: self.cores.is_shared(),
            ..Observed::default()
        }
        .verdict()
    }
}
