//! The rounds: every arm of every row that has so many, shuffled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crypto::{Algorithm, KeyMaterial, Kind, Workload, WorkloadError};
use trial::stats::{Precision, Random, median};
use trial::{Event, Sink};

use crate::speed::measure::{End, MeasureError, Measured, Series};
use crate::speed::peers::arm::Arm;
use crate::speed::peers::ceiling;
use crate::speed::peers::comparisons::{all_at, is_done};
use crate::speed::peers::config::Config;
use crate::speed::peers::grid::{Peers, Row};
use crate::speed::peers::points::points;
use crate::speed::peers::ring_loop;
use crate::speed::peers::schedule::Schedule;
use kit::load::fresh::arm::{Arm as SpeedArm, Cell as SpeedCell};
use kit::load::fresh::trial_run::{Rig, Sample, Slice, TrialError};
use kit::observe;
use kit::openssl;
use kit::place::{Placement, place};
use kit::stopping::{Closing, Stop};

/// What one row gave.
#[derive(Debug)]
pub(super) struct RowResult {
    pub(super) row: Row,
    /// Cell and CPUs, for verdicts; its own arms stay empty.
    pub(super) measured: Measured,
    pub(super) arms: Vec<(Arm, Series)>,
}

impl RowResult {
    /// What an arm gave, if it gave anything.
    pub(super) fn arm(&self, arm: Arm) -> Option<&Series> {
        let own = self.arms.iter().find(|(own, _)| *own == arm);
        own.map(|(_, series)| series)
            .filter(|series| !series.samples.is_empty())
    }

    /// Median requests/s.
    pub(super) fn rate(&self, arm: Arm) -> Option<f64> {
        self.arm(arm)?.rate()
    }

    pub(super) fn kind(&self) -> Kind {
        self.row.cell.kind
    }

    /// Input bytes of a request.
    pub(super) fn block_bytes(&self) -> usize {
        self.measured.block_bytes
    }
}

/// Everything measured.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) rows: Vec<RowResult>,
    /// Whole rounds.
    pub(super) rounds: usize,
    /// Why there was no further round, where widths had a say.
    pub(super) closing: Option<Closing>,
    /// What is wanted of each row, where widths have a say.
    pub(super) rule: Option<Precision>,
    pub(super) end: End,
}

impl Results {
    /// Every look at a worker's core, by CPU: ns of one step.
    pub(super) fn steps_ns(&self) -> BTreeMap<usize, Vec<f64>> {
        let mut by_cpu: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for row in &self.rows {
            let Some(cpus) = &row.measured.cpus else {
                continue;
            };
            let steps = row.arms.iter().flat_map(|(_, series)| &series.step_ns);
            by_cpu.entry(cpus.workers[0]).or_default().extend(steps);
        }
        by_cpu
    }

    /// Tells each row how fast the worker's core usually was, so that a
    /// verdict sees where it was not.
    fn learn_usual(&mut self) {
        let steps = self.steps_ns();
        for row in &mut self.rows {
            let cpu = row.measured.cpus.as_ref().map(|cpus| cpus.workers[0]);
            row.measured.usual_step_ns = cpu
                .and_then(|cpu| steps.get(&cpu))
                .and_then(|steps| median(steps));
        }
    }
}

/// Runs the schedule.
pub(super) fn measure(
    config: &Config,
    peers: &Peers,
    schedule: &Schedule,
    sink: &mut dyn Sink,
) -> Results {
    let mut results = Results {
        rows: Vec::new(),
        rounds: 0,
        closing: None,
        rule: schedule.limits.rule(),
        end: End::Complete,
    };
    let mut workloads = Vec::new();
    for row in &schedule.rows {
        match workload(config, row, &workloads) {
            Ok(workload) => {
                results.rows.push(empty(row, peers, &workload));
                workloads.push(workload);
            }
            Err(error) => {
                results.end = End::Failed(error.into());
                return results;
            }
        }
    }
    results.end = Rounds {
        config,
        peers,
        schedule,
        workloads,
    }
    .run(&mut results, sink);
    results.learn_usual();
    results
}

/// The row's work, with the key of an earlier row where that may be: a new one
/// for RSA takes up to seconds.
fn workload(config: &Config, row: &Row, earlier: &[Workload]) -> Result<Workload, WorkloadError> {
    let (kind, block_bytes) = (row.cell.kind, row.cell.block_bytes);
    let mut earlier = earlier.iter();
    match earlier.find(|one| same_keys(one.kind.algorithm, kind.algorithm)) {
        Some(one) => {
            let material = KeyMaterial::take(&mut one.material.expose().to_vec());
            Workload::with_key(&config.backend, kind, block_bytes, material)
        }
        None => Workload::new(&config.backend, kind, block_bytes),
    }
}

/// Whether they take the same keys, and ones that take long to make.
fn same_keys(a: Algorithm, b: Algorithm) -> bool {
    matches!((a, b), (Algorithm::Rsa(a, _), Algorithm::Rsa(b, _)) if a == b)
}

fn empty(row: &Row, peers: &Peers, workload: &Workload) -> RowResult {
    let cell = row.cell;
    RowResult {
        row: row.clone(),
        measured: Measured {
            cell,
            cpus: place(&peers.host.cpus, Placement::Split, 1, 1),
            block_bytes: workload.block_bytes,
            in_flight_bytes: workload.footprint_bytes() * cell.depth,
            paced_per_s: None,
            usual_step_ns: None,
            arms: Vec::new(),
        },
        arms: row
            .arms
            .iter()
            .filter(|(_, rounds)| *rounds > 0)
            .map(|&(arm, _)| (arm, Series::default()))
            .collect(),
    }
}

struct Rounds<'a> {
    config: &'a Config,
    peers: &'a Peers,
    schedule: &'a Schedule,
    /// By row.
    workloads: Vec<Workload>,
}

/// What other programs gave in one round: a call often measures several rows.
#[derive(Default)]
struct Calls {
    openssl: BTreeMap<Vec<String>, Option<String>>,
    dpdk: BTreeMap<crate::speed::peers::dpdk::Call, Vec<(usize, Sample)>>,
}

impl Rounds<'_> {
    fn run(&self, results: &mut Results, sink: &mut dyn Sink) -> End {
        let mut random = Random::new(self.config.seed);
        let begin = Instant::now();
        loop {
            results.learn_usual();
            self.keep(&results.rows, sink);
            let elapsed_s = begin.elapsed().as_secs_f64();
            if let Some(stop) = self.stop(results, elapsed_s) {
                results.closing = self.schedule.limits.closing(stop);
                return match stop {
                    Stop::Late => End::Late(results.rounds),
                    _ => End::Complete,
                };
            }
            let wanted = self.wanted(results);
            if let Err(end) = self.round(results, &wanted, (&mut random, begin), sink) {
                return end;
            }
            results.rounds += 1;
        }
    }

    /// Whether and why to stop.
    fn stop(&self, results: &Results, elapsed_s: f64) -> Option<Stop> {
        let (limits, rounds) = (&self.schedule.limits, results.rounds);
        let ratios = |error| all_at(self.config, self.peers, results, error);
        let is_beyond = rounds >= limits.rounds;
        let round_s = match is_beyond && self.schedule.grows() {
            true => {
                let wide = self.wide(results);
                let takes = |row: &Row| wide.contains(&row.cell);
                self.schedule.round_s(takes)
            }
            false => 0.0,
        };
        match limits.stop(rounds, (elapsed_s, round_s), ratios)? {
            // What ended them sooner than a claim needs was the budget.
            Stop::RoundsSpent if !self.schedule.grows() && !self.schedule.is_whole() => {
                Some(Stop::BudgetSpent)
            }
            stop => Some(stop),
        }
    }

    /// The rows with a ratio that is wider than wanted, or of few pairs.
    fn wide(&self, results: &Results) -> Vec<SpeedCell> {
        let Some(rule) = results.rule else {
            return Vec::new();
        };
        let rows = results.rows.iter();
        let rows = rows.filter(|row| !is_done(self.config, self.peers, row, &rule));
        rows.map(|row| row.row.cell).collect()
    }

    /// Which rows the next round measures: beyond the plan, those that need
    /// it, with all of their arms.
    fn wanted(&self, results: &Results) -> Vec<(usize, bool)> {
        if results.rounds < self.schedule.limits.rounds {
            return (0..results.rows.len()).map(|row| (row, false)).collect();
        }
        let wide = self.wide(results);
        let rows = results.rows.iter().enumerate();
        rows.filter(|(_, row)| wide.contains(&row.row.cell))
            .map(|(index, _)| (index, true))
            .collect()
    }

    /// Those rows once, shuffled; a row with all of its arms if so said.
    fn round(
        &self,
        results: &mut Results,
        wanted: &[(usize, bool)],
        (random, begin): (&mut Random, Instant),
        sink: &mut dyn Sink,
    ) -> Result<(), End> {
        let (round, rounds) = (results.rounds, self.schedule.limits.rounds);
        let mut calls = Calls::default();
        let mut order = wanted.to_vec();
        random.shuffle(&mut order);
        for (index, whole) in order {
            let share = begin.elapsed().as_secs_f64() / self.schedule.limits.seconds.max(0.001);
            let name = results.rows[index].row.name();
            let now = format!("round {} of {}: {name}", round + 1, rounds.max(round + 1));
            sink.emit(Event::Progress(share.min(1.0), now));
            let row = &mut results.rows[index];
            match self.row(row, (index, round, whole), (&mut calls, random), sink) {
                Ok(true) => {}
                Ok(false) => return Err(End::Interrupted),
                Err(error) => return Err(End::Failed(error)),
            }
        }
        Ok(())
    }

    /// Emits what there is, so that nothing measured is lost whatever ends
    /// the run; a later point of the same place replaces it.
    fn keep(&self, rows: &[RowResult], sink: &mut dyn Sink) {
        let of = |row| points(self.config, self.peers, self.schedule, row);
        rows.iter()
            .flat_map(of)
            .for_each(|point| sink.emit(Event::Point(point)));
    }

    /// One round of one row; `false` when interrupted.
    fn row(
        &self,
        result: &mut RowResult,
        (index, round, whole): (usize, usize, bool),
        (calls, random): (&mut Calls, &mut Random),
        sink: &dyn Sink,
    ) -> Result<bool, MeasureError> {
        let mut order: Vec<_> = (0..result.arms.len()).collect();
        random.shuffle(&mut order);
        for at in order {
            if sink.is_interrupted() {
                return Ok(false);
            }
            let arm = result.arms[at].0;
            if !whole && round >= result.row.rounds(arm) {
                continue;
            }
            let cpu = result.measured.cpus.as_ref().map(|cpus| cpus.workers[0]);
            let step_ns = cpu.and_then(observe::step_ns);
            let slice = Slice {
                length: Duration::from_secs_f64(self.schedule.slice_s),
                go_on: &|| !sink.is_interrupted(),
            };
            let sample = self.trial(result, (index, arm), slice, calls);
            if sink.is_interrupted() {
                return Ok(false);
            }
            let sample = sample.map_err(|source| MeasureError::Trial {
                arm: arm.like(),
                cell: Box::new(result.row.cell),
                source,
            })?;
            if let Some(sample) = sample {
                let series = &mut result.arms[at].1;
                series.add(round, sample);
                series.step_ns.extend(step_ns);
            }
        }
        Ok(true)
    }

    /// One trial. A peer that fails is left out, not an end of the run.
    fn trial(
        &self,
        result: &RowResult,
        (index, arm): (usize, Arm),
        slice: Slice<'_>,
        calls: &mut Calls,
    ) -> Result<Option<Sample>, TrialError> {
        let Some(cpus) = &result.measured.cpus else {
            return Ok(None);
        };
        let (cell, workload) = (result.row.cell, &self.workloads[index]);
        let rig = Rig {
            backend: &self.config.backend,
            cell,
            workload,
            cpus,
        };
        let (client, worker) = (cpus.clients[0], cpus.workers[0]);
        match arm {
            Arm::Engine => rig.lanes(SpeedArm::POLLED, 0.0, slice).map(Some),
            Arm::OwnLoop => rig.raw(slice).map(Some),
            Arm::Ring => ring_loop::trial(workload, cell.depth, worker, slice).map(Some),
            Arm::Ceiling => ceiling::rounds(cell.kind)
                .and_then(|rounds| ceiling::trial(rounds, workload.block_bytes, worker, slice))
                .transpose(),
            Arm::OpenSsl => {
                let arguments = openssl::arguments(cell.kind, workload.block_bytes);
                let output = calls
                    .openssl
                    .entry(arguments)
                    .or_insert_with_key(|arguments| openssl::printed(arguments, worker));
                let sample = |output: &String| {
                    openssl::requests_per_s(output, cell.kind, workload.block_bytes)
                        .map(crate::speed::measure::of_rate)
                };
                Ok(output.as_ref().and_then(sample))
            }
            Arm::Dpdk32 | Arm::Dpdk1 => {
                Ok(self.schedule.dpdk_call(&result.row, arm).and_then(|call| {
                    let samples = calls
                        .dpdk
                        .entry(call)
                        .or_insert_with_key(|call| call.run(client, worker));
                    let own = samples.iter().find(|(size, _)| *size == cell.block_bytes);
                    own.map(|(_, sample)| sample.clone())
                }))
            }
        }
    }
}
