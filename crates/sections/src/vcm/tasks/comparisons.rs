//! What several tasks get together, against one; and what moderation gains.

use trial::stats::{Arms, compare};
use trial::{Comparison, Direction};

use crate::vcm::tasks::context::Context;
use crate::vcm::tasks::grid::{Place, many};
use kit::load::moderated::Arm;
use kit::place::Placement;
use kit::places::on;
use kit::ratio::without_evidence;
use kit::words::what;

/// Each number of tasks against the fewest, under each arm.
pub(super) fn sums(context: &Context<'_>) -> Vec<(Placement, Arm, usize, Comparison)> {
    let lines = context.placements().flat_map(|placement| {
        let arms = context.config.policies.iter();
        arms.map(move |&arm| (placement, arm))
    });
    let mut sums = Vec::new();
    for (placement, arm) in lines {
        let line = context.line(placement, arm);
        let Some((few, more)) = line.split_first() else {
            continue;
        };
        let own = more.iter().filter_map(|cell| {
            let tasks = cell.key.tasks;
            let ratio = ratio(context, (cell, arm), (few, arm))?;
            Some((placement, arm, tasks, ratio))
        });
        sums.extend(own);
    }
    sums
}

/// `armed` against a notification for every completion.
pub(super) fn gains(context: &Context<'_>) -> Vec<Comparison> {
    let one = |cell: &Place| ratio(context, (cell, Arm::ARMED), (cell, Arm::EACH));
    context.cells.iter().filter_map(one).collect()
}

/// Speed of all tasks, over the rounds that have both; no evidence where a
/// trial may not be believed.
fn ratio(
    context: &Context<'_>,
    (cell, arm): (&Place, Arm),
    (reference, under): (&Place, Arm),
) -> Option<Comparison> {
    let name = |cell: &Place, arm: Arm| format!("{}, {arm}", many(cell.key.tasks));
    let arms = Arms {
        subject: format!(
            "{}, all tasks, {}",
            what(context.config.kind),
            on(cell.key.placement)
        ),
        arm: name(cell, arm),
        reference: name(reference, under),
        metric: "requests_per_s".to_owned(),
        command: context.command.to_owned(),
    };
    let (above, below) = (cell.arm(&arm)?, reference.arm(&under)?);
    let pairs = above.pairs(below, |window| window.requests_per_s(0));
    let ratio = compare(arms, Direction::Higher, pairs, context.config.seed).ok()?;
    if context.is_valid(cell, arm) && context.is_valid(reference, under) {
        Some(ratio)
    } else {
        Some(without_evidence(ratio))
    }
}
