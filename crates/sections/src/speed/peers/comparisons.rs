//! Which ratios are claimed, and the targets they are compared with.

use crypto::Algorithm;
use trial::stats::{Arms, Decision, ERROR, Looks, PAIRS_FOR_A_CLAIM, Precision, compare_at};
use trial::{Comparison, Direction, Outcome};

use kit::ratio::without_evidence;

use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::grid::Peers;
use crate::speed::peers::invocation::of_pairs;
use crate::speed::peers::measure::{Results, RowResult};
use crate::speed::peers::points::is_valid;

/// The ratios of every row, in the order of reports.
const RATIOS: [(Arm, Arm); 6] = [
    (Arm::Engine, Arm::OpenSsl),
    (Arm::Engine, Arm::Dpdk32),
    (Arm::Engine, Arm::Dpdk1),
    (Arm::Engine, Arm::Ring),
    (Arm::Engine, Arm::OwnLoop),
    (Arm::OwnLoop, Arm::Ceiling),
];

/// What a lane does that one stream does not.
const MANY_AT_ONCE: &str = "Encrypt many requests at once, not one stream";

/// Every interleaved ratio, by what is compared with what.
pub(super) fn comparisons(config: &Config, peers: &Peers, results: &Results) -> Vec<Comparison> {
    let rows = results.rows.iter();
    let rows = rows.map(|row| (row, error(config, peers, (row, results.rule))));
    let rows: Vec<_> = rows.collect();
    let of = |arms| {
        let rows = rows.iter();
        rows.filter_map(move |(row, error)| ratio(config, peers, row, arms, *error))
    };
    RATIOS.into_iter().flat_map(of).collect()
}

/// Every ratio with an interval that misses no more often than `error`.
pub(super) fn all_at(
    config: &Config,
    peers: &Peers,
    results: &Results,
    error: f64,
) -> Vec<Comparison> {
    let rows = results.rows.iter();
    rows.flat_map(|row| of_row(config, peers, row, error))
        .collect()
}

fn of_row(config: &Config, peers: &Peers, row: &RowResult, error: f64) -> Vec<Comparison> {
    let of = |arms| ratio(config, peers, row, arms, error);
    RATIOS.into_iter().filter_map(of).collect()
}

/// Whether a row has all that was wanted of it: as a look found it, after which
/// it is not measured again.
pub(super) fn is_done(config: &Config, peers: &Peers, row: &RowResult, rule: &Precision) -> bool {
    let ratios = of_row(config, peers, row, Looks::of_a_look());
    let is_look = Looks::is_at(rounds(&ratios));
    match rule.decide(&ratios) {
        Decision::Enough => ratios.is_empty() || is_look,
        Decision::More => false,
        Decision::Exhausted => true,
    }
}

/// How often the intervals of a row may miss.
fn error(config: &Config, peers: &Peers, (row, rule): (&RowResult, Option<Precision>)) -> f64 {
    match rule {
        None => ERROR,
        Some(rule) if is_done(config, peers, row, &rule) => Looks::of_a_look(),
        Some(_) => {
            let ratios = of_row(config, peers, row, ERROR);
            Looks::of_the_end(rounds(&ratios))
        }
    }
}

/// Rounds of a row.
fn rounds(ratios: &[Comparison]) -> usize {
    let pairs = ratios.iter().map(|ratio| ratio.pairs.len());
    pairs.max().unwrap_or(0)
}

/// The ratio of two arms' speeds over the rounds that have both.
fn ratio(
    config: &Config,
    peers: &Peers,
    row: &RowResult,
    (arm, reference): (Arm, Arm),
    error: f64,
) -> Option<Comparison> {
    let (above, below) = (row.arm(arm)?, row.arm(reference)?);
    let pairs = above.samples.iter().filter_map(|(round, sample)| {
        let reference = below.samples.get(round)?;
        Some((sample.requests_per_s, reference.requests_per_s))
    });
    let pairs: Vec<_> = pairs.collect();
    let count = pairs.len();
    let arms = Arms {
        subject: row.row.name(),
        arm: arm.to_string(),
        reference: reference.to_string(),
        metric: "requests_per_s".to_owned(),
        command: of_pairs(&config.table),
    };
    let mut comparison = compare_at(arms, Direction::Higher, pairs, error).ok()?;
    if matches!(reference, Arm::OpenSsl | Arm::Ring) {
        MANY_AT_ONCE.clone_into(&mut comparison.change);
    }
    let is_sound = [arm, reference]
        .iter()
        .all(|&arm| is_valid(peers, row, arm));
    if !is_sound {
        // An invalid trial is neither a pass nor a loss.
        return Some(without_evidence(comparison));
    }
    if reference == Arm::Ceiling && comparison.low > 1.0 {
        return Some(Comparison {
            subject: format!("{} (faster than can be)", comparison.subject),
            outcome: Outcome::NoEvidence,
            ..comparison
        });
    }
    // Fewer pairs are no claim, so that there is nothing to meet or to miss.
    Some(match target(row, arm, reference) {
        Some(at_least) if count >= PAIRS_FOR_A_CLAIM => comparison.with_target(at_least),
        _ => comparison,
    })
}

/// What this project says of itself.
fn target(row: &RowResult, arm: Arm, reference: Arm) -> Option<f64> {
    let size = row.block_bytes();
    let is_large = matches!(size, 4096 | 16_384);
    match (arm, reference, row.kind().algorithm) {
        _ if !row.row.is_claim && reference != Arm::OwnLoop => None,
        (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Cbc) if is_large => Some(6.5),
        (Arm::Engine, Arm::OpenSsl, Algorithm::Sha256) if is_large => Some(2.0),
        (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Gcm) if is_large => Some(2.5),
        (Arm::Engine, Arm::OpenSsl, Algorithm::Aes128Ctr) if is_large => Some(2.2),
        (Arm::Engine, Arm::Dpdk32, Algorithm::Aes128Cbc) => Some(1.0),
        (Arm::Engine, Arm::Ring, Algorithm::Aes128Gcm) if size == 64 => Some(1.2),
        (Arm::Engine, Arm::OwnLoop, algorithm)
            if algorithm.is_public_key() || (1024..=16_384).contains(&size) =>
        {
            Some(0.9)
        }
        _ => None,
    }
}
