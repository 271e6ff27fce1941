//! The rounds: every arm of every row that has so many, shuffled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crypto::{Algorithm, KeyMaterial, Kind, Workload, WorkloadError};
use trial::stats::{Random, median};
use trial::{Event, Sink};

use super::super::arm::Arm as SpeedArm;
use super::super::measure::{End, MeasureError, Measured, Series};
use super::super::place::{Placement, place};
use super::super::trial_run::{Rig, Sample, TrialError};
use super::super::{observe, peer};
use super::arm::Arm;
use super::config::Config;
use super::grid::{Peers, Row};
use super::points::points;
use super::schedule::Schedule;
use super::{ceiling, ring_loop};

/// A run that takes so much longer than planned ends after the round in hand.
const LATE: f64 = 1.25;

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
    pub(super) end: End,
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
    .run(&mut results.rows, sink);
    learn_usual(&mut results.rows);
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

/// Tells each row how fast the worker's core usually was, so that a verdict
/// sees where it was not.
fn learn_usual(rows: &mut [RowResult]) {
    let all = rows.iter().flat_map(|row| &row.arms);
    let steps: Vec<_> = all
        .flat_map(|(_, series)| series.step_ns.iter().copied())
        .collect();
    let usual = median(&steps);
    rows.iter_mut()
        .for_each(|row| row.measured.usual_step_ns = usual);
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
    dpdk: BTreeMap<super::dpdk::Call, Vec<(usize, Sample)>>,
}

impl Rounds<'_> {
    fn run(&self, rows: &mut [RowResult], sink: &mut dyn Sink) -> End {
        let mut random = Random::new(self.config.seed);
        let (begin, rounds) = (Instant::now(), self.schedule.rounds());
        for round in 0..rounds {
            self.keep(rows, sink);
            if begin.elapsed().as_secs_f64() > self.schedule.seconds() * LATE + 1.0 {
                return End::Late(round);
            }
            let mut calls = Calls::default();
            let mut order: Vec<_> = (0..rows.len()).collect();
            random.shuffle(&mut order);
            for index in order {
                let share = begin.elapsed().as_secs_f64() / self.schedule.seconds().max(0.001);
                let now = format!(
                    "round {} of {rounds}: {}",
                    round + 1,
                    rows[index].row.name()
                );
                sink.emit(Event::Progress(share.min(1.0), now));
                match self.row(
                    &mut rows[index],
                    index,
                    round,
                    (&mut calls, &mut random),
                    sink,
                ) {
                    Ok(true) => {}
                    Ok(false) => return End::Interrupted,
                    Err(error) => return End::Failed(error),
                }
            }
        }
        End::Complete
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
        index: usize,
        round: usize,
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
            if round >= result.row.rounds(arm) {
                continue;
            }
            let cpu = result.measured.cpus.as_ref().map(|cpus| cpus.workers[0]);
            let step_ns = cpu.and_then(observe::step_ns);
            let sample = self.trial(result, index, arm, calls);
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
        index: usize,
        arm: Arm,
        calls: &mut Calls,
    ) -> Result<Option<Sample>, TrialError> {
        let Some(cpus) = &result.measured.cpus else {
            return Ok(None);
        };
        let (cell, workload) = (result.row.cell, &self.workloads[index]);
        let slice = Duration::from_secs_f64(self.schedule.slice_s);
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
                let arguments = peer::arguments(cell.kind, workload.block_bytes);
                let output = calls
                    .openssl
                    .entry(arguments)
                    .or_insert_with_key(|arguments| peer::printed(arguments, worker));
                let sample =
                    |output: &String| peer::sample(output, cell.kind, workload.block_bytes);
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
