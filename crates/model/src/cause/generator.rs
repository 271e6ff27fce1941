//! What the load generator may explain of a fall.

use super::case::quotient;
use super::finding::{Finding, Reading};
use super::time::{grown, is_nothing, worker_idle};
use super::{Case, Effect, NAMED_SHARE, Share, Test};

/// A lane that holds this much of its depth, when the worker looks, does not
/// wait for the generator.
const FULL_SHARE: f64 = 0.75;

/// A core that is busy for this much of its time is what the load waits for.
const FULL_CORE: f64 = 0.9;

/// A generator alone that is quicker than the load by less than this limits the load:
/// alone it neither reaps nor competes for memory.
const GENERATOR_RATIO: f64 = 1.25;

/// A generator explains a fall where it limits the fallen load.
pub(super) fn generator(case: &Case, extra: f64) -> Finding {
    if case.is_shared {
        generator_on_the_same_core(case, extra)
    } else {
        generator_on_another_core(case, extra)
    }
}

/// It explains at most the worker's idle time: all of that where it is no quicker
/// alone than under load, and where its core is full, the growth of its time.
fn generator_on_another_core(case: &Case, extra: f64) -> Finding {
    let fallen = &case.fallen;
    let idle = worker_idle(case, extra).clamp(0.0, 1.0);
    if is_nothing(idle) {
        return Finding::excluded(Reading::BusyCore);
    }
    let Some(alone) = &case.experiments.generator_only else {
        if fallen.in_flight >= FULL_SHARE * fallen.depth {
            return Finding::excluded(Reading::FullLane);
        }
        return Finding::untested(Test::GeneratorOnly);
    };
    if alone.ratio.high < GENERATOR_RATIO {
        return Finding::measured(Share::exactly(idle));
    }
    if fallen.client_share >= FULL_CORE {
        return grown_generator(case, extra, alone, idle);
    }
    if alone.ratio.low < GENERATOR_RATIO {
        return Finding::open(Share::between(0.0, idle), Test::Again);
    }
    // Where neither core is full, its time is part of each round trip.
    let at_peak = alone.at_peak.map_or(0.0, |at_peak| 1.0 / at_peak.high);
    let most = grown(case, extra, 1.0 / alone.ratio.low, at_peak);
    Finding::measured(Share::between(0.0, most.clamp(0.0, idle)))
}

fn generator_on_the_same_core(case: &Case, extra: f64) -> Finding {
    // All that clients do is more than their generator's part: an upper bound.
    let most = grown(
        case,
        extra,
        case.fallen.client_share,
        case.peak.client_share,
    );
    if most < NAMED_SHARE {
        return Finding::excluded(Reading::SameClientTime);
    }
    match &case.experiments.generator_only {
        Some(alone) => grown_generator(case, extra, alone, 1.0),
        None => Finding::untested(Test::GeneratorOnly),
    }
}

/// The growth of its time per byte since the peak, on a core that is full; at most
/// `limit`.
fn grown_generator(case: &Case, extra: f64, alone: &Effect, limit: f64) -> Finding {
    let Effect { ratio, at_peak } = alone;
    let Some(at_peak) = at_peak else {
        // At most all of its time is new, at least none.
        let share = Share::between(0.0, grown(case, extra, 1.0 / ratio.low, 0.0).min(limit));
        return if share.high < NAMED_SHARE {
            Finding::measured(share)
        } else {
            Finding::open(share, Test::GeneratorOnlyAtPeak)
        };
    };
    let share = Share {
        estimate: grown(case, extra, 1.0 / ratio.estimate, 1.0 / at_peak.estimate),
        low: grown(case, extra, 1.0 / ratio.high, 1.0 / at_peak.low),
        high: grown(case, extra, 1.0 / ratio.low, 1.0 / at_peak.high),
    };
    Finding::measured(share.at_most(limit))
}

/// Without a run of the generator alone: moved to another core at both sizes, it
/// explains what that restores once everything else is ruled out. Otherwise it shows
/// nothing. An additional core also changes caches and wake-ups and hides a slow
/// worker behind a slow generator, and a slow generator is slow anywhere.
pub(super) fn by_elimination(
    case: &Case,
    extra: f64,
    generator: Finding,
    rest: &[Finding; 4],
) -> Finding {
    let is_alone = rest
        .iter()
        .all(|other| !other.is_open && other.share.high < NAMED_SHARE);
    let moved = case.experiments.other_placement;
    match (generator.next, moved) {
        (
            Some(Test::GeneratorOnly),
            Some(Effect {
                ratio,
                at_peak: Some(at_peak),
            }),
        ) if is_alone => {
            let share = Share::restored(&quotient(&ratio, &at_peak), extra);
            Finding::open(share, Test::GeneratorOnly)
        }
        _ => generator,
    }
}
