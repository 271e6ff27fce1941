//! Which section runs, with which plan: the budget meets the host.

use std::time::Duration;

use trial::{Plan, PlanError, Probe, Section};

use crate::budget::{Appetite, Share, share};

/// A section that is to run.
pub struct Wanted {
    pub section: Box<dyn Section>,
    /// The time that its scenario promises it.
    pub slice: Option<Duration>,
}

impl From<Box<dyn Section>> for Wanted {
    fn from(section: Box<dyn Section>) -> Self {
        let slice = None;
        Self { section, slice }
    }
}

impl Wanted {
    /// The section's, or its slice, as far as that can be used.
    fn appetite(&self) -> Appetite {
        let own = Appetite::of(self.section.as_ref());
        let Some(slice) = self.slice.map(|slice| slice.min(own.most)) else {
            return own;
        };
        Appetite {
            least: slice,
            most: slice,
            ..own
        }
    }
}

/// A section with its plan, or why it will not run.
pub struct Scheduled {
    pub section: Box<dyn Section>,
    pub plan: Result<Plan, PlanError>,
}

/// Plans every section within `budget`. What a section that cannot run would
/// have taken goes to the others, so they are planned again without it.
#[must_use]
pub fn schedule(sections: Vec<Wanted>, probe: &Probe, budget: Duration) -> Vec<Scheduled> {
    let mut plans: Vec<Option<Result<Plan, PlanError>>> = sections.iter().map(|_| None).collect();
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
        .map(|(wanted, plan)| Scheduled {
            section: wanted.section,
            plan: planned(plan),
        })
        .collect()
}

/// Plans all that were not dropped before; whether it dropped one. One that
/// the host cannot run is dropped before one that does not fit, which may fit
/// once the other is gone.
fn plan_round(
    sections: &[Wanted],
    plans: &mut [Option<Result<Plan, PlanError>>],
    probe: &Probe,
    budget: Duration,
) -> bool {
    let running: Vec<usize> = (0..sections.len())
        .filter(|&at| !matches!(plans[at], Some(Err(_))))
        .collect();
    let appetites: Vec<_> = running.iter().map(|&at| sections[at].appetite()).collect();
    let round: Vec<_> = running
        .into_iter()
        .zip(share(budget, &appetites))
        .map(|(at, share)| (at, plan_one(sections[at].section.as_ref(), probe, share)))
        .collect();
    let unsupported = round
        .iter()
        .any(|(_, plan)| matches!(plan, Err(PlanError::NotSupported { .. })));
    let dropped = round.iter().any(|(_, plan)| plan.is_err());
    for (at, plan) in round {
        if !(unsupported && matches!(plan, Err(PlanError::Budget { .. }))) {
            plans[at] = Some(plan);
        }
    }
    dropped
}

fn plan_one(section: &dyn Section, probe: &Probe, share: Share) -> Result<Plan, PlanError> {
    match share {
        Share::Granted(seconds) => section.plan(probe, seconds),
        // A section that the host cannot run says that first: a longer budget
        // would not help it.
        Share::Refused { needed, left } => match section.plan(probe, needed) {
            Err(error @ PlanError::NotSupported { .. }) => Err(error),
            _ => Err(PlanError::Budget {
                needed_s: needed.as_secs_f64(),
                budget_s: left.as_secs_f64(),
            }),
        },
    }
}

#[cfg(test)]
mod tests;
