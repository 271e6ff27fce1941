//! What every section of these does to be planned and to start.

use std::sync::Arc;
use std::time::Duration;

use crypto::Backend;
use trial::{Plan, PlanError, RunError};

use crate::load::rig::{Bench, Setup};
use crate::places::Places;
use crate::schedule::{Schedule, Wishes};
use probe::tier;

/// What a section could measure, the broadest first, each with what it asks
/// of a schedule.
pub type Choices<C> = Vec<(C, Wishes)>;

/// The least that the narrowest choice and the most that the broadest can use.
pub fn appetite<C>(choices: &Choices<C>) -> (Duration, Duration) {
    let of = |choice: Option<&(C, Wishes)>| choice.map(|(_, wishes)| wishes.appetite());
    let (least, most) = (of(choices.last()), of(choices.first()));
    (least.unwrap_or_default().0, most.unwrap_or_default().1)
}

/// The broadest choice that the budget has rounds enough for; of the
/// narrowest, as many rounds as it has.
///
/// # Errors
/// [`PlanError::Budget`].
pub fn choose<C>(mut choices: Choices<C>, budget: Duration) -> Result<(C, Schedule), PlanError> {
    let narrowest = choices.pop().ok_or(PlanError::Budget {
        needed_s: 0.0,
        budget_s: budget.as_secs_f64(),
    })?;
    for (choice, wishes) in choices {
        if let Ok(schedule) = wishes.claim(budget) {
            return Ok((choice, schedule));
        }
    }
    let schedule = narrowest.1.schedule(budget)?;
    Ok((narrowest.0, schedule))
}

/// The plan of a section that measures on benches in those places.
/// `left_out` is what a choice has no time for.
///
/// # Errors
/// [`PlanError`].
pub fn plan<C>(
    backend: &Arc<dyn Backend>,
    places: &Places,
    choices: Choices<C>,
    budget: Duration,
    left_out: impl Fn(&C) -> Option<String>,
) -> Result<Plan, PlanError> {
    if let Some(tier::Unmaskable { reason, remedy }) = tier::cannot_mask(backend.name()) {
        return Err(PlanError::NotSupported { reason, remedy });
    }
    places.any()?;
    let (choice, schedule) = choose(choices, budget)?;
    let steps = [Some(schedule.step()), left_out(&choice), places.left_out()];
    Ok(Plan {
        seconds: schedule.seconds(),
        steps: steps.into_iter().flatten().collect(),
        ..Plan::default()
    })
}

/// What a plan was made from.
///
/// # Errors
/// [`RunError::Failed`] where the host has changed since.
pub fn planned<C>(choices: Choices<C>, plan: &Plan) -> Result<(C, Schedule), RunError> {
    // The plan's own seconds give its own schedule again; the margin is for
    // rounding.
    let budget = Duration::from_secs_f64(plan.seconds + 0.001);
    choose(choices, budget)
        .map_err(|error| failed("the host changed since the plan was made", error))
}

/// Starts the benches.
///
/// # Errors
/// [`RunError::Failed`].
pub fn start(setups: Vec<Setup>) -> Result<Vec<Bench>, RunError> {
    let benches: Result<_, _> = setups.iter().map(Bench::start).collect();
    benches.map_err(|error| failed("a bench did not start", error))
}

/// A section's end by something that went wrong.
pub fn failed(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Failed {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}
