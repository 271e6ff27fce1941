//! Whether a series is valid.

use trial::Verdict;
use trial::stats::median;

use crate::evidence::{self, Evidence, Usual};
use crate::load::cell::{Cell, Series, Trial};
use crate::load::rig::Cores;

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
        let of = |trial: &Trial| {
            let (window, facts) = (&trial.window, &trial.facts);
            let tenants = 0..window.tenants.len();
            let requests = window.tenants.iter().map(|share| share.counters.requests);
            Evidence {
                requests: requests.sum(),
                times: facts.times,
                step_ns: facts.step_ns,
                pause_ns: facts.pause_ns,
                busy_cpus: window.worker_cpus()
                    + tenants.map(|one| window.client_cpus(one)).sum::<f64>(),
                in_flight_bytes,
                cores: self.cores,
                cpus: self.cores.all().len(),
                crowd: 0,
                rates: None,
            }
        };
        let rounds: Vec<_> = series.trials.values().map(of).collect();
        let usual = self
            .usual_step_ns
            .map(|step_ns| (self.cores.worker, step_ns));
        let usual = Usual::known(usual.into_iter());
        evidence::verdict(&rounds.iter().collect::<Vec<_>>(), &usual, self.l2_bytes)
    }
}
