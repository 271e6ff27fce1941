//! Which section runs, with which plan: the budget meets the host.

use std::time::Duration;

use trial::{Plan, PlanError, Probe, Section};

use crate::budget::{Appetite, Share, share};

/// A section with what it will do.
pub struct Scheduled {
    /// The section.
    pub section: Box<dyn Section>,
    /// Its plan, or why it will not run.
    pub plan: Result<Plan, Skip>,
}

/// Why a section will not run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Skip {
    /// The host lacks something.
    #[error("{reason}")]
    NotSupported {
        /// What is missing.
        reason: String,
        /// What would change that.
        remedy: String,
    },
    /// The budget is too small for it.
    #[error("needs at least {needed_s:.1} s of measuring, {left_s:.1} s are left for it")]
    Budget {
        /// The least it needs, seconds.
        needed_s: f64,
        /// What was left for it, seconds.
        left_s: f64,
    },
}

impl Skip {
    /// What would let the section run.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotSupported { remedy, .. } => remedy.clone(),
            Self::Budget { needed_s, left_s } => {
                format!(
                    "raise --budget by {:.0} s or name fewer scenarios",
                    (needed_s - left_s).ceil().max(1.0)
                )
            }
        }
    }
}

impl From<PlanError> for Skip {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::NotSupported { reason, remedy } => Self::NotSupported { reason, remedy },
            PlanError::Budget { needed_s, budget_s } => Self::Budget {
                needed_s,
                left_s: budget_s,
            },
        }
    }
}

/// Plans every section within `budget`. What a section that cannot run would
/// have taken goes to the others, so they are planned again without it.
#[must_use]
pub fn schedule(
    sections: Vec<Box<dyn Section>>,
    probe: &Probe,
    budget: Duration,
) -> Vec<Scheduled> {
    let mut plans: Vec<Option<Result<Plan, Skip>>> = sections.iter().map(|_| None).collect();
    // Every round but the last drops at least one section.
    for _ in 0..=sections.len() {
        let dropped = plan_round(&sections, &mut plans, probe, budget);
        if !dropped {
            break;
        }
    }
    let planned = |plan: Option<_>| plan.expect("the last round planned every section");
    sections
        .into_iter()
        .zip(plans)
        .map(|(section, plan)| Scheduled {
            section,
            plan: planned(plan),
        })
        .collect()
}

/// Plans all that were not dropped before; whether it dropped one. One that
/// the host cannot run is dropped before one that does not fit, which may fit
/// once the other is gone.
fn plan_round(
    sections: &[Box<dyn Section>],
    plans: &mut [Option<Result<Plan, Skip>>],
    probe: &Probe,
    budget: Duration,
) -> bool {
    let running: Vec<usize> = (0..sections.len())
        .filter(|&at| !matches!(plans[at], Some(Err(_))))
        .collect();
    let appetites: Vec<_> = running
        .iter()
        .map(|&at| Appetite::of(sections[at].as_ref()))
        .collect();
    let round: Vec<_> = running
        .into_iter()
        .zip(share(budget, &appetites))
        .map(|(at, share)| (at, plan_one(sections[at].as_ref(), probe, share)))
        .collect();
    let unsupported = round
        .iter()
        .any(|(_, plan)| matches!(plan, Err(Skip::NotSupported { .. })));
    let dropped = round.iter().any(|(_, plan)| plan.is_err());
    for (at, plan) in round {
        if !(unsupported && matches!(plan, Err(Skip::Budget { .. }))) {
            plans[at] = Some(plan);
        }
    }
    dropped
}

fn plan_one(section: &dyn Section, probe: &Probe, share: Share) -> Result<Plan, Skip> {
    match share {
        Share::Granted(seconds) => Ok(section.plan(probe, seconds)?),
        // A section that the host cannot run says that first: a longer budget
        // would not help it.
        Share::Refused { needed, left } => match section.plan(probe, needed) {
            Err(error @ PlanError::NotSupported { .. }) => Err(error.into()),
            _ => Err(Skip::Budget {
                needed_s: needed.as_secs_f64(),
                left_s: left.as_secs_f64(),
            }),
        },
    }
}

#[cfg(test)]
mod tests;
