//! What the numbers mean, in plain words.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::load::benches::{REQUESTS, SPEED};
use kit::place::Placement;
use kit::ratio::Ratio;
use kit::words::{finding, percent, size, speed, time, what};
use trial::stats::{Arms, median, quantile};
use trial::{Comparison, Finding, Weight};

use super::CryptoSpeed;
use super::grid::{Arm, Place, Role, is_woken};
use super::rig::WAKE_UP;

/// A share of the best that counts as all of it.
const ENOUGH: f64 = 0.9;
/// The cores have moved apart when a line takes this many times as long.
const MOVED: f64 = 1.5;
/// Where the ways of asking are compared in words.
const BLOCK_BYTES: usize = 1024;

type Measured<'a, 'b> = &'b Results<'a, CryptoSpeed>;

/// The median MB/s of an arm that is valid.
fn mb_per_s(results: Measured<'_, '_>, place: &Place, arm: Arm) -> Option<f64> {
    let speed = results.median(place, &arm, SPEED)?;
    results.is_valid(place, &arm).then_some(speed)
}

/// The place of the first kind nearest to 1 KiB where both waiting for each request
/// and keeping several in flight are valid, and the crypto alone if it was measured.
fn place(results: Measured<'_, '_>, placement: Placement) -> Option<Place> {
    let first = results.experiment.kinds.first();
    let is_own = |own: &Place| {
        own.role == Role::Grid && own.placement == placement && Some(&own.kind) == first
    };
    let is_valid = |own: &Place, arm| mb_per_s(results, own, arm).is_some();
    let is_sound = |own: &Place| {
        let has_raw = results.series(own, &Arm::Raw).is_some();
        [Arm::SYNC, Arm::ASYNC]
            .into_iter()
            .all(|arm| is_valid(own, arm))
            && (!has_raw || is_valid(own, Arm::Raw))
    };
    let places = results.measured().map(|(subject, _)| subject.place);
    let sound = places.filter(|own| is_own(own) && is_sound(own));
    sound.min_by_key(|own| own.block_bytes.abs_diff(BLOCK_BYTES))
}

/// What waiting for each request costs.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let places = [Placement::Split, Placement::Shared].map(|own| place(results, own));
    let own = places.into_iter().flatten().next()?;
    let waiting = mb_per_s(results, &own, Arm::SYNC)?;
    let pipelined = mb_per_s(results, &own, Arm::ASYNC)?;
    let (best, best_is) = best(results, &own)?;
    let text = format!(
        "A client that waits for each request gets {} of what this core can do. {} at {} gives it {}, where {best_is} {}. With {} requests in flight it gets {} ({}).",
        percent(waiting / best),
        what(own.kind),
        size(own.block_bytes),
        speed(waiting),
        speed(best),
        own.depth,
        percent(pipelined / best),
        speed(pipelined),
    );
    let remedy = match enough_depth(results) {
        None => "Keep several requests in flight instead of waiting for each.".to_owned(),
        Some((depth, true)) => format!(
            "Keep {depth} requests in flight, or more, instead of waiting for each: the speed still rose there."
        ),
        Some((depth, false)) => format!(
            "Keep {depth} requests in flight instead of waiting for each: more gains less than {:.0}%.",
            ((1.0 / ENOUGH - 1.0) * 100.0).ceil()
        ),
    };
    Some(Answer { text, remedy })
}

/// What a core can do there, and what that is.
fn best(results: Measured<'_, '_>, own: &Place) -> Option<(f64, &'static str)> {
    if let Some(raw) = mb_per_s(results, own, Arm::Raw) {
        return Some((raw, "the crypto alone runs at"));
    }
    let arms = [Arm::ASYNC, Arm::EACH, Arm::POLLED].into_iter();
    let speeds = arms.filter_map(|arm| mb_per_s(results, own, arm));
    Some((speeds.reduce(f64::max)?, "the best way of asking reached"))
}

/// The least depth that gives (nearly) what the best gives; also whether that is the
/// deepest measured: then more may be better still.
fn enough_depth(results: Measured<'_, '_>) -> Option<(usize, bool)> {
    let places = || results.measured().map(|(subject, _)| subject);
    let ladder = places().find(|own| own.place.role == Role::Ladder)?.place;
    let is_rung = |own: &Place| {
        let (depth, role) = (own.depth, own.role);
        let like = Place {
            depth,
            role,
            ..ladder
        };
        *own == like && role != Role::Deep
    };
    let rungs = places().filter(|own| own.arm == Arm::ASYNC && is_rung(&own.place));
    let speeds = rungs.filter_map(|own| {
        let speed = mb_per_s(results, &own.place, Arm::ASYNC)?;
        Some((own.place.depth, speed))
    });
    let mut speeds: Vec<_> = speeds.collect();
    speeds.sort_unstable_by_key(|(depth, _)| *depth);
    let best = speeds.iter().map(|(_, speed)| *speed).reduce(f64::max)?;
    let is_enough = |(_, speed): &&(usize, f64)| *speed >= ENOUGH * best;
    let depth = speeds.iter().find(is_enough)?.0;
    Some((depth, depth == speeds.last()?.0))
}

pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let distance = distance(&results.notes.line_ns);
    wake_up(results).into_iter().chain(distance).collect()
}

fn wake_up(results: Measured<'_, '_>) -> Option<Finding> {
    let woken = results.measured().flat_map(|(_, own)| own.rounds.values());
    let values: Vec<_> = woken.filter_map(|own| own.value(WAKE_UP)).collect();
    let text = format!(
        "Waking a sleeping thread on another core takes {} here (median): the price of one crossing.",
        time(median(&values)?)
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether the cores kept their distance. A hypervisor that moves a guest's
/// CPUs between core complexes changes it, unseen by the guest.
fn distance(line_ns: &[f64]) -> Option<Finding> {
    let [near, far] = [0.1, 0.9].map(|share| quantile(line_ns, share));
    let (near, far) = (near?, far?);
    if far < MOVED * near {
        let text = format!(
            "A cache line takes {near:.0} to {far:.0} ns from core to core: the least that any hand-over costs."
        );
        return Some(finding(Weight::Note, text, ""));
    }
    let text = format!(
        "The distance between the two cores changed while measuring: a cache line took {near:.0} ns at times and {far:.0} ns at others. The hypervisor moves this guest's CPUs. Every figure that crosses cores spreads with it.",
    );
    let remedy = "Pin the guest's CPUs to cores that share an L3 cache; until then trust the intervals, not the medians.";
    Some(finding(Weight::Warning, text, remedy))
}

/// A synchronous request must not take longer than the crypto and two wake-ups:
/// less is better, so that the reference is above the line.
pub(super) fn wake_ups(results: Measured<'_, '_>) -> impl Iterator<Item = Comparison> {
    let woken = results.measured().map(|(subject, _)| subject);
    let woken = woken.filter(|own| is_woken(own.place, own.arm));
    woken.filter_map(|own| {
        let place = own.place;
        let sync = results.series(&place, &Arm::SYNC)?;
        let raw = results.series(&place, &Arm::Raw)?;
        let pairs = sync.rounds.iter().filter_map(|(round, waited)| {
            let crypto_us = 1e6 / raw.rounds.get(round)?.value(REQUESTS)?;
            let sync_us = waited.latency.quantile_ns(0.5)? as f64 / 1e3;
            Some((crypto_us + 2.0 * waited.value(WAKE_UP)? / 1e3, sync_us))
        });
        let arms = Arms {
            subject: own
                .spot
                .only(|name| name != "mode" && name != "policy")
                .words(),
            arm: "the back-end's own time + two wake-ups".to_owned(),
            reference: "median latency of sync".to_owned(),
            metric: "latency_p50_us".to_owned(),
            command: results.command.to_owned(),
        };
        let is_valid = [Arm::SYNC, Arm::Raw]
            .iter()
            .all(|arm| results.is_valid(&place, arm));
        let ratio = Ratio::of_pairs(arms, pairs.collect(), is_valid)?;
        Some(ratio.wanting(Some(1.0)).comparison)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_move_apart_are_told_and_those_that_stay_are_a_note() {
        let of = |lines: &[f64]| distance(lines).map(|finding| finding.weight);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[50.0; 20]), Some(Weight::Note));
        let apart = [[50.0; 10], [90.0; 10]].concat();
        assert_eq!(of(&apart), Some(Weight::Warning));
    }
}
