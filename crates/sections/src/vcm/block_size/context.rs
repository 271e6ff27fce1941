//! What everything that is said of the results rests on.

use crypto::Kind;
use trial::{Series, Validity, Verdict};

use crate::vcm::block_size::config::Config;
use crate::vcm::block_size::fall::{Fall, fall};
use crate::vcm::block_size::grid::{Place, line};
use crate::vcm::block_size::price::{Price, price};
use kit::drawing::dot;
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
    pub(super) l2_bytes: u64,
    pub(super) command: &'a str,
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
            l2_bytes,
            command,
        }
    }

    /// The lines of the figure: each placement with each kind.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Placement, Kind)> {
        let kinds = &self.config.kinds;
        let placements = self.places.kept.iter();
        placements.flat_map(move |&(placement, _)| kinds.iter().map(move |&kind| (placement, kind)))
    }

    /// The arms, in the order of the table.
    pub(super) fn arms(&self) -> impl Iterator<Item = Arm> {
        let first = self.cells.first();
        first
            .into_iter()
            .flat_map(|cell| cell.arms.iter().map(|(arm, _)| *arm))
    }

    pub(super) fn line(&self, (placement, kind): (Placement, Kind)) -> Vec<&'a Place> {
        line(self.cells, placement, kind)
    }

    /// Whether an arm's figures at a place may be believed; none where it was
    /// not measured.
    pub(super) fn verdict(&self, cell: &Place, arm: Arm) -> Option<Verdict> {
        let conditions = &self.conditions[cell.bench];
        Some(conditions.verdict(cell.arm(&arm)?, cell.in_flight_bytes))
    }

    /// Whether a line can be told of: nothing disturbed it. That blocks do not
    /// fit the cache is part of its shape.
    pub(super) fn is_quiet(&self, line: (Placement, Kind), arm: Arm) -> bool {
        let is_quiet = |cell: &&Place| {
            let verdict = self.verdict(cell, arm);
            verdict.is_none_or(|verdict| {
                matches!(verdict.validity, Validity::Valid | Validity::WorkingSet)
            })
        };
        self.line(line).iter().all(is_quiet)
    }

    pub(super) fn is_valid(&self, cell: &Place, arm: Arm) -> bool {
        self.verdict(cell, arm)
            .is_some_and(|verdict| verdict.is_valid())
    }

    /// The price of a notification, and whether it rests on valid places only.
    pub(super) fn price(&self, placement: Placement) -> Option<(Price, bool)> {
        let is_sound = |cell: &Place| {
            [Arm::EACH, Arm::ARMED]
                .into_iter()
                .all(|arm| self.is_valid(cell, arm))
        };
        let sound = price(self.cells, placement, is_sound).map(|price| (price, true));
        sound.or_else(|| Some((price(self.cells, placement, |_| true)?, false)))
    }

    /// The fall on one line, if there is one and nothing disturbed it.
    pub(super) fn fall(&self, line: (Placement, Kind), arm: Arm) -> Option<Fall> {
        if !self.is_quiet(line, arm) {
            return None;
        }
        fall(self.cells, line, arm, (self.config.seed, self.command))
    }

    /// A line of a chart: an arm's `value` over the block size.
    pub(super) fn series(
        &self,
        line: (Placement, Kind),
        arm: Arm,
        name: String,
        value: impl Fn(&Place, &Window) -> f64,
    ) -> Option<Series> {
        let one = |cell: &&Place| {
            let values = cell.arm(&arm)?.values(|window| value(cell, window));
            let (x, is_valid) = (cell.key.block_bytes as f64, self.is_valid(cell, arm));
            dot(x, &values, is_valid, self.config.seed)
        };
        let dots: Vec<_> = self.line(line).iter().filter_map(one).collect();
        (!dots.is_empty()).then_some(Series {
            name,
            kind: trial::SeriesKind::Measured,
            dots,
        })
    }
}
