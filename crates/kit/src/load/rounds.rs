//! The rounds: every arm of every cell once, in shuffled order, so that any
//! two are interleaved pairs.

use std::time::Instant;

use trial::stats::Random;
use trial::{Event, Finding, RunError, Sink, Weight};

use crate::load::cell::Cell;
use crate::load::moderated::Moderated;
use crate::load::rig::{Bench, Course, RigError};
use crate::schedule::{Schedule, WARM_UP};
use crate::words::finding;

/// A run that takes so much longer than planned ends after the round in hand.
const LATE: f64 = 1.25;
/// Start-up that no plan counts, seconds.
const START_S: f64 = 1.0;

/// How the rounds ended.
#[derive(Debug)]
pub enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed {
        label: String,
        error: RigError,
    },
}

impl End {
    /// What to tell of rounds that took too long.
    pub fn late(&self) -> Option<Finding> {
        let Self::Late(rounds) = self else {
            return None;
        };
        let text = format!(
            "The host was so slow that only {rounds} rounds were measured in the time planned."
        );
        let remedy = "Measure on a quiet host, or with a larger --budget.";
        Some(finding(Weight::Warning, text, remedy))
    }

    /// As a section's end.
    pub fn result(self) -> Result<(), RunError> {
        match self {
            Self::Complete | Self::Late(_) => Ok(()),
            Self::Interrupted => Err(RunError::Interrupted),
            Self::Failed { label, error } => Err(RunError::Failed {
                context: format!("a trial failed: {label}"),
                source: Some(Box::new(error)),
            }),
        }
    }
}

/// Measures all rounds of a schedule; `keep` is called after each, so that
/// nothing is lost whatever ends the run.
pub fn measure<K, A: Moderated>(
    (benches, cells): (&mut [Bench], &mut [Cell<K, A>]),
    schedule: &Schedule,
    seed: u64,
    sink: &mut dyn Sink,
    keep: impl Fn(&[Cell<K, A>], &mut dyn Sink),
) -> End {
    let (mut random, begin) = (Random::new(seed), Instant::now());
    for round in 0..schedule.rounds {
        if begin.elapsed().as_secs_f64() > schedule.seconds() * LATE + START_S {
            return End::Late(round);
        }
        if let Err(end) = one((benches, cells), schedule, round, &mut random, sink) {
            return end;
        }
        keep(cells, sink);
    }
    End::Complete
}

fn one<K, A: Moderated>(
    (benches, cells): (&mut [Bench], &mut [Cell<K, A>]),
    schedule: &Schedule,
    round: usize,
    random: &mut Random,
    sink: &mut dyn Sink,
) -> Result<(), End> {
    let mut order: Vec<_> = (0..cells.len()).collect();
    random.shuffle(&mut order);
    for (done, &index) in order.iter().enumerate() {
        let cell = &mut cells[index];
        let share = (round as f64 + done as f64 / order.len() as f64) / schedule.rounds as f64;
        let now = format!("round {} of {}: {}", round + 1, schedule.rounds, cell.label);
        sink.emit(Event::Progress(share, now));
        let mut arms: Vec<_> = (0..cell.arms.len()).collect();
        random.shuffle(&mut arms);
        for arm in arms {
            if sink.is_interrupted() {
                return Err(End::Interrupted);
            }
            trial(&mut benches[cell.bench], cell, (arm, round), schedule).map_err(|error| {
                End::Failed {
                    label: cell.label.clone(),
                    error,
                }
            })?;
        }
    }
    Ok(())
}

fn trial<K, A: Moderated>(
    bench: &mut Bench,
    cell: &mut Cell<K, A>,
    (arm, round): (usize, usize),
    schedule: &Schedule,
) -> Result<(), RigError> {
    let load = cell.load;
    let (arm, series) = &mut cell.arms[arm];
    bench.apply(0, arm.regime().for_tasks(load.tasks))?;
    let course = Course::steady(WARM_UP, schedule.slice, vec![load]);
    series.add(round, bench.run(&course, &|| false)?);
    Ok(())
}
