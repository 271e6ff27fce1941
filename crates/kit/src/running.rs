//! What every section of these does to be planned and to start.

use std::time::Duration;

use trial::{Plan, PlanError, RunError};

use crate::schedule::{Schedule, Wishes};

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

/// A section's end by something that went wrong.
pub fn failed(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> RunError {
    RunError::Failed {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}
