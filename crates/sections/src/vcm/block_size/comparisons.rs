//! What moderation gains, pair by pair.

use trial::stats::{Arms, compare};
use trial::{Comparison, Direction};

use crate::vcm::block_size::context::Context;
use crate::vcm::block_size::grid::{Place, label};
use kit::load::moderated::Arm;
use kit::ratio::without_evidence;

/// `armed` against a notification for every completion, at every place; no
/// evidence where a trial may not be believed.
pub(super) fn comparisons(context: &Context<'_>) -> Vec<Comparison> {
    let config = context.config;
    let one = |cell: &Place| {
        let (armed, each) = (cell.arm(&Arm::ARMED)?, cell.arm(&Arm::EACH)?);
        let arms = Arms {
            subject: format!("{}, depth {}", label(&cell.key), config.depth),
            arm: Arm::ARMED.to_string(),
            reference: Arm::EACH.to_string(),
            metric: "requests_per_s".to_owned(),
            command: context.command.to_owned(),
        };
        let pairs = armed.pairs(each, |window| window.requests_per_s(0));
        let comparison = compare(arms, Direction::Higher, pairs, config.seed).ok()?;
        let arms = [Arm::ARMED, Arm::EACH];
        if arms.into_iter().all(|arm| context.is_valid(cell, arm)) {
            return Some(comparison);
        }
        Some(without_evidence(comparison))
    };
    context.cells.iter().filter_map(one).collect()
}
