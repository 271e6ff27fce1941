//! Which ratios are claimed, and the targets they are held against.

use crypto::Algorithm;
use trial::stats::{Arms, PAIRS_MIN, compare};
use trial::{Comparison, Direction, Outcome};

use super::arm::{Arm, Cell};
use super::config::Config;
use super::findings::size;
use super::grid::{Host, POLLED_BLOCK_BYTES_MIN};
use super::invocation::of_pairs;
use super::measure::{Measured, Results};
use super::place::Placement;
use super::points::verdict;

/// Every interleaved ratio, the most telling first.
pub(super) fn comparisons(config: &Config, host: &Host, results: &Results) -> Vec<Comparison> {
    let context = (config, host);
    let cells = || {
        results
            .cells
            .iter()
            .filter(|measured| !measured.cell.is_ladder)
    };
    let peers = cells().filter_map(|measured| peer(context, measured));
    let raws = cells().filter_map(|measured| raw(context, measured));
    let notifications = cells()
        .flat_map(|measured| [polled(context, measured), each(context, measured)])
        .flatten();
    let modes = cells().filter_map(|measured| modes(context, measured));
    let wake_ups = cells().filter_map(|measured| wake_ups(config, results, measured));
    peers
        .chain(raws)
        .chain(notifications)
        .chain(wake_ups)
        .chain(modes)
        .collect()
}

/// What every ratio depends on.
type Context<'a> = (&'a Config, &'a Host);

fn subject(cell: &Cell) -> String {
    let placement = if cell.placement == Placement::Shared {
        ", shared core"
    } else {
        ""
    };
    let (what, size) = (cell.what(), size(cell.block_bytes));
    format!("{what}, {size}, depth {}{placement}", cell.depth)
}

/// The ratio of two arms' speeds over the rounds that have both.
fn speeds(
    (config, host): (&Config, &Host),
    measured: &Measured,
    arm: Arm,
    reference: Arm,
) -> Option<Comparison> {
    let (above, below) = (measured.arm(arm)?, measured.arm(reference)?);
    let pairs = above.samples.iter().filter_map(|(round, sample)| {
        Some((
            sample.requests_per_s,
            below.samples.get(round)?.requests_per_s,
        ))
    });
    let arms = Arms {
        subject: subject(&measured.cell),
        arm: arm.to_string(),
        reference: reference.to_string(),
        metric: "requests_per_s".to_owned(),
        command: of_pairs(&config.table),
    };
    let comparison = compare(arms, Direction::Higher, pairs.collect(), config.seed).ok()?;
    let is_sound = [(arm, above), (reference, below)]
        .into_iter()
        .all(|(arm, series)| verdict(host, measured, arm, series).is_valid());
    // An invalid trial is neither a pass nor a loss.
    let outcome = if is_sound {
        comparison.outcome
    } else {
        Outcome::NoEvidence
    };
    Some(Comparison {
        outcome,
        ..comparison
    })
}

fn with_target(comparison: Comparison, target: Option<f64>) -> Comparison {
    match target
        .filter(|_| comparison.outcome != Outcome::NoEvidence || comparison.pairs.len() < PAIRS_MIN)
    {
        Some(at_least) => comparison.with_target(at_least),
        None => comparison,
    }
}

fn peer(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let comparison = speeds(context, measured, Arm::ASYNC, Arm::OpenSsl)?;
    let target = match (measured.cell.kind.algorithm, measured.cell.block_bytes) {
        (Algorithm::Aes128Gcm, 16_384) => Some(2.0),
        (Algorithm::Aes256Xts, 16_384) => Some(1.8),
        _ => None,
    };
    Some(with_target(comparison, target))
}

fn raw(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let comparison = speeds(context, measured, Arm::ASYNC, Arm::Raw)?;
    let cell = &measured.cell;
    let is_claimed = matches!(
        cell.kind.algorithm,
        Algorithm::Aes128Gcm | Algorithm::Aes256Xts
    ) && matches!(cell.block_bytes, 4096 | 16_384)
        && measured.in_flight_bytes as u64 <= context.1.l2_bytes / 2 + context.1.l2_bytes / 64;
    Some(with_target(comparison, is_claimed.then_some(0.9)))
}

fn polled(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    let is_claimed = measured.cell.block_bytes >= POLLED_BLOCK_BYTES_MIN
        && measured.cell.placement == Placement::Split;
    Some(with_target(
        speeds(context, measured, Arm::ASYNC, Arm::POLLED)?,
        is_claimed.then_some(0.9),
    ))
}

fn each(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    speeds(context, measured, Arm::ASYNC, Arm::EACH)
}

fn modes(context: Context<'_>, measured: &Measured) -> Option<Comparison> {
    speeds(context, measured, Arm::ASYNC, Arm::SYNC)
}

/// A synchronous request must not take longer than the crypto and two
/// wake-ups: less is better, so that the reference is above the line.
fn wake_ups(config: &Config, results: &Results, measured: &Measured) -> Option<Comparison> {
    let cell = &measured.cell;
    if cell.placement != Placement::Split || cell.block_bytes > 64 {
        return None;
    }
    let (sync, raw) = (measured.arm(Arm::SYNC)?, measured.arm(Arm::Raw)?);
    let pairs = results.wake_up_ns.iter().filter_map(|(round, wake_up_ns)| {
        let crypto_ns = 1e9 / raw.samples.get(round)?.requests_per_s;
        Some((crypto_ns + 2.0 * wake_up_ns, *sync.p50_ns.get(round)?))
    });
    let arms = Arms {
        subject: subject(cell),
        arm: "the back-end's own time + two wake-ups".to_owned(),
        reference: "median latency of sync".to_owned(),
        metric: "latency_p50_us".to_owned(),
        command: of_pairs(&config.table),
    };
    Some(
        compare(arms, Direction::Higher, pairs.collect(), config.seed)
            .ok()?
            .with_target(1.0),
    )
}
