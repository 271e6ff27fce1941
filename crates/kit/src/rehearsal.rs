//! A section without its host: everything but the trials is real, and these give
//! speeds that are known beforehand. So one test holds every section to the same
//! promises.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use trial::stats::Random;
use trial::{Dimension, Event, PlanError, RunError, Validity, Verdict, Weight};

use crate::ConfigError;
use crate::config::keys;
use crate::experiment::{Experiment, Rig};
use crate::host::Host;
use crate::plan;
use crate::section::run_with;
use crate::subject::{Measure, Reading, Stopped, Subject};
use crate::testing::{self, Collector};

/// What a rehearsal is to show.
#[derive(Clone, Debug)]
pub struct Script {
    pub budget: Duration,
    /// CPUs that the process may use.
    pub cpus: Vec<usize>,
    /// Interrupts after this many trials.
    pub interrupt_after: Option<usize>,
    /// The trial that breaks.
    pub breaks_at: Option<usize>,
    /// Subjects, by their order, that the host cannot do: one in this many.
    pub missing_one_in: Option<usize>,
    /// Trials of which none is valid: those of one subject in this many.
    pub noisy_one_in: Option<usize>,
    /// After this many trials none is valid.
    pub noisy_after: Option<usize>,
    /// What every measure is at a point.
    pub speed: fn(&BTreeMap<String, Dimension>) -> f64,
    /// The seed of a host that changes its state, drifts, and whose trials are
    /// like their neighbours; none: one that stays as it is.
    pub moves: Option<u64>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            budget: Duration::from_secs(600),
            cpus: vec![0, 1],
            interrupt_after: None,
            breaks_at: None,
            missing_one_in: None,
            noisy_one_in: None,
            noisy_after: None,
            speed: known,
            moves: None,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Rehearsal {
    pub events: Vec<Event>,
    pub result: Result<(), RunError>,
    /// What the plan says it takes.
    pub planned_s: f64,
    pub left_out: Option<String>,
    pub trials: usize,
    /// Subjects of a round that have a trial of their own.
    pub subjects: usize,
    /// Of these, in every round.
    pub in_every_round: usize,
}

/// Why there was none.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// The value of every measure at a point: known beforehand, and other elsewhere.
#[must_use]
pub fn known(point: &BTreeMap<String, Dimension>) -> f64 {
    let text: String = point
        .iter()
        .map(|(name, value)| format!("{name}={value};"))
        .collect();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    100.0 + (hash >> 33) as f64 % 900.0
}

/// What a section says first, as it is by default, of such speeds.
pub fn headline<E: Experiment>(
    speed: fn(&BTreeMap<String, Dimension>) -> f64,
) -> Result<String, RehearsalError> {
    let script = Script {
        speed,
        ..Script::default()
    };
    let run = rehearse::<E>(&toml::Table::new(), &script)?;
    Ok(testing::findings(&run.events, Weight::Headline))
}

/// Runs a section so.
pub fn rehearse<E: Experiment>(
    table: &toml::Table,
    script: &Script,
) -> Result<Rehearsal, RehearsalError> {
    let experiment = E::new(keys::parse(table)?)?;
    let host = Host {
        l2_bytes: 2 << 20,
        ..Host::with_cpus(script.cpus.clone())
    };
    let all = experiment.subjects(&host);
    plan::any(&experiment, &host, &all)?;
    let job = plan::job(&experiment, &all, script.budget)?;
    let mut sink = Collector::default();
    let mut rig = Known::<E> {
        script: script.clone(),
        subjects: job.subjects.clone(),
        measures: experiment.measures(),
        trials: 0,
        moving: script.moves.map(Moving::new),
        interrupted: Rc::clone(&sink.interrupted),
    };
    let result = run_with(&experiment, &host, &job, &mut rig, &mut sink);
    let subjects = || plan::trials(&job.subjects);
    Ok(Rehearsal {
        events: sink.events,
        result,
        planned_s: job.seconds(),
        trials: rig.trials,
        subjects: subjects().count(),
        in_every_round: subjects().filter(|one| !one.is_once).count(),
        left_out: job.left_out,
    })
}

struct Known<E: Experiment> {
    script: Script,
    subjects: Vec<Subject<E::Place, E::Arm>>,
    measures: Vec<Measure>,
    trials: usize,
    moving: Option<Moving>,
    interrupted: Rc<Cell<bool>>,
}

/// A host that moves.
struct Moving {
    random: Random,
    is_slow: bool,
    drift: f64,
    correlated: f64,
}

impl Moving {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            is_slow: false,
            drift: 0.0,
            correlated: 0.0,
        }
    }

    /// What the next trial's values are multiplied by.
    fn next(&mut self) -> f64 {
        let Self { random, .. } = self;
        let mut noise = |spread: f64| spread * (2.0 * random.unit() - 1.0);
        self.drift += noise(0.02) - 0.002;
        self.correlated = 0.95 * self.correlated + noise(0.05);
        let own = noise(0.05);
        if self.random.unit() < 1.0 / 12.0 {
            self.is_slow = !self.is_slow;
        }
        let state = if self.is_slow { 1.0 / 1.6 } else { 1.0 };
        state * (self.drift + self.correlated + own).exp()
    }
}

impl<E: Experiment> Rig<E> for Known<E> {
    fn trial(
        &mut self,
        subject: &Subject<E::Place, E::Arm>,
        _: Duration,
        _: &dyn Fn() -> bool,
    ) -> Result<Reading, Stopped> {
        let point = subject.spot.dimensions();
        let is_own =
            |own: &Subject<E::Place, E::Arm>| own.place == subject.place && own.arm == subject.arm;
        let index = self.subjects.iter().position(is_own);
        let index = index.expect("it is one of the job's");
        let beside = self.subjects[index + 1..].iter();
        let beside = beside.take_while(|own| own.shares_trial);
        let is_one_in = |one_in: Option<usize>| one_in.is_some_and(|one_in| index % one_in == 0);
        if is_one_in(self.script.missing_one_in) {
            return Err(Stopped::NotSupported {
                what: "this subject".to_owned(),
                remedy: "install it".to_owned(),
            });
        }
        self.trials += 1;
        let is_after = |most: Option<usize>| most.is_some_and(|most| self.trials > most);
        if is_after(self.script.interrupt_after) {
            self.interrupted.set(true);
            return Err(Stopped::Interrupted);
        }
        if self.script.breaks_at == Some(self.trials) {
            return Err(Stopped::Failed("a planted failure".into()));
        }
        // A little apart, so that intervals have a width.
        let jitter = match &mut self.moving {
            Some(moving) => moving.next(),
            None => 1.0 + (self.trials % 5) as f64 * 1e-6,
        };
        let give = |point: &BTreeMap<String, Dimension>| {
            let value = (self.script.speed)(point) * jitter;
            let values = self.measures.iter().map(|&measure| (measure, value));
            Reading::new(values.collect())
        };
        let mut reading = give(&point);
        let beside = beside.map(|own| give(&own.spot.dimensions()));
        reading.beside = beside.collect();
        if is_after(self.script.noisy_after) || is_one_in(self.script.noisy_one_in) {
            let noisy = Verdict::new(Validity::Noisy, "a planted pause", "a quiet host");
            let all = reading.beside.iter_mut();
            all.for_each(|one| one.verdict = noisy.clone());
            reading.verdict = noisy;
        }
        Ok(reading)
    }
}
