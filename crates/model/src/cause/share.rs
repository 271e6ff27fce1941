//! Shares of a fall.

use trial::stats::Interval;

/// How much of a fall something explains. A fall is time: at the larger size a byte
/// takes longer than at the peak, and a share is part of that extra time, so that
/// shares of different things add up. 1 is all of it (a larger gain still explains no
/// more), 0 nothing, below 0 it makes things worse; bounds as of the intervals that
/// it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

impl Share {
    pub(super) const NOTHING: Self = Self {
        estimate: 0.0,
        low: 0.0,
        high: 0.0,
    };

    pub(super) const ANYTHING: Self = Self {
        estimate: 0.0,
        low: f64::NEG_INFINITY,
        high: f64::INFINITY,
    };

    pub(super) fn exactly(share: f64) -> Self {
        Self::between(share, share)
    }

    pub(super) fn between(low: f64, high: f64) -> Self {
        Self {
            estimate: low / 2.0 + high / 2.0,
            low,
            high,
        }
    }

    /// The part of a fall that a ratio of speeds restores. `extra` is the extra time,
    /// as a share of all the time at the fallen size.
    pub(super) fn restored(ratio: &Interval, extra: f64) -> Self {
        let share = |ratio: f64| (1.0 - 1.0 / ratio) / extra;
        Self {
            estimate: share(ratio.estimate),
            low: share(ratio.low),
            high: share(ratio.high),
        }
        .at_most(1.0)
    }

    /// Nothing above `limit`.
    pub(super) fn at_most(self, limit: f64) -> Self {
        Self {
            estimate: self.estimate.min(limit),
            low: self.low.min(limit),
            high: self.high.min(limit),
        }
    }

    /// This share less the part that `other` explains, of which 0 to 1 can be meant.
    pub(super) fn less(self, other: Self) -> Self {
        Self {
            estimate: self.estimate - other.estimate.clamp(0.0, 1.0),
            low: self.low - other.high.clamp(0.0, 1.0),
            high: self.high - other.low.clamp(0.0, 1.0),
        }
    }

    /// In words: `about 80% of the fall (71% to 90%)`.
    pub fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0}%", share.max(0.0) * 100.0);
        match (self.low.is_finite(), self.high.is_finite()) {
            (_, true) if self.high <= 0.0 => "none of the fall".to_owned(),
            (true, true) => format!(
                "{} of the fall ({} to {})",
                percent(self.estimate),
                percent(self.low),
                percent(self.high)
            ),
            (false, true) => format!("at most {} of the fall", percent(self.high)),
            (true, false) => format!("at least {} of the fall", percent(self.low)),
            (false, false) => "an unknown part of the fall".to_owned(),
        }
    }
}
