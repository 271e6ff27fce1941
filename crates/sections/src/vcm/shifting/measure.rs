//! Scouting, then rounds of runs and trials.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Workload, WorkloadError};
use policy::controllers::by_name;
use trial::stats::Random;
use trial::{Event, Sink};

use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::phase::{Phase, sizes_bytes};
use crate::vcm::shifting::points;
use crate::vcm::shifting::results::{End, Fixed, Results, requests_per_s};
use crate::vcm::shifting::schedule::{FINAL, FINALISTS, SCOUT, SLICE, START, Schedule, WARM_UP};
use kit::controllers::contender::Contender;
use kit::controllers::fixed::grid;
use kit::load::cell::Series;
use kit::load::moderated::{Arm, Moderated};
use kit::load::rig::{
    Bench, Cores, Course, Phase as Stretch, Record, Regime, RigError, Setup, Tenant,
};

/// A run that takes so much longer than planned ends after the round in hand.
const LATE: f64 = 1.25;
/// Start-up that no plan counts, seconds.
const START_S: f64 = 1.0;

/// Why measuring stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum MeasureError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("no bench")]
    Bench(#[source] RigError),
    #[error("{what}")]
    Trial {
        what: String,
        #[source]
        source: RigError,
    },
}

/// Runs the schedule.
pub(super) fn measure(
    (config, cores, l2_bytes): (&Config, Cores, u64),
    schedule: &Schedule,
    sink: &mut dyn Sink,
) -> Results {
    let mut results = Results {
        phases: Vec::new(),
        runs: schedule
            .controllers
            .iter()
            .map(|name| (*name, BTreeMap::new()))
            .collect(),
        cores,
        l2_bytes,
        rounds: 0,
        end: End::Complete,
    };
    let end = match Rounds::start(config, schedule, &mut results) {
        Ok(mut rounds) => rounds.run(&mut results, sink).err(),
        Err(error) => Some(End::Failed(error)),
    };
    if let Some(end) = end {
        results.end = end;
    }
    results
}

/// A part of a round.
#[derive(Clone, Copy)]
enum Part {
    /// A controller through all phases: its place among the runs.
    Run(usize),
    /// Fixed settings in a phase: its place, and that of the contender.
    Trial(usize, usize),
}

struct Rounds<'a> {
    config: &'a Config,
    schedule: &'a Schedule,
    sizes_bytes: Vec<usize>,
    tenants: usize,
    bench: Bench,
}

impl<'a> Rounds<'a> {
    fn start(
        config: &'a Config,
        schedule: &'a Schedule,
        results: &mut Results,
    ) -> Result<Self, MeasureError> {
        let sizes_bytes = sizes_bytes(&config.phases);
        let workload = |&bytes: &usize| Workload::new(&config.backend, config.kind, bytes);
        let workloads: Vec<_> = sizes_bytes.iter().map(workload).collect::<Result<_, _>>()?;
        let fixed = |phase: &Phase| {
            let footprint = |own: &&Workload| own.block_bytes == phase.block_bytes;
            let own = workloads.iter().find(footprint);
            let bytes = own.map_or(phase.block_bytes, Workload::footprint_bytes);
            Fixed {
                phase: *phase,
                in_flight_bytes: bytes * phase.depth * phase.tenants,
                scouted: Vec::new(),
                contenders: Contender::FIXED
                    .map(|one| (one, Series::default()))
                    .to_vec(),
            }
        };
        results.phases = config.phases.iter().map(fixed).collect();
        let tenants = config.most(|phase| phase.tenants);
        let tenant = Tenant {
            workloads: workloads.into_iter().map(Arc::new).collect(),
            depth_max: config.most(|phase| phase.depth),
            tasks_max: 1,
        };
        let setup = Setup {
            cores: results.cores,
            backend: Arc::clone(&config.backend),
            tenants: vec![tenant; tenants],
        };
        Ok(Self {
            config,
            schedule,
            sizes_bytes,
            tenants,
            bench: Bench::start(&setup).map_err(MeasureError::Bench)?,
        })
    }

    fn run(&mut self, results: &mut Results, sink: &mut dyn Sink) -> Result<(), End> {
        let (mut random, begin) = (Random::new(self.config.seed), Instant::now());
        self.scouting(results, sink)?;
        for round in 0..self.schedule.rounds {
            if begin.elapsed().as_secs_f64() > self.schedule.seconds() * LATE + START_S {
                return Err(End::Late(round));
            }
            self.round(results, round, &mut random, sink)?;
            results.rounds += 1;
            points::points(self.config, results)
                .into_iter()
                .for_each(|point| sink.emit(Event::Point(point)));
        }
        Ok(())
    }

    /// The best of the fixed settings of every phase.
    fn scouting(&mut self, results: &mut Results, sink: &mut dyn Sink) -> Result<(), End> {
        let count = results.phases.len();
        for (index, fixed) in results.phases.iter_mut().enumerate() {
            let share = 0.2 * index as f64 / count as f64;
            let now = format!(
                "{}: looking for the best fixed setting",
                fixed.phase.label()
            );
            sink.emit(Event::Progress(share, now));
            fixed.scouted = self.scout(&fixed.phase, sink)?;
        }
        Ok(())
    }

    /// Every fixed setting once and the best again; fastest first.
    fn scout(&mut self, phase: &Phase, sink: &dyn Sink) -> Result<Vec<(Arm, f64)>, End> {
        let mut found = Vec::new();
        for arm in grid(phase.depth) {
            found.push((arm, self.rate(phase, arm, SCOUT, sink)?));
        }
        sort(&mut found);
        let finalists = FINALISTS.min(found.len());
        for (arm, rate) in &mut found[..finalists] {
            let again = self.rate(phase, *arm, SCOUT * FINAL, sink)?;
            // Weighted by how long each trial was.
            *rate = (*rate + again * f64::from(FINAL)) / f64::from(1 + FINAL);
        }
        sort(&mut found[..finalists]);
        Ok(found)
    }

    fn rate(
        &mut self,
        phase: &Phase,
        arm: Arm,
        slice: Duration,
        sink: &dyn Sink,
    ) -> Result<f64, End> {
        let record = self.trial(phase, arm, slice, sink)?;
        Ok(record.whole().map_or(0.0, |window| requests_per_s(&window)))
    }

    /// Every controller's run and every phase's trials once, shuffled.
    fn round(
        &mut self,
        results: &mut Results,
        round: usize,
        random: &mut Random,
        sink: &mut dyn Sink,
    ) -> Result<(), End> {
        let trials = (0..results.phases.len())
            .flat_map(|phase| (0..Contender::FIXED.len()).map(move |one| Part::Trial(phase, one)));
        let mut parts: Vec<_> = (0..results.runs.len())
            .map(Part::Run)
            .chain(trials)
            .collect();
        random.shuffle(&mut parts);
        for (done, part) in parts.iter().enumerate() {
            let rounds = self.schedule.rounds as f64;
            let share = (round as f64 + done as f64 / parts.len() as f64) / rounds;
            let now = |what: &str| format!("round {} of {rounds}: {what}", round + 1);
            match *part {
                Part::Run(one) => {
                    let name = results.runs[one].0;
                    sink.emit(Event::Progress(0.2 + 0.8 * share, now(name)));
                    let record = self.whole(name, sink)?;
                    results.runs[one].1.insert(round, record);
                }
                Part::Trial(phase, one) => {
                    let fixed = &mut results.phases[phase];
                    sink.emit(Event::Progress(
                        0.2 + 0.8 * share,
                        now(&fixed.phase.label()),
                    ));
                    let arm = match fixed.contenders[one].0 {
                        Contender::Oracle => fixed.scouted[0].0,
                        Contender::Armed => Arm::ARMED,
                        Contender::Uncapped | Contender::Controlled(_) => Arm::EACH,
                    };
                    let record = self.trial(&fixed.phase, arm, SLICE, sink)?;
                    fixed.contenders[one].1.add(round, record);
                }
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        phase: &Phase,
        arm: Arm,
        slice: Duration,
        sink: &dyn Sink,
    ) -> Result<Record, End> {
        let loads = phase.loads(&self.sizes_bytes, self.tenants);
        let course = Course::steady(WARM_UP, slice, loads);
        self.course(&phase.label(), || arm.regime(), &course, sink)
    }

    /// A controller through all phases, one for each tenant.
    fn whole(&mut self, name: &'static str, sink: &dyn Sink) -> Result<Record, End> {
        let length = Duration::from_secs_f64(self.schedule.phase_s);
        let stretch = |phase: &Phase| Stretch {
            length,
            loads: phase.loads(&self.sizes_bytes, self.tenants),
        };
        let course = Course {
            warm_up: START,
            window: Duration::from_secs_f64(self.config.window_s),
            phases: self.config.phases.iter().map(stretch).collect(),
        };
        let parameters = self.config.parameters;
        let regime = || {
            let controller = by_name(name, &parameters);
            Regime::controlled(controller.expect("the configuration knows the names"))
        };
        self.course(name, regime, &course, sink)
    }

    fn course(
        &mut self,
        what: &str,
        regime: impl Fn() -> Regime,
        course: &Course,
        sink: &dyn Sink,
    ) -> Result<Record, End> {
        let applied = (0..self.tenants).try_for_each(|one| self.bench.apply(one, regime()));
        let record = applied.and_then(|()| self.bench.run(course, &|| sink.is_interrupted()));
        // What an interrupt cut short is no trial.
        if sink.is_interrupted() {
            return Err(End::Interrupted);
        }
        record.map_err(|source| {
            End::Failed(MeasureError::Trial {
                what: what.to_owned(),
                source,
            })
        })
    }
}

fn sort(found: &mut [(Arm, f64)]) {
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
}
