//! What each cause but the generator may explain of a fall.

use trial::stats::Interval;

use super::finding::{Finding, Reading};
use super::time::{grown, idle, is_nothing, saved, worker_idle};
use super::{Case, NAMED_SHARE, Point, Share, Test};

/// A depth or a footprint that differs by less than this is the same.
const ALIKE: f64 = 0.9;

/// An experiment that adds this much to the extra time has a cost of its own, behind
/// which its gain may hide.
const WORSE: f64 = -0.1;

/// Depth explains a fall only where fewer are in flight and a core idles; then it is
/// what twice the depth restores of what twice the depth could.
pub(super) fn depth(case: &Case, extra: f64) -> Finding {
    let (peak, fallen) = (&case.peak, &case.fallen);
    if fallen.depth > ALIKE * peak.depth {
        return Finding::excluded(Reading::SameDepth);
    }
    if is_nothing(idle(case, extra)) {
        return Finding::excluded(Reading::BusyCore);
    }
    match &case.experiments.deeper {
        Some(ratio) => Finding::measured(deepened(case, ratio, extra)),
        None => Finding::untested(Test::Deeper),
    }
}

/// What more depth restores: at most the idle time of the busier core. Where twice
/// the depth gives (nearly) twice the speed it still binds, so that half of the time
/// is all that twice the depth can show.
fn deepened(case: &Case, ratio: &Interval, extra: f64) -> Share {
    const NEARLY_TWICE: f64 = 1.75;
    let share = |ratio: f64| {
        let most = if ratio < NEARLY_TWICE { 1.0 } else { 0.5 };
        saved(ratio) / extra.min(most)
    };
    Share {
        estimate: share(ratio.estimate),
        low: share(ratio.low),
        high: share(ratio.high),
    }
    .at_most(1.0)
    .at_most(idle(case, extra))
}

/// What polling, or more and smaller requests, may gain by not waiting for a wake-up:
/// nothing where depth is no cause, otherwise what depth explains, at most all idle
/// time.
pub(super) fn waits(case: &Case, extra: f64, depth: Finding) -> Finding {
    if depth.reading.is_some() {
        return depth;
    }
    let share = Share {
        high: depth.share.high.max(idle(case, extra)),
        ..depth.share
    };
    Finding { share, ..depth }
}

/// More bytes in flight explain a fall as far as fewer restore it. A smaller depth
/// may cost more than the smaller footprint gains, and at depth 1 there may be more
/// bytes in flight than at the peak: then they may explain more.
pub(super) fn working_set(case: &Case, extra: f64) -> Finding {
    let (peak, fallen) = (&case.peak, &case.fallen);
    if ALIKE * fallen.footprint_bytes() < peak.footprint_bytes() {
        return Finding::excluded(Reading::SameFootprint);
    }
    let Some(ratio) = &case.experiments.small_footprint else {
        return Finding::untested(Test::SmallFootprint);
    };
    let share = Share::restored(ratio, extra);
    if share.high < WORSE || peak.footprint_bytes() < ALIKE * fallen.block_bytes {
        return Finding::unseen(share);
    }
    Finding::measured(share)
}

/// Notifications explain the growth of their time per byte since the peak, less what
/// polling gains by not waiting. Where the worker idles, what the generator explains
/// is subtracted as well: both take the clients' time then, and at the peak the
/// worker may hide them.
pub(super) fn notifications(
    case: &Case,
    extra: f64,
    waits: Finding,
    generator: Finding,
) -> Finding {
    let found = polled(case, extra, waits.share);
    if case.is_shared || is_nothing(worker_idle(case, extra)) || found.reading.is_some() {
        return found;
    }
    Finding {
        share: Share {
            high: found.share.high,
            ..found.share.less(generator.share)
        },
        next: found.next.or(generator.next),
        is_open: found.is_open || generator.is_open,
        ..found
    }
}

fn polled(case: &Case, extra: f64, waits: Share) -> Finding {
    if case.fallen.notifications_per_s == 0.0 {
        return Finding::excluded(Reading::NoNotifications);
    }
    let Some(polled) = &case.experiments.polled else {
        return Finding::untested(Test::Polled);
    };
    let fallen = &polled.ratio;
    let most = Share::restored(fallen, extra);
    if most.high < WORSE {
        return Finding::unseen(most);
    }
    if let Some(peak) = &polled.at_peak {
        let share = Share {
            estimate: grown(case, extra, saved(fallen.estimate), saved(peak.estimate)),
            low: grown(case, extra, saved(fallen.low), saved(peak.high)),
            high: grown(case, extra, saved(fallen.high), saved(peak.low)),
        };
        let share = share.at_most(1.0).less(waits);
        if reaches_the_generator(case, extra, fallen) {
            return Finding::unseen(share);
        }
        return Finding {
            is_open: is_other_core(case),
            ..Finding::measured(share)
        };
    }
    // At most all that it restores, if it does nothing at the peak.
    if most.high < NAMED_SHARE {
        return Finding::measured(most.less(waits));
    }
    let share = Share {
        high: most.high,
        ..at_constant_price(case, extra, fallen)
    };
    Finding::open(share.at_most(1.0).less(waits), Test::PolledAtPeak)
}

/// The rest of what polling restores, if a notification costs at the peak what it
/// costs at the fallen size: by (1), `T·I` of the time.
fn at_constant_price(case: &Case, extra: f64, polled: &Interval) -> Share {
    let rates = case.peak.notifications_per_s / case.fallen.notifications_per_s;
    let left = |ratio: f64| grown(case, extra, saved(ratio), saved(ratio) * rates);
    let (low, high) = (left(polled.low), left(polled.high));
    Share {
        estimate: left(polled.estimate),
        low: low.min(high),
        high: low.max(high),
    }
}

/// Whether one core limits the peak and another the fallen size: then polling
/// may save at the peak what does not show there.
fn is_other_core(case: &Case) -> bool {
    let by_worker = |point: &Point| point.worker_share > point.client_share;
    !case.is_shared && by_worker(&case.peak) != by_worker(&case.fallen)
}

/// Whether a busy worker on its own core, when polled, is as quick as the generator:
/// further gains of polling stay hidden.
fn reaches_the_generator(case: &Case, extra: f64, polled: &Interval) -> bool {
    let fallen = &case.fallen;
    let limit = case
        .experiments
        .generator_only
        .map_or(1.0 / fallen.client_share, |alone| alone.ratio.low);
    !case.is_shared && is_nothing(worker_idle(case, extra)) && polled.high >= ALIKE * limit
}

/// What splitting restores beyond what notifications, depth and the generator
/// explain: smaller requests change all of these too. It does not change a working
/// set, but that must be known.
pub(super) fn fragmentation(
    case: &Case,
    extra: f64,
    others: &[Finding; 3],
    working_set: Finding,
) -> Finding {
    let Some(split) = &case.experiments.split else {
        return Finding::untested(Test::Split);
    };
    let restored = Share::restored(split, extra);
    if restored.high < NAMED_SHARE {
        return Finding::measured(restored);
    }
    let mut share = if case.is_shared {
        restored
    } else {
        // Pieces are the worker's time; the clients' own stays.
        restored.at_most((1.0 - case.fallen.client_share) / extra)
    };
    for other in others {
        share = share.less(other.share);
    }
    if working_set.next.is_some() {
        share = share.less(Share::ANYTHING);
    }
    let rest = || others.iter().chain([&working_set]);
    Finding {
        share,
        next: rest().filter_map(|other| other.next).min(),
        is_open: rest().any(|other| other.next.is_some()),
        reading: None,
    }
}
