//! The rounds: every arm of every cell once a round, shuffled.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Backend, Kind, Workload, WorkloadError};
use trial::stats::{ERROR, Random};
use trial::{Event, Sink};

use crate::speed::comparisons::comparisons;
use crate::speed::config::Config;
use crate::speed::grid::Row;
use crate::speed::points::points;
use crate::speed::schedule::{Schedule, slice};
use kit::crossing::{self, Crossing};
use kit::host::Host;
use kit::load::fresh::arm::{Arm, Cell};
use kit::load::fresh::trial_run::{Rig, Sample, Slice, TrialError};
use kit::observe;
use kit::openssl;
use kit::place::{Placement, place};
use kit::stopping::Stop;

pub(super) use crate::speed::results::{Measured, Results, Series};

/// By default the open loop runs at half of what the closed loop reached, and
/// no faster than this: a generator that times every request needs time.
const PACED_PER_S_MAX: f64 = 50_000.0;
const WAKE_UP_SLICE: Duration = Duration::from_millis(40);
const LINE_SLICE: Duration = Duration::from_millis(2);

/// How the rounds ended.
#[derive(Debug)]
pub(crate) enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed(MeasureError),
}

/// Why the rounds stopped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeasureError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("{arm}, {algorithm}, {block_bytes} bytes", algorithm = .cell.kind.algorithm, block_bytes = .cell.block_bytes)]
    Trial {
        arm: Arm,
        cell: Box<Cell>,
        #[source]
        source: TrialError,
    },
}

/// Runs the schedule.
pub(super) fn measure(
    config: &Config,
    host: &Host,
    schedule: &Schedule,
    sink: &mut dyn Sink,
) -> Results {
    let mut results = Results {
        cells: Vec::new(),
        wake_up_ns: BTreeMap::new(),
        line_ns: Vec::new(),
        rounds: 0,
        closing: None,
        error: ERROR,
        end: End::Complete,
    };
    match workloads(&config.backend, &schedule.rows) {
        Ok(workloads) => {
            results.cells = schedule
                .rows
                .iter()
                .map(|row| cell(row, host, &workloads))
                .collect();
            results.end = Rounds {
                config,
                host,
                schedule,
                workloads,
            }
            .run(&mut results, sink);
            results.learn_usual();
        }
        Err(error) => results.end = End::Failed(error.into()),
    }
    results
}

type Workloads = BTreeMap<(Kind, usize), Workload>;

fn workloads(backend: &Arc<dyn Backend>, rows: &[Row]) -> Result<Workloads, WorkloadError> {
    let mut workloads = Workloads::new();
    for Row { cell, .. } in rows {
        let key = (cell.kind, cell.block_bytes);
        if let Entry::Vacant(vacant) = workloads.entry(key) {
            vacant.insert(Workload::new(backend, cell.kind, cell.block_bytes)?);
        }
    }
    Ok(workloads)
}

fn cell(row: &Row, host: &Host, workloads: &Workloads) -> Measured {
    let cell = row.cell;
    let workload = &workloads[&(cell.kind, cell.block_bytes)];
    Measured {
        cell,
        cpus: place(&host.cpus, cell.placement, cell.workers, cell.lanes),
        block_bytes: workload.block_bytes,
        in_flight_bytes: workload.footprint_bytes() * cell.depth * cell.lanes,
        paced_per_s: None,
        usual_step_ns: None,
        arms: row
            .arms
            .iter()
            .map(|&arm| (arm, Series::default()))
            .collect(),
    }
}

/// A rate is all that a peer reports; a second of it is what was measured.
pub(super) fn of_rate(requests_per_s: f64) -> Sample {
    Sample {
        requests: requests_per_s as u64,
        requests_per_s,
        ..Sample::default()
    }
}

struct Rounds<'a> {
    config: &'a Config,
    host: &'a Host,
    schedule: &'a Schedule,
    workloads: Workloads,
}

impl Rounds<'_> {
    fn run(&self, results: &mut Results, sink: &mut dyn Sink) -> End {
        let mut random = Random::new(self.config.seed);
        let begin = Instant::now();
        loop {
            results.learn_usual();
            self.keep(results, sink);
            let elapsed_s = begin.elapsed().as_secs_f64();
            let limits = &self.schedule.limits;
            let round_s = elapsed_s / results.rounds.max(1) as f64;
            let stop = limits.stop(results.rounds, (elapsed_s, round_s), |error| {
                comparisons((self.config, self.host, error), results)
            });
            results.error = limits.error(stop, results.rounds);
            if let Some(stop) = stop {
                results.closing = limits.closing(stop);
                return match stop {
                    Stop::Late => End::Late(results.rounds),
                    _ => End::Complete,
                };
            }
            if let Err(end) = self.round(results, &mut random, sink) {
                return end;
            }
            results.rounds += 1;
        }
    }

    /// Every cell once, shuffled.
    fn round(
        &self,
        results: &mut Results,
        random: &mut Random,
        sink: &mut dyn Sink,
    ) -> Result<(), End> {
        let round = results.rounds;
        if let Some(ns) = self.wake_up() {
            results.wake_up_ns.insert(round, ns);
        }
        let mut order: Vec<_> = (0..results.cells.len()).collect();
        random.shuffle(&mut order);
        // More rounds than planned leave the bar at its end.
        let rounds = self.schedule.rounds.max(round + 1);
        for (done, &index) in order.iter().enumerate() {
            let share = (round as f64 + done as f64 / order.len() as f64) / rounds as f64;
            sink.emit(Event::Progress(
                share,
                progress(round, rounds, &results.cells[index].cell),
            ));
            results.line_ns.extend(self.line());
            match self.cell(&mut results.cells[index], round, random, sink) {
                Ok(true) => {}
                Ok(false) => return Err(End::Interrupted),
                Err(error) => return Err(End::Failed(error)),
            }
        }
        Ok(())
    }

    /// Emits what there is, so that nothing measured is lost whatever ends
    /// the run; a later point of the same place replaces it.
    fn keep(&self, results: &Results, sink: &mut dyn Sink) {
        let points = |measured| points(self.config, self.host, measured);
        let measured = results
            .cells
            .iter()
            .flat_map(points)
            .filter(|point| point.metric("requests_per_s").is_some());
        measured.for_each(|point| sink.emit(Event::Point(point)));
    }

    fn wake_up(&self) -> Option<f64> {
        self.price(Crossing::Notification, WAKE_UP_SLICE)
    }

    fn line(&self) -> Option<f64> {
        self.price(Crossing::CacheLine, LINE_SLICE)
    }

    /// What a crossing costs between the cores of the simplest split cell.
    fn price(&self, crossing: Crossing, slice: Duration) -> Option<f64> {
        let cores = place(&self.host.cpus, Placement::Split, 1, 1)?;
        let cpus = crossing::Cpus {
            own: cores.clients[0],
            other: Some(cores.workers[0]),
        };
        let price = crossing::price(crossing, &cpus, slice, &|| true);
        price.ok().map(|price| price.median_ns)
    }

    /// One round of one cell; `false` when interrupted.
    fn cell(
        &self,
        measured: &mut Measured,
        round: usize,
        random: &mut Random,
        sink: &dyn Sink,
    ) -> Result<bool, MeasureError> {
        let mut order: Vec<_> = (0..measured.arms.len()).collect();
        random.shuffle(&mut order);
        // The open loop's rate follows from what the closed loop reached.
        order.sort_by_key(|&index| matches!(measured.arms[index].0, Arm::Paced(_)));
        for index in order {
            if sink.is_interrupted() {
                return Ok(false);
            }
            let arm = measured.arms[index].0;
            let cpu = measured.cpus.as_ref().map(|cpus| cpus.workers[0]);
            let step_ns = cpu.and_then(observe::step_ns);
            let sample = self.trial(measured, arm, sink);
            if sink.is_interrupted() {
                return Ok(false);
            }
            let sample = sample.map_err(|source| MeasureError::Trial {
                arm,
                cell: Box::new(measured.cell),
                source,
            })?;
            if let Some(sample) = sample {
                let series = &mut measured.arms[index].1;
                series.add(round, sample);
                series.step_ns.extend(step_ns);
            }
        }
        Ok(true)
    }

    fn trial(
        &self,
        measured: &mut Measured,
        arm: Arm,
        sink: &dyn Sink,
    ) -> Result<Option<Sample>, TrialError> {
        let Some(cpus) = measured.cpus.clone() else {
            return Ok(None);
        };
        let cell = measured.cell;
        let rig = Rig {
            backend: &self.config.backend,
            cell,
            workload: &self.workloads[&(cell.kind, cell.block_bytes)],
            cpus: &cpus,
        };
        let slice = Slice {
            length: slice(self.schedule, arm),
            go_on: &|| !sink.is_interrupted(),
        };
        match arm {
            Arm::Lane(..) => rig.lanes(arm, 0.0, slice).map(Some),
            Arm::Paced(_) => rig.lanes(arm, self.pace(measured), slice).map(Some),
            Arm::Raw => rig.raw(slice).map(Some),
            // A peer that fails is left out, not an end of the run.
            Arm::OpenSsl => {
                let rate = openssl::measure(cell.kind, measured.block_bytes, cpus.workers[0]);
                Ok(rate.map(of_rate))
            }
        }
    }

    fn pace(&self, measured: &mut Measured) -> f64 {
        if measured.paced_per_s.is_none() {
            let lanes = measured
                .arms
                .iter()
                .filter(|(arm, _)| matches!(arm, Arm::Lane(..)));
            let best = lanes
                .filter_map(|(_, series)| series.rate())
                .fold(0.0, f64::max);
            let chosen = self
                .config
                .rate_per_s
                .unwrap_or((best / 2.0).clamp(1.0, PACED_PER_S_MAX).round());
            measured.paced_per_s = Some(chosen);
        }
        measured.paced_per_s.unwrap_or(1.0)
    }
}

fn progress(round: usize, rounds: usize, cell: &Cell) -> String {
    format!(
        "round {} of {rounds}: {}, {} bytes, {}",
        round + 1,
        cell.kind.algorithm,
        cell.block_bytes,
        cell.placement.name()
    )
}
