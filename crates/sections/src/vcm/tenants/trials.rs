//! The rounds: every case once a round, in shuffled order, on one bench.

use std::sync::Arc;
use std::time::Instant;

use crypto::Workload;
use policy::{Moderation, Quota, Settings};
use trial::stats::Random;
use trial::{Event, Sink};

use crate::vcm::tenants::case::{Case, Hostile};
use crate::vcm::tenants::config::Config;
use crate::vcm::tenants::mute::{MuteError, fill};
use crate::vcm::tenants::seats::{Seats, depth};
use kit::load::cell::Series;
use kit::load::rig::{Bench, Course, Load, Record, Regime, RigError};
use kit::schedule::{Schedule, WARM_UP};

/// A run that takes so much longer than planned ends after the round in hand.
const LATE: f64 = 1.25;
const START_S: f64 = 1.0;

/// A case with what it gave.
pub(super) struct Measured {
    pub(super) case: Case,
    pub(super) series: Series,
}

/// How the rounds ended.
#[derive(Debug)]
pub(super) enum End {
    Complete,
    /// It took too long; so many rounds are whole.
    Late(usize),
    Interrupted,
    Failed(TrialError),
}

/// Why a trial gave nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrialError {
    #[error("the bench failed")]
    Rig(#[from] RigError),
    #[error("a weight was refused")]
    Function(#[from] engine::FunctionError),
    #[error("the tenant that never reaps")]
    Mute(#[from] MuteError),
}

/// Everything that trials share.
pub(super) struct Trials<'a> {
    pub(super) config: &'a Config,
    pub(super) seats: Seats,
    pub(super) bench: &'a mut Bench,
    /// Of the polite ones.
    pub(super) workload: Arc<Workload>,
    /// Of a core; 0 when unknown.
    pub(super) l2_bytes: u64,
}

impl Trials<'_> {
    /// Runs the schedule.
    pub(super) fn run(
        &mut self,
        measured: &mut [Measured],
        schedule: &Schedule,
        sink: &mut dyn Sink,
    ) -> End {
        let (mut random, begin) = (Random::new(self.config.seed), Instant::now());
        for round in 0..schedule.rounds {
            if begin.elapsed().as_secs_f64() > schedule.seconds() * LATE + START_S {
                return End::Late(round);
            }
            let mut order: Vec<_> = (0..measured.len()).collect();
            random.shuffle(&mut order);
            for (done, &index) in order.iter().enumerate() {
                if sink.is_interrupted() {
                    return End::Interrupted;
                }
                let Measured { case, series } = &mut measured[index];
                let share =
                    (round as f64 + done as f64 / order.len() as f64) / schedule.rounds as f64;
                sink.emit(Event::Progress(share, case.what(self.config)));
                match self.trial(*case, schedule) {
                    Ok(record) => series.add(round, record),
                    Err(error) => return End::Failed(error),
                }
            }
        }
        End::Complete
    }

    fn trial(&mut self, case: Case, schedule: &Schedule) -> Result<Record, TrialError> {
        let roles = case.roles(self.config, self.seats);
        let stride = self.workload.slot.stride;
        let depth = depth(self.config.depth, roles.len(), stride, self.l2_bytes);
        let mut loads = Vec::new();
        for seat in 0..self.seats.len() {
            match roles.iter().find(|role| role.seat == seat) {
                Some(role) => {
                    let load = self.seats.load(seat, depth);
                    let function = self.bench.function(seat);
                    function.set_weight(role.weight)?;
                    function.set_quota(role.quota);
                    self.bench
                        .apply(seat, role.regime().for_tasks(load.tasks))?;
                    loads.push(load);
                }
                None => loads.push(self.rest(seat)?),
            }
        }
        let mute = self.seats.of(Hostile::Mute);
        // Lives until the trial is over.
        let _full = if case == Case::Beside(Hostile::Mute) {
            Some(fill(self.bench.function(mute), &self.workload)?)
        } else {
            None
        };
        let course = Course::steady(WARM_UP, schedule.slice, loads);
        let record = self.bench.run(&course, &|| false)?;
        for role in &roles {
            // What is limited would be waited for by the next trial.
            self.bench.function(role.seat).set_quota(Quota::UNLIMITED);
        }
        Ok(record)
    }

    /// A tenant that is not at work has no lane.
    fn rest(&mut self, seat: usize) -> Result<Load, TrialError> {
        let regime = Regime::fixed(Moderation::Armed, Settings::UNLIMITED);
        self.bench.apply(seat, regime.for_tasks(0))?;
        Ok(Load::closed(0, 1).with_tasks(0))
    }
}
