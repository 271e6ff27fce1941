//! Which ratios are claimed, and the targets they are compared with.

use crypto::Algorithm;
use kit::ratio::without_evidence;
use trial::stats::{Arms, compare_at};
use trial::{Comparison, Direction};

use crate::speed::config::Config;
use crate::speed::invocation::of_pairs;
use crate::speed::measure::{Measured, Results};
use crate::speed::points::is_valid;
use kit::host::Host;
use kit::load::fresh::arm::{Arm, Cell, Role};
use kit::place::Placement;
use kit::words::{NOTIFY_SLEEPERS, size};

/// Every interleaved ratio, the most telling first.
pub(super) fn comparisons(context: Context<'_>, results: &Results) -> Vec<Comparison> {
    let cells = || {
        results
            .cells
            .iter()
            .filter(|measured| measured.cell.role != Role::Ladder)
    };
    let peers = cells().filter_map(|measured| peer(context, measured));
    let raws = cells().filter_map(|measured| raw(context, measured));
    let notifications = cells()
        .flat_map(|measured| {
            [
                polled(context, measured, Arm::ASYNC),
                polled(context, measured, Arm::HYBRID),
                each(context, measured),
            ]
        })
        .flatten();
    let modes = cells().filter_map(|measured| modes(context, measured));
    let wake_ups = cells().filter_map(|measured| wake_ups(context, results, measured));
    peers
        .chain(raws)
        .chain(notifications)
        .chain(wake_ups)
        .chain(modes)
        .collect()
}

/// What every ratio depends on; last how often its interval may miss.
type Context<'a> = (&'a Config, &'a Host, f64);

fn subject(cell: &Cell) -> String {
    let placement = if cell.placement == Placement::Shared {
        ", shared core"
    } else {
        ""
    };
    let (what, size) = (cell.what(), size(cell.block_bytes));
    format!("{what}, {size}, depth {}{placement}", cell.depth)
}

/// The ratio of two arms' speeds over the rounds that have both, compared with
/// a target if a claim rests on it.
fn speeds(
    (config, host, error): Context<'_>,
    measured: &Measured,
    (arm, reference): (Arm, Arm),
    target: Option<f64>,
) -> Option<Comparison> {
    let (above, below) = (measured.arm(arm)?, measured.arm(reference)?);
    let pairs = above.samples.iter().filter_map(|(round, sample)| {
        let reference = below.samples.get(round)?;
        Some((sample.requests_per_s, reference.requests_per_s))
    });
    let arms = Arms {
        subject: subject(&measured.cell),
        arm: arm.to_string(),
        reference: reference.to_string(),
        metric: "requests_per_s".to_owned(),
        command: of_pairs(&config.table),
    };
    let comparison = compare_at(arms, Direction::Higher, pairs.collect(), error).ok()?;
    let comparison = match target {
        Some(at_least) => comparison.with_target(at_least),
        None => comparison,
    };
    Some(if is_sound(host, measured, [arm, reference]) {
        comparison
    } else {
        without_evidence(comparison)
    })
}

fn is_sound(host: &Host, measured: &Measured, arms: [Arm; 2]) -> bool {
    arms.into_iter().all(|arm| is_valid(host, measured, arm))
}

fn peer(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let target = match (measured.cell.kind.algorithm, measured.cell.block_bytes) {
        (Algorithm::Aes128Gcm, 16_384) => Some(2.0),
        (Algorithm::Aes256Xts, 16_384) => Some(1.8),
        _ => None,
    };
    speeds(context, measured, (Arm::ASYNC, Arm::OpenSsl), target)
}

/// What the rings cost, without notifications: a claim where half of L2 holds
/// what is in flight.
fn raw(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let arm = [Arm::POLLED, Arm::ASYNC]
        .into_iter()
        .find(|&arm| measured.arm(arm).is_some())?;
    let is_claimed = measured.cell.role == Role::Deep
        && matches!(
            measured.cell.kind.algorithm,
            Algorithm::Aes128Gcm | Algorithm::Aes256Xts
        );
    speeds(
        context,
        measured,
        (arm, Arm::Raw),
        is_claimed.then_some(0.9),
    )
}

/// What notifications cost: a claim where there is work enough to hide a
/// wake-up.
fn polled(context: Context<'_>, measured: &Measured, arm: Arm) -> Option<Comparison> {
    let is_claimed = measured.cell.role == Role::Deep;
    speeds(
        context,
        measured,
        (arm, Arm::POLLED),
        is_claimed.then_some(0.9),
    )
}

fn each(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let gain = speeds(context, measured, (Arm::ASYNC, Arm::EACH), None)?;
    Some(changed(gain, NOTIFY_SLEEPERS.to_owned()))
}

fn modes(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let gain = speeds(context, measured, (Arm::ASYNC, Arm::SYNC), None)?;
    let depth = measured.cell.depth;
    Some(changed(
        gain,
        format!("Keep {depth} requests in flight, not one"),
    ))
}

fn changed(gain: Comparison, change: String) -> Comparison {
    Comparison { change, ..gain }
}

/// A synchronous request must not take longer than the crypto and two
/// wake-ups: less is better, so that the reference is above the line.
fn wake_ups(
    (config, host, error): Context<'_>,
    results: &Results,
    measured: &Measured,
) -> Option<Comparison> {
    let cell = &measured.cell;
    if cell.placement != Placement::Split || cell.block_bytes > 64 {
        return None;
    }
    let (sync, raw) = (measured.arm(Arm::SYNC)?, measured.arm(Arm::Raw)?);
    let pairs = results.wake_up_ns.iter().filter_map(|(round, wake_up_ns)| {
        let crypto_us = 1e6 / raw.samples.get(round)?.requests_per_s;
        let sync_us = sync.p50_ns.get(round)? / 1e3;
        Some((crypto_us + 2.0 * wake_up_ns / 1e3, sync_us))
    });
    let arms = Arms {
        subject: subject(cell),
        arm: "the back-end's own time + two wake-ups".to_owned(),
        reference: "median latency of sync".to_owned(),
        metric: "latency_p50_us".to_owned(),
        command: of_pairs(&config.table),
    };
    let comparison = compare_at(arms, Direction::Higher, pairs.collect(), error).ok()?;
    Some(if is_sound(host, measured, [Arm::SYNC, Arm::Raw]) {
        comparison.with_target(1.0)
    } else {
        without_evidence(comparison)
    })
}
