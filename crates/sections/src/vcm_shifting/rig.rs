//! Scouting before the rounds, and courses.

use std::sync::Arc;
use std::time::Duration;

use crypto::Workload;
use kit::controllers::contender::Contender;
use kit::controllers::fixed::{label, scout, scout_s};
use kit::controllers::shares::mean;
use kit::evidence::Evidence;
use kit::load::benches::{self, SPEED, held};
use kit::load::rig::{
    Bench, Cores, Course, Load, Phase as Stretch, Record, Regime, Tenant, Window,
};
use kit::prelude::*;
use policy::Policy;
use policy::controllers::by_name;
use trial::Sink;

use super::phase::Phase;
use super::recovery::{Look, recovery_s, settled};
use super::{Place, RECOVERY, Remarks, SETTLED, Shifting, TO_ORACLE};

/// Before the first phase of a controller counts: the start is no change.
const START: Duration = Duration::from_millis(300);
/// Before a trial of fixed settings counts.
const WARM_UP: Duration = Duration::from_millis(8);
/// A trial that finds the best of the fixed settings.
const SCOUT: Duration = Duration::from_millis(15);
/// The best is looked at once more, this many times as long, for its speed.
const ONCE_MORE: u32 = 3;
/// Those, with new lanes, parking, and a look at the core's clock, seconds.
pub(super) const COURSE_S: f64 = 0.306;
pub(super) const TRIAL_S: f64 = 0.014;
/// Starting the bench, seconds.
const BENCH_S: f64 = 0.3;

/// Starting, and scouting where there is an oracle.
pub(super) fn start_s(phases: &[Phase], subjects: &Subjects<Shifting>) -> f64 {
    let trial_s = |times| (SCOUT * times).as_secs_f64() + TRIAL_S;
    let scouting = |phase: &Phase| scout_s(phase.depth, trial_s) + trial_s(ONCE_MORE);
    let has_oracle = subjects.iter().any(|one| one.arm == Contender::Oracle);
    let scouted = if has_oracle { phases } else { &[] };
    BENCH_S + scouted.iter().map(scouting).sum::<f64>()
}

/// One bench with every tenant and block size.
pub(super) struct OnBench {
    section: Shifting,
    bench: Bench,
    cores: Cores,
    workloads: Vec<Arc<Workload>>,
    /// Of each phase the best setting, and its speed as it was measured last.
    oracles: Vec<(Policy, f64)>,
    remarks: Remarks,
}

impl OnBench {
    pub(super) fn start(section: &Shifting, host: &Host) -> Result<Self, Stopped> {
        let backend = section.config.backend.get();
        let workload = |bytes| Workload::new(backend, section.kind, bytes).map(Arc::new);
        let workloads = section.sizes_bytes().into_iter().map(workload);
        let workloads: Result<Vec<_>, _> = workloads.collect();
        let workloads = workloads.map_err(Stopped::failed)?;
        let tenant = Tenant {
            workloads: workloads.clone(),
            depth_max: section.most(|phase| phase.depth),
            tasks_max: 1,
        };
        let (_, cores) = section.places(host).kept[0];
        let tenants = vec![tenant; section.most(|phase| phase.tenants)];
        let bench = Bench::start(cores, backend, &tenants);
        Ok(Self {
            section: section.clone(),
            bench: bench.map_err(Stopped::failed)?,
            cores,
            workloads,
            oracles: Vec::new(),
            remarks: Remarks::new(),
        })
    }

    fn workload(&self, phase: &Phase) -> usize {
        let is_own = |own: &Arc<Workload>| own.block_bytes == phase.block_bytes;
        let own = self.workloads.iter().position(is_own);
        own.expect("every phase's size has a workload")
    }

    /// One run through some phases, all tenants taken together.
    fn run(
        &mut self,
        indexes: std::ops::Range<usize>,
        regime: &dyn Fn() -> Regime,
        (warm_up, length): (Duration, Duration),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Record, Stopped> {
        let config = &self.section.config;
        let tenants = self.section.most(|phase| phase.tenants);
        let stretch = |phase: &Phase| {
            let load = Load::closed(self.workload(phase), phase.depth);
            let of = |tenant| load.with_tasks(usize::from(tenant < phase.tenants));
            let loads = (0..tenants).map(of).collect();
            Stretch { length, loads }
        };
        let course = Course {
            warm_up,
            window: Duration::from_secs_f64(config.window_ms.get() / 1e3),
            phases: config.phases[indexes.clone()].iter().map(stretch).collect(),
        };
        for tenant in 0..tenants {
            let applied = self.bench.apply(tenant, regime());
            applied.map_err(Stopped::failed)?;
        }
        let record = self.bench.run(&course, &|| !go_on());
        let mut record = record.map_err(Stopped::failed)?;
        for window in &mut record.windows {
            let phase = indexes.start + window.phase;
            let together = window.together();
            *window = Window { phase, ..together };
        }
        go_on().then_some(record).ok_or(Stopped::Interrupted)
    }

    /// Fixed settings in one phase.
    fn fixed(
        &mut self,
        index: usize,
        policy: Policy,
        length: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Record, Stopped> {
        let times = (WARM_UP, length);
        self.run(index..index + 1, &|| policy.into(), times, go_on)
    }

    /// Through all phases.
    fn course(
        &mut self,
        arm: Contender,
        phase: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Record, Stopped> {
        let count = self.section.config.phases.len();
        if let Contender::Controlled(name) = arm {
            let parameters = self.section.parameters;
            let regime = || {
                let controller = by_name(name, &parameters);
                Regime::controlled(controller.expect("the configuration knows the names"))
            };
            return self.run(0..count, &regime, (START, phase), go_on);
        }
        let mut all = Record::default();
        for index in 0..count {
            let oracle = self.oracles.get(index).map_or(Policy::EACH, |best| best.0);
            let policy = arm.fixed(oracle).unwrap_or(Policy::EACH);
            let own = self.fixed(index, policy, phase, go_on)?;
            all.windows.extend(own.windows);
            all.facts.times.add(own.facts.times);
            all.facts.step_ns = own.facts.step_ns;
        }
        Ok(all)
    }

    /// What a course gave in a phase, its beginning included. What the kernel
    /// counted is the whole's: it ticks too slowly for a phase.
    fn reading(
        &mut self,
        (arm, index): (Contender, usize),
        record: &Record,
        busy_cpus: f64,
    ) -> Option<Reading> {
        let window = record.phase(index)?;
        let phase = &self.section.config.phases[index];
        let workload = &self.workloads[self.workload(phase)];
        let in_flight = (phase.depth * phase.tenants, 1);
        let (facts, cpus) = (&record.facts, self.cores.cpus());
        let mut reading = benches::reading(&window, facts, &cpus, workload, in_flight);
        reading.values.extend(held(&window));
        let oracle = self.oracles.get_mut(index);
        match (arm, oracle) {
            (Contender::Controlled(_), oracle) => {
                let own = record.windows.iter().filter(|window| window.phase == index);
                let looks = own.map(|window| Look {
                    begin_s: window.begin_s,
                    mb_per_s: window.mb_per_s(0),
                });
                let looks: Vec<_> = looks.collect();
                let oracle = oracle.map(|(_, speed)| *speed);
                reading.values.extend(changes(&looks, oracle));
            }
            (Contender::Oracle, Some((policy, speed))) => {
                *speed = window.mb_per_s(0);
                reading.also = Spot::new().named("oracle", label(policy));
            }
            _ => {}
        }
        if let Some(evidence) = &mut reading.evidence {
            evidence.pause_ns = window.pause_ns();
            evidence.busy_cpus = busy_cpus;
        }
        Some(reading)
    }
}

/// What a phase came to, and how soon; one that never stayed there counts as the
/// whole phase.
fn changes(looks: &[Look], oracle_mb_per_s: Option<f64>) -> Vec<(Measure, f64)> {
    let (Some(level), Some(last)) = (settled(looks), looks.last()) else {
        return Vec::new();
    };
    let after_s = recovery_s(looks, level).unwrap_or(last.begin_s);
    let to_oracle_s = oracle_mb_per_s.and_then(|oracle| recovery_s(looks, oracle));
    let mut values = vec![(SETTLED, level), (RECOVERY, after_s * 1e3)];
    values.extend(to_oracle_s.map(|after_s| (TO_ORACLE, after_s * 1e3)));
    values
}

/// Of a course: a pause that spoils a phase is none of it, and its cache must hold
/// the largest.
fn whole(phases: &[Reading]) -> Option<Evidence> {
    let evidence = || phases.iter().filter_map(|one| one.evidence.as_ref());
    let largest = evidence().max_by_key(|one| one.in_flight_bytes)?;
    Some(Evidence {
        requests: evidence().map(|one| one.requests).sum(),
        pause_ns: 0.0,
        ..*largest
    })
}

impl Rig<Shifting> for OnBench {
    fn prepare(
        &mut self,
        subjects: &Subjects<Shifting>,
        sink: &mut dyn Sink,
    ) -> Result<(), Stopped> {
        if subjects.iter().all(|one| one.arm != Contender::Oracle) {
            return Ok(());
        }
        let count = self.section.config.phases.len();
        for index in 0..count {
            let phase = self.section.config.phases[index];
            let now = format!("{}: the best fixed setting", phase.label());
            sink.emit(Event::Progress(index as f64 / count as f64, now));
            let go_on = || !sink.is_interrupted();
            let mut speed = |policy, times| {
                let record = self.fixed(index, policy, SCOUT * times, &go_on)?;
                let whole = record.whole().ok_or(Stopped::Interrupted)?;
                Ok::<_, Stopped>(whole.mb_per_s(0))
            };
            let (best, _) = scout(phase.depth, &mut speed)?[0];
            // What is best of many by chance is less when measured again.
            let once_more = speed(best, ONCE_MORE)?;
            self.oracles.push((best, once_more));
        }
        Ok(())
    }

    /// A whole course, and beside it every phase.
    fn trial(
        &mut self,
        subject: &Subject<Place, Contender>,
        slice: Duration,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let (arm, count) = (subject.arm, self.section.config.phases.len());
        let record = self.course(arm, slice / count as u32, go_on)?;
        let mut remarks = record.windows.iter().map(|window| window.tenants[0].remark);
        if let (Contender::Controlled(name), Some(remark)) = (arm, remarks.find_map(|one| one)) {
            *self.remarks.entry((name, remark)).or_default() += 1;
        }
        let all = record.whole().ok_or(Stopped::Interrupted)?;
        let busy_cpus = all.worker_cpus() + all.client_cpus(0);
        let of = |index| self.reading((arm, index), &record, busy_cpus);
        let beside: Option<Vec<_>> = (0..count).map(of).collect();
        let beside = beside.ok_or(Stopped::Interrupted)?;
        let speeds: Vec<_> = beside.iter().filter_map(|one| one.value(SPEED)).collect();
        let mean = mean(&speeds).map(|mean| (SPEED, mean));
        Ok(Reading {
            evidence: whole(&beside),
            beside,
            ..Reading::new(mean.into_iter().collect())
        })
    }

    fn notes(&self) -> Remarks {
        self.remarks.clone()
    }
}
