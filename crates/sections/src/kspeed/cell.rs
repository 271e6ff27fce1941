//! A place in the section's grid, with what was measured there.

use std::collections::BTreeMap;

use trial::Histogram;
use trial::stats::median;

use crate::kspeed::catalogue::Driver;
use crate::kspeed::config::Config;
use crate::kspeed::method::Method;
use crate::kspeed::tcrypt::{Call, measures};
use kit::observe::CpuTimes;

/// Where in the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) driver: &'static Driver,
    pub(super) size_bytes: usize,
    /// Kernel threads that submit.
    pub(super) threads: usize,
}

/// One place, measured by several methods.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) place: Place,
    pub(super) arms: Vec<(Method, Series)>,
}

/// One trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Trial {
    pub(super) requests_per_s: f64,
    /// How many requests that rests on.
    pub(super) completed: u64,
    /// What the host's CPUs did meanwhile.
    pub(super) times: CpuTimes,
    /// Host CPUs that the guest itself kept busy.
    pub(super) guest_cpus: f64,
}

/// What the module's counters said in the round that takes latencies.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    pub(super) latency: Histogram,
    pub(super) is_async: bool,
    pub(super) backlogged: u64,
    pub(super) completed_inline: u64,
    pub(super) in_flight_max: u64,
}

/// Why a method gives nothing at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) remedy: String,
}

/// What one method gave at one place, by round.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) trials: BTreeMap<usize, Trial>,
    pub(super) detail: Option<Detail>,
    /// Once there is one, the method is not tried again.
    pub(super) failure: Option<Failure>,
}

impl Cell {
    /// What a method gave, if it gave anything.
    pub(super) fn arm(&self, method: Method) -> Option<&Series> {
        let own = self.arms.iter().find(|(own, _)| *own == method);
        own.map(|(_, series)| series)
            .filter(|series| !series.trials.is_empty())
    }

    /// Whether a method is to be measured here.
    pub(super) fn has(&self, method: Method) -> bool {
        self.arms.iter().any(|(own, _)| *own == method)
    }

    pub(super) fn arm_mut(&mut self, method: Method) -> Option<&mut Series> {
        let own = self.arms.iter_mut().find(|(own, _)| *own == method);
        own.map(|(_, series)| series)
    }

    /// Bytes that all requests in flight touch.
    pub(super) fn in_flight_bytes(&self, method: Method, depth: usize) -> usize {
        let Place {
            driver,
            size_bytes,
            threads,
        } = self.place;
        method.depth(depth) * size_bytes * driver.kind.copies() * threads
    }
}

impl Series {
    /// Requests/s, one a round.
    pub(super) fn rates(&self) -> Vec<f64> {
        let rates = self.trials.values();
        rates.map(|trial| trial.requests_per_s).collect()
    }

    /// Their median; none without a round.
    pub(super) fn median(&self) -> Option<f64> {
        median(&self.rates())
    }

    /// Both methods' rates of the rounds that have both.
    pub(super) fn pairs(&self, reference: &Self) -> Vec<(f64, f64)> {
        let pair = |(round, trial): (&usize, &Trial)| {
            let reference = reference.trials.get(round)?;
            Some((trial.requests_per_s, reference.requests_per_s))
        };
        self.trials.iter().filter_map(pair).collect()
    }
}

/// Every place that a configuration means, with the methods that have it.
pub(super) fn grid(config: &Config) -> Vec<Cell> {
    let mut cells = Vec::new();
    for &driver in &config.drivers {
        for &threads in &config.threads {
            cells.extend(config.sizes_bytes.iter().map(|&size_bytes| {
                let place = Place {
                    driver,
                    size_bytes,
                    threads,
                };
                let has = |method: &Method| is_measured(config, place, *method);
                let methods = config.methods.iter().copied().filter(has);
                Cell {
                    place,
                    arms: methods.map(|method| (method, Series::default())).collect(),
                }
            }));
        }
    }
    cells
}

/// Whether a method can say anything of a place at all.
fn is_measured(config: &Config, place: Place, method: Method) -> bool {
    // What does not submit from the module's threads has one.
    let is_alone = place.threads == config.threads[0];
    match call(config, method) {
        Some(call) => is_alone && measures(call, place.driver, place.size_bytes),
        None => method.module_mode().is_some() || is_alone,
    }
}

/// How tcrypt is called for a method; none of another program's.
pub(super) fn call(config: &Config, method: Method) -> Option<Call> {
    let num_mb = match method {
        Method::Tcrypt => None,
        Method::TcryptMb => Some(config.depth),
        _ => return None,
    };
    let seconds = config.tcrypt_seconds;
    Some(Call { num_mb, seconds })
}
