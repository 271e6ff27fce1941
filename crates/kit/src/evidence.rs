//! What disturbed a trial that had a worker's core, for the verdict over all
//! rounds.

use trial::stats::median;
use trial::validity::over_rounds;
use trial::{Observed, Verdict};

use crate::load::rig::Cores;
use crate::observe::{CpuTimes, drift, step_ns};

/// Of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    pub requests: u64,
    /// What the kernel counted on its CPUs.
    pub times: CpuTimes,
    /// How fast the worker's core was before: ns of one step.
    pub step_ns: Option<f64>,
    /// For how long it stood still, as far as latencies show, ns.
    pub pause_ns: f64,
    /// Cores that its own threads kept busy.
    pub busy_cpus: f64,
    /// Bytes that all requests in flight touch.
    pub in_flight_bytes: usize,
    pub cores: Cores,
    /// CPUs that took part.
    pub cpus: usize,
    /// Threads that are always busy and found no CPU of their own.
    pub crowd: usize,
    /// Of an open loop, requests/s: what was offered, and what the generator held.
    pub rates: Option<(f64, f64)>,
}

impl Evidence {
    /// Of a trial that is no load of lanes: runs it, and says with what it gave,
    /// and how many requests that was, what the kernel counted meanwhile.
    ///
    /// # Errors
    /// As the trial.
    pub fn around<T, E>(
        cores: Cores,
        trial: impl FnOnce() -> Result<(T, u64), E>,
    ) -> Result<(T, Self), E> {
        let (step_ns, before) = (step_ns(cores.worker), CpuTimes::now(&cores.all()));
        let (given, requests) = trial()?;
        let own = Self {
            requests,
            times: CpuTimes::now(&cores.all()).since(before),
            step_ns,
            pause_ns: 0.0,
            // What sleepers leave of their cores is not told from others' work.
            busy_cpus: cores.all().len() as f64,
            in_flight_bytes: 0,
            cores,
            cpus: cores.all().len(),
            crowd: 0,
            rates: None,
        };
        Ok((given, own))
    }
}

/// How fast a core was in this run, from every look at it.
#[derive(Clone, Debug, Default)]
pub struct Usual(Vec<(usize, f64)>);

impl Usual {
    pub fn of<'a>(all: impl Iterator<Item = &'a Evidence>) -> Self {
        let step = |one: &Evidence| Some((one.cores.worker, one.step_ns?));
        Self(all.filter_map(step).collect())
    }

    /// Every look, by CPU: ns of one step.
    #[must_use]
    pub fn steps_ns(&self) -> std::collections::BTreeMap<usize, Vec<f64>> {
        let mut by_cpu = std::collections::BTreeMap::<_, Vec<_>>::new();
        for &(cpu, step_ns) in &self.0 {
            by_cpu.entry(cpu).or_default().push(step_ns);
        }
        by_cpu
    }

    fn step_ns(&self, cpu: usize) -> Option<f64> {
        let own = self.0.iter().filter(|(own, _)| *own == cpu);
        median(&own.map(|(_, step)| *step).collect::<Vec<_>>())
    }
}

/// The verdict over all rounds; valid where there is no evidence.
#[must_use]
pub fn verdict(rounds: &[&Evidence], usual: &Usual, l2_bytes: u64) -> Verdict {
    let Some(first) = rounds.first() else {
        return Verdict::valid();
    };
    let cpus = first.cpus;
    let mut times = CpuTimes::default();
    rounds.iter().for_each(|one| times.add(one.times));
    let ours = rounds.iter().map(|one| one.busy_cpus).sum::<f64>() / rounds.len() as f64;
    let pauses: Vec<_> = rounds.iter().map(|one| one.pause_ns).collect();
    let steps = rounds.iter().filter_map(|one| one.step_ns);
    let drifts: Vec<_> = usual
        .step_ns(first.cores.worker)
        .map_or_else(Vec::new, |usual| {
            steps.map(|step| drift(step, usual)).collect()
        });
    let rates = |of: fn((f64, f64)) -> f64| {
        let all: Vec<_> = rounds.iter().filter_map(|one| one.rates.map(of)).collect();
        median(&all).unwrap_or(0.0)
    };
    Observed {
        samples: rounds.iter().map(|one| one.requests).sum(),
        steal_ratio: times.steal_ratio(),
        load_elsewhere: times.load_elsewhere(rounds.len(), cpus, ours),
        gap_ns_max: over_rounds(&pauses).unwrap_or(0.0) as u64,
        frequency_drift: over_rounds(&drifts).unwrap_or(0.0),
        in_flight_bytes: first.in_flight_bytes as u64,
        l2_bytes,
        offered_per_s: rates(|(offered, _)| offered),
        achieved_per_s: rates(|(_, held)| held),
        busy_threads: cpus + first.crowd,
        cpus,
        shared: first.cores.is_shared(),
    }
    .verdict()
}
