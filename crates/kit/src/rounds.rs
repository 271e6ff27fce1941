//! The rounds: every subject once, place by place in shuffled order and at each
//! its arms in shuffled order, so that any two are interleaved pairs.

use std::time::Instant;

use trial::stats::Random;
use trial::{Dimension, Event, Finding, RunError, Sink, Verdict, Weight};

use crate::config::keys::Keys;
use crate::derived::points;
use crate::experiment::{Experiment, Results, Rig};
use crate::plan::Job;
use crate::series::Series;
use crate::stopping::{Closing, Stop};
use crate::subject::Stopped;
use crate::words::finding;

/// What is not valid is measured again: a disturbance may pass. The maximum number
/// of trials of a subject with a valid round, and of one without: what is wrong
/// with a host does not pass.
const TRIES: (usize, usize) = (8, 2);

/// How the rounds ended.
#[derive(Debug)]
pub enum End {
    Complete(Option<Closing>),
    /// It took too long; this many rounds are whole.
    Late(usize),
    Interrupted,
    Failed {
        label: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl End {
    /// What to say about it.
    pub fn finding(&self) -> Option<Finding> {
        let (text, remedy) = match self {
            Self::Complete(_) => return None,
            Self::Late(rounds) => {
                let rounds = match rounds {
                    1 => "only one round was".to_owned(),
                    rounds => format!("only {rounds} rounds were"),
                };
                (
                    format!("The host was so slow that {rounds} measured in the time planned."),
                    "Measure on a quiet host, or with a larger --budget.",
                )
            }
            Self::Interrupted => (
                "Interrupted: what is here stands on the rounds that were measured.".to_owned(),
                "Run again for the intervals that a claim needs.",
            ),
            Self::Failed { label, source } => (
                format!("A trial failed ({label}: {source}). What else was measured stands."),
                "See the error; run again.",
            ),
        };
        Some(finding(Weight::Warning, text, remedy))
    }

    /// As a section's end.
    ///
    /// # Errors
    /// [`RunError`] unless the rounds are whole.
    pub fn result(self) -> Result<(), RunError> {
        match self {
            Self::Complete(_) | Self::Late(_) => Ok(()),
            Self::Interrupted => Err(RunError::Interrupted),
            Self::Failed { label, source } => Err(RunError::Failed {
                context: format!("a trial failed: {label}"),
                source: Some(source),
            }),
        }
    }
}

/// Measures a job. After each round its points are emitted, so that nothing is
/// lost whatever ends the run. A subject that fails is left out from then on,
/// and the first such failure is the end once all is measured.
pub fn measure<E: Experiment>(
    rig: &mut dyn Rig<E>,
    job: &Job<E>,
    results: &mut Results<'_, E>,
    sink: &mut dyn Sink,
) -> End {
    sink.emit(Event::Progress(
        0.0,
        "what the trials need to know".to_owned(),
    ));
    let share = job.start_share();
    let mut part = Part { sink, share };
    let prepared = rig.prepare(&job.subjects, &mut part);
    match prepared {
        Ok(()) => {}
        Err(Stopped::Interrupted) => return End::Interrupted,
        Err(stopped) => return failed("before the rounds".to_owned(), stopped),
    }
    results.about = rig.about();
    let mut random = Random::new(results.experiment.config().common().seed);
    let begin = Instant::now();
    let (mut rounds, mut failure) = (0, None);
    loop {
        let elapsed_s = begin.elapsed().as_secs_f64();
        let round_s = elapsed_s / rounds.max(1) as f64;
        let stop = job.limits.stop(rounds, (elapsed_s, round_s), |error| {
            let all = results.ratios(error).into_iter();
            all.map(|ratio| ratio.comparison).collect()
        });
        let stop = stop.filter(|_| rounds > 0);
        results.error = job.limits.error(stop, rounds);
        match stop {
            Some(Stop::Late) => return failure.unwrap_or(End::Late(rounds)),
            Some(stop) => return failure.unwrap_or(End::Complete(job.limits.closing(stop))),
            None => {}
        }
        let is_late = || begin.elapsed().as_secs_f64() > job.limits.late_s();
        match one(rig, job, results, (rounds, &mut random), &is_late, sink) {
            Ok(end) => failure = failure.or(end),
            Err(end) => return end,
        }
        rounds += 1;
        points::emit(results, false, sink);
    }
}

/// What comes before the rounds: its share of all.
struct Part<'a> {
    sink: &'a mut dyn Sink,
    share: f64,
}

impl Sink for Part<'_> {
    fn emit(&mut self, event: Event) {
        self.sink.emit(match event {
            Event::Progress(done, now) => Event::Progress(done * self.share, now),
            other => other,
        });
    }

    fn is_interrupted(&self) -> bool {
        self.sink.is_interrupted()
    }
}

/// One round: the failure that spoilt a subject, if one did; an error ends all.
fn one<E: Experiment>(
    rig: &mut dyn Rig<E>,
    job: &Job<E>,
    results: &mut Results<'_, E>,
    (round, random): (usize, &mut Random),
    is_late: &dyn Fn() -> bool,
    sink: &mut dyn Sink,
) -> Result<Option<End>, End> {
    let mut failure = None;
    let mut order = order(job, random);
    let is_once = |index: &usize| job.subjects[*index].is_once;
    match round {
        0 => order.sort_by_key(is_once),
        _ => order.retain(|index| !is_once(index)),
    }
    for (done, &index) in order.iter().enumerate() {
        let subject = &job.subjects[index];
        let label = subject.spot.words();
        let total = job.rounds.max(round + 1);
        let share = (round as f64 + done as f64 / order.len() as f64) / total as f64;
        let now = format!("round {} of {total}: {label}", round + 1);
        let start = job.start_share();
        sink.emit(Event::Progress(start + (1.0 - start) * share, now));
        let beside = job.subjects[index + 1..].iter();
        let beside = beside.take_while(|subject| subject.shares_trial).count();
        let own = &mut results.series[index..=index + beside];
        if own[0].failure.is_some() {
            continue;
        }
        let go_on = || !sink.is_interrupted();
        if !go_on() {
            return Err(End::Interrupted);
        }
        let tries = if own[0].is_ever_valid() {
            TRIES.0
        } else {
            TRIES.1
        };
        let mut trial = || {
            let reading = rig.trial(subject, job.slice(subject), &go_on)?;
            Ok(reading.checked())
        };
        let mut last: Result<_, Stopped> = trial();
        for _ in 1..tries {
            let is_doubtful = |reading: &crate::subject::Reading| !reading.verdict.is_valid();
            if !last.as_ref().is_ok_and(is_doubtful) || is_late() || !go_on() {
                break;
            }
            last = trial();
        }
        // What an interrupt cut short is no trial.
        if !go_on() {
            return Err(End::Interrupted);
        }
        if let Some(end) = keep(own, round, last, label)? {
            failure = failure.or(Some(end));
        }
    }
    Ok(failure)
}

/// Of a subject, and of those that share its trial.
fn keep(
    own: &mut [Series],
    round: usize,
    trial: Result<crate::subject::Reading, Stopped>,
    label: String,
) -> Result<Option<End>, End> {
    let stopped = match trial {
        Ok(mut reading) => {
            let beside = std::mem::take(&mut reading.beside);
            let readings = std::iter::once(reading).chain(beside);
            for (series, reading) in own.iter_mut().zip(readings) {
                series.rounds.insert(round, reading);
            }
            return Ok(None);
        }
        Err(stopped) => stopped,
    };
    for series in own {
        series.failure = stopped.verdict();
    }
    match stopped {
        Stopped::Interrupted => Err(End::Interrupted),
        Stopped::NotSupported { .. } | Stopped::Doubted(_) => Ok(None),
        Stopped::Failed(source) => Ok(Some(End::Failed { label, source })),
    }
}

pub(crate) fn failed(label: String, stopped: Stopped) -> End {
    match stopped {
        Stopped::Interrupted => End::Interrupted,
        Stopped::Failed(source) => End::Failed { label, source },
        Stopped::NotSupported { .. } | Stopped::Doubted(_) => {
            let Verdict { reason, remedy, .. } = stopped.verdict().expect("it is no interrupt");
            let source = format!("{reason}; {remedy}").into();
            End::Failed { label, source }
        }
    }
}

/// Places in shuffled order, those that are measured together side by side, and
/// at each its arms.
fn order<E: Experiment>(job: &Job<E>, random: &mut Random) -> Vec<usize> {
    let mut places: Vec<(&E::Place, Option<&Dimension>, Vec<usize>)> = Vec::new();
    let all = job.subjects.iter().enumerate();
    for (index, subject) in all.filter(|(_, subject)| !subject.shares_trial) {
        let same = |own: &&mut (&E::Place, _, _)| *own.0 == subject.place;
        match places.iter_mut().find(same) {
            Some((.., own)) => own.push(index),
            None => {
                let group = subject.spot.value(E::TOGETHER);
                places.push((&subject.place, group, vec![index]));
            }
        }
    }
    random.shuffle(&mut places);
    let groups: Vec<_> = places.iter().map(|(_, group, _)| *group).collect();
    places.sort_by_key(|(_, group, _)| groups.iter().position(|own| own == group));
    for (.., arms) in &mut places {
        random.shuffle(arms);
    }
    places.into_iter().flat_map(|(.., arms)| arms).collect()
}
