//! Scouting, settling, then the rounds.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crypto::{Kind, Workload, WorkloadError};
use trial::stats::Random;
use trial::{Event, Sink};

use crate::vcm::controllers::comparisons::comparisons;
use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::fixed::grid;
use crate::vcm::controllers::points;
use crate::vcm::controllers::results::{End, Measured, Results};
use crate::vcm::controllers::schedule::{FINAL, FINALISTS, SCOUT, Schedule, WARM_UP, slices};
use crate::vcm::controllers::spot::Spot;
use crate::vcm::controllers::warm::Warm;
use kit::load::cell::Series;
use kit::load::moderated::{Arm, Moderated};
use kit::load::rig::{Bench, Cores, Course, Load, Record, Regime, RigError, Setup, Tenant};
use kit::place::{Placement, usable_cpus};
use kit::stopping::Stop;

/// A long trial asks so often whether it is to end.
const WINDOW: Duration = Duration::from_millis(100);

/// Why measuring stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum MeasureError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error("no bench")]
    Bench(#[source] RigError),
    #[error("{label}, {what}")]
    Trial {
        label: String,
        what: String,
        #[source]
        source: RigError,
    },
}

/// Where the placements of a configuration are here; those that the host
/// cannot have are missing.
pub(super) fn cores(config: &Config) -> BTreeMap<Placement, Cores> {
    let cpus = usable_cpus().unwrap_or_else(|_| vec![0]);
    let of = |&placement: &Placement| Some((placement, Cores::of(&cpus, placement)?));
    config.placements.iter().filter_map(of).collect()
}

/// Runs the schedule.
pub(super) fn measure(
    config: &Config,
    l2_bytes: u64,
    schedule: &Schedule,
    sink: &mut dyn Sink,
) -> Results {
    let mut results = Results {
        spots: Vec::new(),
        cores: cores(config),
        l2_bytes,
        rounds: 0,
        closing: None,
        end: End::Complete,
    };
    let end = match Rounds::start((config, schedule), &mut results) {
        Ok(mut rounds) => rounds.run(&mut results, sink).err(),
        Err(error) => Some(End::Failed(error)),
    };
    if let Some(end) = end {
        results.end = end;
    }
    results
}

struct Rounds<'a> {
    config: &'a Config,
    schedule: &'a Schedule,
    benches: BTreeMap<Placement, Bench>,
    /// Of each spot: its place among the workloads of its bench, and its
    /// controllers.
    kept: Vec<(usize, BTreeMap<&'static str, Warm>)>,
}

impl<'a> Rounds<'a> {
    fn start(
        (config, schedule): (&'a Config, &'a Schedule),
        results: &mut Results,
    ) -> Result<Self, MeasureError> {
        let mut own = Self {
            config,
            schedule,
            benches: BTreeMap::new(),
            kept: Vec::new(),
        };
        let mut made: BTreeMap<(Kind, usize), Arc<Workload>> = BTreeMap::new();
        for (placement, cores) in results.cores.clone() {
            let here = |spot: &&Spot| spot.placement == placement;
            let mut workloads = Vec::new();
            for spot in schedule.spots.iter().filter(here) {
                let key = (spot.kind, spot.block_bytes);
                let workload = match made.entry(key) {
                    Entry::Occupied(made) => Arc::clone(made.get()),
                    Entry::Vacant(vacant) => {
                        let (kind, block_bytes) = (spot.kind, spot.block_bytes.max(1));
                        let own = Workload::new(&config.backend, kind, block_bytes)?;
                        Arc::clone(vacant.insert(Arc::new(own)))
                    }
                };
                results.spots.push(own.place(*spot, &workload));
                own.kept.push((workloads.len(), BTreeMap::new()));
                workloads.push(workload);
            }
            own.bench(placement, cores, workloads)?;
        }
        Ok(own)
    }

    fn place(&self, spot: Spot, workload: &Workload) -> Measured {
        let contenders = self.schedule.contenders().into_iter();
        Measured {
            spot,
            block_bytes: workload.block_bytes,
            in_flight_bytes: workload.footprint_bytes() * spot.depth,
            scouted: Vec::new(),
            contenders: contenders.map(|one| (one, Series::default())).collect(),
        }
    }

    fn bench(
        &mut self,
        placement: Placement,
        cores: Cores,
        workloads: Vec<Arc<Workload>>,
    ) -> Result<(), MeasureError> {
        if workloads.is_empty() {
            return Ok(());
        }
        let tenant = Tenant {
            workloads,
            depth_max: self.config.depth,
            tasks_max: 1,
        };
        let bench = Bench::start(&Setup {
            cores,
            backend: Arc::clone(&self.config.backend),
            tenants: vec![tenant],
        });
        self.benches
            .insert(placement, bench.map_err(MeasureError::Bench)?);
        Ok(())
    }

    fn run(&mut self, results: &mut Results, sink: &mut dyn Sink) -> Result<(), End> {
        self.prepare(results, sink)?;
        let (mut random, begin) = (Random::new(self.config.seed), Instant::now());
        loop {
            self.keep(results, sink);
            let elapsed_s = begin.elapsed().as_secs_f64();
            let round_s = elapsed_s / results.rounds.max(1) as f64;
            let limits = &self.schedule.limits;
            let stop = limits.stop(results.rounds, (elapsed_s, round_s), || {
                comparisons(self.config, results)
            });
            if let Some(stop) = stop {
                results.closing = limits.closing(stop);
                return match stop {
                    Stop::Late => Err(End::Late(results.rounds)),
                    _ => Ok(()),
                };
            }
            self.round(results, &mut random, sink)?;
            results.rounds += 1;
        }
    }

    /// The best of the fixed settings at every spot, and settled controllers.
    fn prepare(&mut self, results: &mut Results, sink: &mut dyn Sink) -> Result<(), End> {
        let count = results.spots.len();
        for (index, measured) in results.spots.iter_mut().enumerate() {
            let spot = measured.spot;
            // Half of all, as far as a bar needs to know.
            let share = 0.5 * index as f64 / count as f64;
            let now = format!("{}: looking for the best fixed setting", spot.label());
            sink.emit(Event::Progress(share, now));
            measured.scouted = self.scout(index, &spot, sink)?;
            for name in self.schedule.controllers.clone() {
                let now = format!("{}: {name} settles", spot.label());
                sink.emit(Event::Progress(share, now));
                let warm = Warm::new(name, &self.config.parameters);
                let settle = Duration::from_secs_f64(self.config.settle_s);
                self.trial(index, &spot, (name, warm.regime()), settle, sink)?;
                self.kept[index].1.insert(name, warm);
            }
        }
        Ok(())
    }

    /// Every fixed setting once and the best again; fastest first.
    fn scout(
        &mut self,
        index: usize,
        spot: &Spot,
        sink: &dyn Sink,
    ) -> Result<Vec<(Arm, f64)>, End> {
        let scout = SCOUT.mul_f64(slices(spot));
        let mut found = Vec::new();
        for arm in grid(spot.depth) {
            let regime = ("scouting", arm.regime());
            let record = self.trial(index, spot, regime, scout, sink)?;
            found.push((arm, requests_per_s(&record)));
        }
        sort(&mut found);
        let finalists = FINALISTS.min(found.len());
        for (arm, rate) in &mut found[..finalists] {
            let regime = ("scouting", arm.regime());
            let record = self.trial(index, spot, regime, scout * FINAL, sink)?;
            // Weighted by how long each trial was.
            *rate = (*rate + requests_per_s(&record) * f64::from(FINAL)) / f64::from(1 + FINAL);
        }
        sort(&mut found[..finalists]);
        Ok(found)
    }

    /// Every spot once, shuffled, and at each every contender.
    fn round(
        &mut self,
        results: &mut Results,
        random: &mut Random,
        sink: &mut dyn Sink,
    ) -> Result<(), End> {
        let (round, rounds) = (results.rounds, self.schedule.rounds.max(results.rounds + 1));
        let mut order: Vec<_> = (0..results.spots.len()).collect();
        random.shuffle(&mut order);
        for (done, &index) in order.iter().enumerate() {
            let measured = &mut results.spots[index];
            let spot = measured.spot;
            let share = (round as f64 + done as f64 / order.len() as f64) / rounds as f64;
            let now = format!("round {} of {rounds}: {}", round + 1, spot.label());
            sink.emit(Event::Progress(0.5 + 0.5 * share, now));
            let mut contenders: Vec<_> = (0..measured.contenders.len()).collect();
            random.shuffle(&mut contenders);
            for one in contenders {
                let contender = measured.contenders[one].0;
                let name = contender.to_string();
                let regime = self.regime(index, contender, measured.oracle());
                let slice = self.schedule.slice(&spot);
                let record = self.trial(index, &spot, (&name, regime), slice, sink)?;
                measured.contenders[one].1.add(round, record);
            }
        }
        Ok(())
    }

    fn regime(&self, index: usize, contender: Contender, oracle: Option<Arm>) -> Regime {
        match contender {
            Contender::Uncapped => Arm::EACH.regime(),
            Contender::Armed => Arm::ARMED.regime(),
            Contender::Oracle => oracle.unwrap_or(Arm::EACH).regime(),
            Contender::Controlled(name) => self.kept[index].1[name].regime(),
        }
    }

    fn trial(
        &mut self,
        index: usize,
        spot: &Spot,
        (what, regime): (&str, Regime),
        length: Duration,
        sink: &dyn Sink,
    ) -> Result<Record, End> {
        let load = Load::closed(self.kept[index].0, spot.depth);
        let bench = self
            .benches
            .get_mut(&spot.placement)
            .expect("every placement with spots has a bench");
        let course = Course {
            window: WINDOW,
            ..Course::steady(WARM_UP, length, vec![load])
        };
        let record = bench
            .apply(0, regime)
            .and_then(|()| bench.run(&course, &|| sink.is_interrupted()));
        // What an interrupt cut short is no trial.
        if sink.is_interrupted() {
            return Err(End::Interrupted);
        }
        record.map_err(|source| {
            End::Failed(MeasureError::Trial {
                label: spot.label(),
                what: what.to_owned(),
                source,
            })
        })
    }

    /// Emits what there is, so that nothing measured is lost whatever ends
    /// the run; a later point of the same place replaces it.
    fn keep(&self, results: &Results, sink: &mut dyn Sink) {
        let points = points::points(self.config, results);
        points
            .into_iter()
            .for_each(|point| sink.emit(Event::Point(point)));
    }
}

fn requests_per_s(record: &Record) -> f64 {
    record
        .whole()
        .map_or(0.0, |window| window.requests_per_s(0))
}

fn sort(found: &mut [(Arm, f64)]) {
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
}
