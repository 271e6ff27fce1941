//! What is known of one cause.

use super::{Share, Test};

/// Why a cause is ruled out by the points alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    SameDepth,
    BusyCore,
    SameFootprint,
    /// The lane is full, so that it does not wait for the generator.
    FullLane,
    /// The clients do not take more time a byte than at the peak.
    SameClientTime,
    NoNotifications,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) share: Share,
    pub(super) next: Option<Test>,
    pub(super) is_open: bool,
    pub(super) reading: Option<Reading>,
}

impl Finding {
    pub(super) fn measured(share: Share) -> Self {
        Self {
            share,
            next: None,
            is_open: false,
            reading: None,
        }
    }

    pub(super) fn open(share: Share, next: Test) -> Self {
        Self {
            share,
            next: Some(next),
            is_open: true,
            reading: None,
        }
    }

    pub(super) fn unseen(share: Share) -> Self {
        Self {
            is_open: true,
            ..Self::measured(Share { high: 1.0, ..share })
        }
    }

    pub(super) fn untested(next: Test) -> Self {
        Self::open(Share::ANYTHING, next)
    }

    pub(super) fn excluded(reading: Reading) -> Self {
        Self {
            share: Share::NOTHING,
            next: None,
            is_open: false,
            reading: Some(reading),
        }
    }
}
