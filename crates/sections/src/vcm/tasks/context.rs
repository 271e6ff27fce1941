//! What everything that is said of the results rests on.

use trial::stats::median;
use trial::{Comparison, Validity, Verdict};

use crate::vcm::tasks::config::Config;
use crate::vcm::tasks::grid::{Place, line};
use kit::load::moderated::Arm;
use kit::load::rig::Window;
use kit::load::sweep::Ground;
use kit::load::verdict::Conditions;
use kit::place::Placement;
use kit::places::Places;

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) places: &'a Places,
    pub(super) cells: &'a [Place],
    /// One a bench.
    conditions: Vec<Conditions>,
    /// Input bytes of a request.
    pub(super) block_bytes: usize,
    pub(super) command: &'a str,
}

/// The same arm with the fewest tasks and with the most.
pub(super) struct Ends<'a> {
    pub(super) few: &'a Place,
    pub(super) many: &'a Place,
}

impl<'a> Context<'a> {
    pub(super) fn new(config: &'a Config, ground: Ground<'a>, cells: &'a [Place]) -> Self {
        let Ground {
            places,
            l2_bytes,
            command,
        } = ground;
        let on = |(bench, &(_, cores)): (usize, &(Placement, _))| {
            let own: Vec<_> = cells.iter().filter(|cell| cell.bench == bench).collect();
            Conditions::of(cores, l2_bytes, &own)
        };
        Self {
            config,
            places,
            cells,
            conditions: places.kept.iter().enumerate().map(on).collect(),
            block_bytes: cells.first().map_or(0, |cell| cell.key.block_bytes),
            command,
        }
    }

    pub(super) fn placements(&self) -> impl Iterator<Item = Placement> {
        self.places.kept.iter().map(|&(placement, _)| placement)
    }

    /// The places of a placement where the arm was measured.
    pub(super) fn line(&self, placement: Placement, arm: Arm) -> Vec<&'a Place> {
        let mut line = line(self.cells, placement);
        line.retain(|cell| cell.arm(&arm).is_some());
        line
    }

    /// The first and the last place of a line that has two.
    pub(super) fn ends(&self, placement: Placement, arm: Arm) -> Option<Ends<'a>> {
        let line = self.line(placement, arm);
        let (few, many) = (*line.first()?, *line.last()?);
        (few.key.tasks < many.key.tasks).then_some(Ends { few, many })
    }

    /// Whether an arm's figures at a place may be believed; none where it was
    /// not measured.
    pub(super) fn verdict(&self, cell: &Place, arm: Arm) -> Option<Verdict> {
        let conditions = &self.conditions[cell.bench];
        Some(conditions.verdict(cell.arm(&arm)?, cell.in_flight_bytes))
    }

    pub(super) fn is_valid(&self, cell: &Place, arm: Arm) -> bool {
        self.verdict(cell, arm)
            .is_some_and(|verdict| verdict.validity == Validity::Valid)
    }

    /// Speed of all tasks together, 10^6 bytes a second.
    pub(super) fn mb_per_s(&self, requests_per_s: f64) -> f64 {
        requests_per_s * self.block_bytes as f64 / 1e6
    }

    /// A median over the rounds.
    pub(super) fn median(
        &self,
        cell: &Place,
        arm: Arm,
        value: impl Fn(&Window) -> f64,
    ) -> Option<f64> {
        median(&cell.arm(&arm)?.values(value))
    }
}

/// The comparison of a sum with one task's speed, among all.
pub(super) fn sum_of(
    comparisons: &[(Placement, Arm, usize, Comparison)],
    placement: Placement,
    arm: Arm,
    tasks: usize,
) -> Option<&Comparison> {
    let same = |(own, with, many, _): &&(Placement, Arm, usize, Comparison)| {
        (*own, *with, *many) == (placement, arm, tasks)
    };
    comparisons.iter().find(same).map(|(.., ratio)| ratio)
}
