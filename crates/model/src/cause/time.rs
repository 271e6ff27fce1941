//! Where the time of a byte goes.

use super::Case;

/// A core whose idle time is less than this part of the extra time leaves nothing to
/// gain by depth, nor by a quicker generator on another core.
const IDLE_SHARE: f64 = 0.1;

/// The time per byte added since the peak, as a share of all the time that a byte
/// takes at the fallen size; above zero.
pub(super) fn extra(case: &Case) -> f64 {
    1.0 - case.fall_ratio().estimate
}

/// Idle time of the busier core at the fallen size, as a part of the extra
/// time.
pub(super) fn idle(case: &Case, extra: f64) -> f64 {
    let fallen = &case.fallen;
    let busy = if case.is_shared {
        fallen.worker_share + fallen.client_share
    } else {
        fallen.worker_share.max(fallen.client_share)
    };
    (1.0 - busy) / extra
}

/// The worker's, where it has a core of its own.
pub(super) fn worker_idle(case: &Case, extra: f64) -> f64 {
    (1.0 - case.fallen.worker_share) / extra
}

pub(super) fn is_nothing(idle: f64) -> bool {
    idle < IDLE_SHARE
}

/// The share of its time that a byte is spared when it goes `ratio` times as
/// fast.
pub(super) fn saved(ratio: f64) -> f64 {
    1.0 - 1.0 / ratio
}

/// The loss to something that takes `fallen_share` of a full core at the fallen size
/// and took `peak_share` at the peak: its time per byte there is subtracted.
pub(super) fn grown(case: &Case, extra: f64, fallen_share: f64, peak_share: f64) -> f64 {
    (fallen_share - peak_share * case.fall_ratio().estimate) / extra
}
