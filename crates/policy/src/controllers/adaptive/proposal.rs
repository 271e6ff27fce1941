//! Which cap to try next.

use super::fit::Prices;
use super::member::Member;

/// A cap that seems right is sometimes tried this much higher.
const PROBE: f64 = 1.18;

/// Where a cap is tried that the equation does not determine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Direction {
    #[default]
    Up,
    Down,
}

impl Direction {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Proposer {
    pub(super) prices: Prices,
    pub(super) least_per_s: f64,
    pub(super) direction: Direction,
}

impl Proposer {
    pub(super) fn target(&self, member: &Member) -> Option<f64> {
        member.usual().target_per_s(&self.prices, self.least_per_s)
    }

    pub(super) fn propose(&self, member: &Member) -> Option<f64> {
        let target = self.target(member);
        let further = || match self.direction {
            Direction::Up => higher(member),
            Direction::Down => member.usual().mild_per_s(&self.prices, self.least_per_s),
        };
        target.or_else(further).or(member.cap_per_s)
    }
}

fn higher(member: &Member) -> Option<f64> {
    let cap_per_s = member.cap_per_s?;
    let is_bound = member.usual().is_depth_bound();
    is_bound.then_some(cap_per_s * PROBE)
}
