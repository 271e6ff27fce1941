//! Which ratios are claimed, and the targets they are compared with.

use crypto::Algorithm;
use trial::stats::{Arms, PAIRS_FOR_A_CLAIM, compare};
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

/// Every interleaved ratio, by what is compared with what.
pub(super) fn comparisons(config: &Config, peers: &Peers, results: &Results) -> Vec<Comparison> {
    let of = |arms| {
        let rows = results.rows.iter();
        rows.filter_map(move |row| ratio(config, peers, row, arms))
    };
    RATIOS.into_iter().flat_map(of).collect()
}

/// The ratios of one row.
pub(super) fn of_row(config: &Config, peers: &Peers, row: &RowResult) -> Vec<Comparison> {
    let of = |arms| ratio(config, peers, row, arms);
    RATIOS.into_iter().filter_map(of).collect()
}

/// The ratio of two arms' speeds over the rounds that have both.
fn ratio(
    config: &Config,
    peers: &Peers,
    row: &RowResult,
    (arm, reference): (Arm, Arm),
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
    let comparison = compare(arms, Direction::Higher, pairs, config.seed).ok()?;
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
