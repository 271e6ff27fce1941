//! What the numbers mean, in plain words.

use kit::words::{finding, percent, size, speed};
use trial::stats::{median, quantile};
use trial::{Comparison, Finding, Outcome, Validity, Verdict, Weight};

use crate::speed::config::Config;
use crate::speed::measure::{End, Measured, Results};
use crate::speed::points::{is_valid, verdict};
use kit::closing::{clock, closing};
use kit::host::Host;
use kit::load::fresh::arm::{Arm, Role};
use kit::place::Placement;

/// A share of the best that counts as all of it.
const ENOUGH: f64 = 0.9;
/// Places at which the price of waiting is told.
const PLACES_MAX: usize = 4;
/// The cores have moved apart when a line takes so many times as long.
const MOVED: f64 = 1.5;

pub(super) fn findings(
    config: &Config,
    host: &Host,
    results: &Results,
    comparisons: &[Comparison],
) -> Vec<Finding> {
    let context = (config, host, results);
    let enough = enough_depth(host, results);
    let texts = [
        naive(context, enough).or_else(|| no_headline(context)),
        peer(comparisons),
        each(context),
        shared(context),
        wake_up(results),
        waiting(context),
        distance(results),
        clock(results.steps_ns()),
        closing(results.closing, results.rounds, comparisons),
        end(results),
    ];
    texts.into_iter().flatten().collect()
}

/// What every finding about a cell depends on.
type Context<'a> = (&'a Config, &'a Host, &'a Results);

/// Where the ways of asking stand side by side: cells of the first kind that
/// have both sync and async.
fn candidates<'a>((config, _, results): Context<'a>) -> impl Iterator<Item = &'a Measured> {
    let kind = config.kinds.first();
    results.cells.iter().filter(move |measured| {
        measured.cell.role == Role::Grid
            && Some(&measured.cell.kind) == kind
            && [Arm::SYNC, Arm::ASYNC]
                .iter()
                .all(|&arm| measured.arm(arm).is_some())
    })
}

/// The first of the arms findings rest on that is not valid.
fn doubt(host: &Host, measured: &Measured) -> Option<Verdict> {
    [Arm::SYNC, Arm::ASYNC, Arm::Raw]
        .into_iter()
        .filter_map(|arm| Some(verdict(host, measured, arm, measured.arm(arm)?)))
        .find(|verdict| !verdict.is_valid())
}

/// The candidate nearest to that block size that is valid.
fn cell(context: Context<'_>, placement: Placement, block_bytes: usize) -> Option<&Measured> {
    candidates(context)
        .filter(|measured| measured.cell.placement == placement)
        .filter(|measured| doubt(context.1, measured).is_none())
        .min_by_key(|measured| measured.cell.block_bytes.abs_diff(block_bytes))
}

/// Why there is no headline, where there could have been one.
fn no_headline(context: Context<'_>) -> Option<Finding> {
    let doubts: Vec<_> = candidates(context)
        .map(|measured| doubt(context.1, measured))
        .collect::<Option<_>>()?;
    let noisy = doubts
        .iter()
        .find(|verdict| verdict.validity == Validity::Noisy);
    if let Some(Verdict { reason, .. }) = noisy {
        let text = format!("The run was too disturbed for a headline: {reason}.");
        return Some(finding(Weight::Warning, text, "Measure on a quiet host."));
    }
    let Verdict { reason, remedy, .. } = doubts.into_iter().next()?;
    let text = format!("No trial was valid enough for a headline: {reason}.");
    Some(finding(Weight::Warning, text, remedy))
}

/// The least depth that gives (nearly) what the deepest lane gives.
/// Also whether that is the deepest measured: then more may be better still.
fn enough_depth(host: &Host, results: &Results) -> Option<(usize, bool)> {
    let mut rungs = results.rungs();
    rungs.retain(|measured| is_valid(host, measured, Arm::ASYNC));
    let speed = |measured: &&&Measured| measured.mb_per_s(Arm::ASYNC);
    let best = rungs
        .iter()
        .filter_map(|measured| speed(&measured))
        .reduce(f64::max)?;
    let is_enough =
        |measured: &&&Measured| speed(measured).is_some_and(|speed| speed >= ENOUGH * best);
    let depth = rungs.iter().find(is_enough)?.cell.depth;
    Some((depth, depth == rungs.last()?.cell.depth))
}

/// What waiting for each request costs: the headline.
fn naive(context: Context<'_>, enough: Option<(usize, bool)>) -> Option<Finding> {
    let cells =
        [Placement::Split, Placement::Shared].map(|placement| cell(context, placement, 1024));
    let measured = cells.into_iter().flatten().next()?;
    let (sync, pipelined) = (
        measured.mb_per_s(Arm::SYNC)?,
        measured.mb_per_s(Arm::ASYNC)?,
    );
    let (best, best_is) = best(context.1, measured)?;
    let text = format!(
        "A client that waits for each request gets {} of what this core can do: {} at {}, {}, where {best_is} {}. With {} requests in flight it gets {} ({}).",
        percent(sync / best),
        measured.cell.what(),
        size(measured.block_bytes),
        speed(sync),
        speed(best),
        measured.cell.depth,
        percent(pipelined / best),
        speed(pipelined),
    );
    let gain = ((1.0 / ENOUGH - 1.0) * 100.0).ceil();
    let remedy = match enough {
        None => "Keep several requests in flight instead of waiting for each.".to_owned(),
        Some((depth, true)) => format!(
            "Keep {depth} requests in flight, or more, instead of waiting for each: the speed still rose there."
        ),
        Some((depth, false)) => format!(
            "Keep {depth} requests in flight instead of waiting for each: more gains less than {gain}%."
        ),
    };
    Some(finding(Weight::Headline, text, remedy))
}

/// What a core can do there, and what that is: the crypto alone, or where
/// that was not measured the best valid way of asking.
fn best(host: &Host, measured: &Measured) -> Option<(f64, &'static str)> {
    if let Some(raw) = measured.mb_per_s(Arm::Raw) {
        return Some((raw, "the crypto alone runs at"));
    }
    let lanes = measured
        .arms
        .iter()
        .map(|(arm, _)| *arm)
        .filter(|arm| matches!(arm, Arm::Lane(..)) && is_valid(host, measured, *arm));
    let best = lanes
        .filter_map(|arm| measured.mb_per_s(arm))
        .reduce(f64::max)?;
    Some((best, "the best way of asking reached"))
}

/// How the largest block does beside the peer.
fn peer(comparisons: &[Comparison]) -> Option<Finding> {
    let ratios: Vec<_> = comparisons
        .iter()
        .filter(|comparison| {
            comparison.reference == Arm::OpenSsl.to_string()
                && comparison.outcome != Outcome::NoEvidence
        })
        .collect();
    let says =
        |comparison: &&Comparison| format!("{:.2}× on {}", comparison.ratio, comparison.subject);
    let (won, lost): (Vec<_>, Vec<_>) = ratios
        .iter()
        .partition(|comparison| comparison.outcome == Outcome::Faster);
    let list = |ratios: &[&&Comparison]| {
        ratios
            .iter()
            .map(|ratio| says(ratio))
            .collect::<Vec<_>>()
            .join("; ")
    };
    if ratios.is_empty() {
        return None;
    }
    let mut text = String::new();
    if !won.is_empty() {
        text = format!(
            "Beside openssl speed on the same core, a lane is faster: {}.",
            list(&won)
        );
    }
    if !lost.is_empty() {
        text = format!("{text} It is slower: {}.", list(&lost))
            .trim()
            .to_owned();
    }
    Some(finding(Weight::Note, text, ""))
}

/// What it costs to be notified of every completion.
fn each(context: Context<'_>) -> Option<Finding> {
    let cells =
        [Placement::Split, Placement::Shared].map(|placement| cell(context, placement, 1024));
    let measured = cells
        .into_iter()
        .flatten()
        .find(|measured| is_valid(context.1, measured, Arm::EACH))?;
    let (each, armed) = (
        measured.mb_per_s(Arm::EACH)?,
        measured.mb_per_s(Arm::ASYNC)?,
    );
    if each >= ENOUGH * armed {
        return None;
    }
    let text = format!(
        "A notification for every completion leaves {} of the speed at {}, {} in flight ({} of {}): the worker spends its time on wake-ups.",
        percent(each / armed),
        size(measured.block_bytes),
        measured.cell.depth,
        speed(each),
        speed(armed),
    );
    Some(finding(
        Weight::Advice,
        text,
        "Notify only a client that sleeps (policy `armed`, the default).",
    ))
}

/// What one shared core costs, as in a guest with one vCPU.
fn shared(context: Context<'_>) -> Option<Finding> {
    let split = cell(context, Placement::Split, 1024)?;
    // Where the one is not valid at 1 KiB, the other must not stay there.
    let shared = cell(context, Placement::Shared, split.cell.block_bytes)
        .filter(|shared| shared.block_bytes == split.block_bytes)?;
    let (own, one) = (split.mb_per_s(Arm::ASYNC)?, shared.mb_per_s(Arm::ASYNC)?);
    let verdict = if one > own {
        format!(
            "more than on two ({}): waking another core costs more than the crypto",
            speed(own)
        )
    } else {
        format!("{} of what two give", percent(one / own))
    };
    let text = format!(
        "With client and worker on one core (a guest with one vCPU), {} in flight give {} at {}, {verdict}; waiting for each gives {}.",
        shared.cell.depth,
        speed(one),
        size(shared.block_bytes),
        speed(shared.mb_per_s(Arm::SYNC)?),
    );
    Some(finding(Weight::Note, text, ""))
}

fn wake_up(results: &Results) -> Option<Finding> {
    let values: Vec<_> = results.wake_up_ns.values().copied().collect();
    let cost_us = median(&values)? / 1e3;
    let text = format!(
        "Waking a sleeping thread on another core takes {cost_us:.1} µs here (median): the price of one crossing."
    );
    Some(finding(Weight::Note, text, ""))
}

/// What waiting costs, by policy, where there is work enough to sleep meanwhile.
fn waiting((_, host, results): Context<'_>) -> Option<Finding> {
    let says = |measured: &Measured| {
        let polled = measured.mb_per_s(Arm::POLLED)?;
        let of = |arm: Arm| {
            let series = measured
                .arm(arm)
                .filter(|_| is_valid(host, measured, arm))?;
            let client = median(&series.values(|sample| sample.client_cpus))?;
            let share = percent(measured.mb_per_s(arm)? / polled);
            let policy = arm.policy()?;
            Some(format!("`{policy}` {share} for {}", percent(client)))
        };
        let arms = [Arm::ASYNC, Arm::HYBRID, Arm::POLLED].map(of);
        let arms: Vec<_> = arms.into_iter().flatten().collect();
        let (what, size) = (measured.cell.what(), size(measured.block_bytes));
        (arms.len() > 1).then(|| format!("{what}, {size}: {}", arms.join(", ")))
    };
    let deep = results.cells.iter();
    let deep = deep.filter(|measured| measured.cell.role == Role::Deep);
    let places: Vec<_> = deep.filter_map(says).take(PLACES_MAX).collect();
    let text = format!(
        "What waiting costs here, speed as a part of `polled` for so much of the client's core: {}.",
        places.join("; ")
    );
    (!places.is_empty()).then(|| finding(Weight::Note, text, ""))
}

/// Whether the cores kept their distance. A hypervisor that moves a guest's
/// CPUs between core complexes changes it, unseen by the guest.
fn distance(results: &Results) -> Option<Finding> {
    let [near, far] = [0.1, 0.9].map(|share| quantile(&results.line_ns, share));
    let (near, far) = (near?, far?);
    if far < MOVED * near {
        let text = format!(
            "A cache line takes {near:.0} to {far:.0} ns from core to core: the least that any hand-over costs."
        );
        return Some(finding(Weight::Note, text, ""));
    }
    let text = format!(
        "The distance between the two cores changed while measuring: a cache line took {near:.0} ns at times and {far:.0} ns at others. The hypervisor moves this guest's CPUs; every figure that crosses cores spreads with it.",
    );
    let remedy = "Pin the guest's CPUs to cores that share an L3 cache; until then trust the intervals, not the medians.";
    Some(finding(Weight::Warning, text, remedy))
}

fn end(results: &Results) -> Option<Finding> {
    let (text, remedy) = match &results.end {
        End::Complete => return None,
        End::Late(rounds) => (
            format!("The host was slower than planned: the run ended after {rounds} rounds."),
            "Measure when the host is quiet.",
        ),
        End::Interrupted => (
            "Interrupted: what is here stands on the rounds that were measured.".to_owned(),
            "Run again for the intervals that a claim needs.",
        ),
        End::Failed(error) => (
            format!("A trial failed: {error}. What was measured before it stands."),
            "See the error; run again.",
        ),
    };
    Some(finding(Weight::Warning, text, remedy))
}
