//! What was measured, before it is judged.

use std::collections::BTreeMap;

use trial::Histogram;
use trial::stats::median;

use crate::speed::measure::End;
use kit::load::fresh::arm::{Arm, Cell, Role};
use kit::load::fresh::trial_run::Sample;
use kit::observe;
use kit::place::Cpus;
use kit::stopping::Closing;

/// What one arm gave, a sample a round.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// By round.
    pub(crate) samples: BTreeMap<usize, Sample>,
    /// Median latency of each round, ns.
    pub(crate) p50_ns: BTreeMap<usize, f64>,
    /// Latencies of all rounds.
    pub(crate) latency: Option<Box<Histogram>>,
    /// How fast the worker's core was before each trial: ns of one step.
    pub(crate) step_ns: Vec<f64>,
    /// For how long each trial stood still, ns.
    pub(crate) gaps_ns: Vec<f64>,
}

impl Series {
    pub(crate) fn add(&mut self, round: usize, mut sample: Sample) {
        self.gaps_ns.extend(observe::pause_ns(&sample));
        if let Some(latency) = sample.latency.take() {
            if let Some(p50) = latency.quantile_ns(0.5) {
                self.p50_ns.insert(round, p50 as f64);
            }
            match &mut self.latency {
                Some(all) => all.merge(&latency),
                None => self.latency = Some(latency),
            }
        }
        self.samples.insert(round, sample);
    }

    pub(crate) fn values(&self, value: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.values().map(value).collect()
    }

    /// Median requests/s; none where trials were too short for a request.
    pub(crate) fn rate(&self) -> Option<f64> {
        median(&self.values(|sample| sample.requests_per_s)).filter(|rate| *rate > 0.0)
    }
}

/// What one cell gave.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) cell: Cell,
    /// `None` where this host cannot place it.
    pub(crate) cpus: Option<Cpus>,
    /// Input bytes of a request: the block, or RSA's digest.
    pub(crate) block_bytes: usize,
    /// Bytes that all requests in flight touch.
    pub(crate) in_flight_bytes: usize,
    /// Requests/s of the open loop.
    pub(crate) paced_per_s: Option<f64>,
    /// How fast the worker's core usually was in this run: ns of one step;
    /// none before the first round is whole.
    pub(crate) usual_step_ns: Option<f64>,
    pub(crate) arms: Vec<(Arm, Series)>,
}

impl Measured {
    pub(crate) fn arm(&self, arm: Arm) -> Option<&Series> {
        self.arms
            .iter()
            .find(|(own, series)| *own == arm && !series.samples.is_empty())
            .map(|(_, series)| series)
    }

    /// Median MB/s (10^6 bytes) of an arm.
    pub(crate) fn mb_per_s(&self, arm: Arm) -> Option<f64> {
        Some(self.arm(arm)?.rate()? * self.block_bytes as f64 / 1e6)
    }
}

/// Everything measured.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) cells: Vec<Measured>,
    /// Cost of one wake-up, ns, by round.
    pub(crate) wake_up_ns: BTreeMap<usize, f64>,
    /// A cache line's way between the cores, ns, before each cell.
    pub(crate) line_ns: Vec<f64>,
    /// Whole rounds.
    pub(crate) rounds: usize,
    /// Why there was no further round, where widths had a say.
    pub(crate) closing: Option<Closing>,
    /// How often a ratio's interval may miss.
    pub(crate) error: f64,
    pub(crate) end: End,
}

impl Results {
    /// Every look at a worker's core, by CPU: ns of one step.
    pub(crate) fn steps_ns(&self) -> BTreeMap<usize, Vec<f64>> {
        let mut by_cpu: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for measured in &self.cells {
            let Some(cpus) = &measured.cpus else { continue };
            let steps = measured.arms.iter().flat_map(|(_, series)| &series.step_ns);
            by_cpu.entry(cpus.workers[0]).or_default().extend(steps);
        }
        by_cpu
    }

    /// Tells each cell what is usual, from all that was seen so far.
    pub(crate) fn learn_usual(&mut self) {
        let steps = self.steps_ns();
        for measured in &mut self.cells {
            let cpu = measured.cpus.as_ref().map(|cpus| cpus.workers[0]);
            measured.usual_step_ns = cpu
                .and_then(|cpu| steps.get(&cpu))
                .and_then(|steps| median(steps));
        }
    }

    /// The cells that differ only in depth from those measured for the
    /// ladder, by rising depth.
    pub(crate) fn rungs(&self) -> Vec<&Measured> {
        let Some(ladder) = self
            .cells
            .iter()
            .find(|measured| measured.cell.role == Role::Ladder)
        else {
            return Vec::new();
        };
        let like = |cell: &Cell| Cell {
            depth: 0,
            role: Role::Grid,
            ..*cell
        };
        let same = |measured: &&Measured| {
            measured.cell.role != Role::Deep && like(&measured.cell) == like(&ladder.cell)
        };
        let mut rungs: Vec<_> = self.cells.iter().filter(same).collect();
        rungs.sort_by_key(|measured| measured.cell.depth);
        rungs
    }
}
