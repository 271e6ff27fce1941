//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Weight};

use crate::speed::measure::End;
use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::grid::Peers;
use crate::speed::peers::measure::{Results, RowResult};
use crate::speed::peers::points::is_valid;
use crate::speed::peers::schedule::Schedule;
use kit::closing::{clock, closing};

/// Shares of the ceiling up to so much above 1 are rounding and noise.
pub(super) const CEILING_TOLERANCE: f64 = 0.02;
/// Places named in one finding; the table has all.
const NAMED_MAX: usize = 12;

pub(super) fn findings(
    config: &Config,
    peers: &Peers,
    schedule: &Schedule,
    results: &Results,
    comparisons: &[Comparison],
) -> Vec<Finding> {
    let texts = [
        standing(peers, results),
        losses(peers, results),
        beyond(results),
        silent(results),
        missing(config, peers),
        left_out(schedule),
        clock(results.steps_ns()).filter(|clock| clock.weight == Weight::Warning),
        closing(results.closing, results.rounds, comparisons).map(of_peers),
        end(results),
    ];
    let unmasked = unmasked(config);
    texts.into_iter().flatten().chain(unmasked).collect()
}

/// The same line comes from `crypto-speed`: which is which.
fn of_peers(closing: Finding) -> Finding {
    Finding {
        text: format!("Beside the peers: {}", closing.text),
        ..closing
    }
}

fn finding(weight: Weight, text: String, remedy: &str) -> Finding {
    Finding {
        weight,
        text,
        remedy: remedy.to_owned(),
    }
}

/// The fastest peer of a row that is valid, and the engine's speed
/// over its own: below 1 we lose.
pub(super) fn best_peer(peers: &Peers, row: &RowResult) -> Option<(Arm, f64)> {
    let engine = row.rate(Arm::Engine)?;
    let valid = |&arm: &Arm| is_valid(peers, row, arm);
    valid(&Arm::Engine).then_some(())?;
    Arm::PEERS
        .into_iter()
        .filter(valid)
        .filter_map(|arm| Some((arm, engine / row.rate(arm)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// How the engine does beside the best peer, over all rows: the headline.
fn standing(peers: &Peers, results: &Results) -> Option<Finding> {
    let ratios: Vec<_> = results
        .rows
        .iter()
        .filter_map(|row| Some((row, best_peer(peers, row)?)))
        .collect();
    let won = ratios
        .iter()
        .filter(|(_, (_, ratio))| *ratio >= 1.0)
        .count();
    let (row, (arm, ratio)) = ratios.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let text = format!(
        "A lane is at least as fast as the best peer measured in {won} of {} places; most on {}, {ratio:.1}× of {arm} (medians).",
        ratios.len(),
        row.row.name(),
    );
    Some(finding(Weight::Headline, text, ""))
}

/// Each place where a peer's median is higher.
fn losses(peers: &Peers, results: &Results) -> Option<Finding> {
    let mut lost: Vec<_> = results
        .rows
        .iter()
        .filter_map(|row| Some((row, best_peer(peers, row)?)))
        .filter(|(_, (_, ratio))| *ratio < 1.0)
        .collect();
    lost.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let text = match lost.len() {
        0 if results
            .rows
            .iter()
            .any(|row| best_peer(peers, row).is_some()) =>
        {
            "No peer that was measured is faster than a lane anywhere (medians).".to_owned()
        }
        0 => return doubtful(results),
        count => {
            let named = lost
                .iter()
                .take(NAMED_MAX)
                .map(|(row, (arm, ratio))| format!("{} ({ratio:.2}× of {arm})", row.row.name()));
            let named = named.collect::<Vec<_>>().join("; ");
            let more = match count.saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!("; and {more} more in the table"),
            };
            format!("Where a peer's median is higher, {count} places: {named}{more}.")
        }
    };
    Some(finding(Weight::Note, text, ""))
}

/// There are peers' figures, and not one place where both are valid.
fn doubtful(results: &Results) -> Option<Finding> {
    let has_peer = |row: &&RowResult| {
        row.arm(Arm::Engine).is_some() && Arm::PEERS.iter().any(|&arm| row.arm(arm).is_some())
    };
    let count = results.rows.iter().filter(has_peer).count();
    let text = format!(
        "Whether a peer is faster cannot be said: in none of {count} places are the lane's figure and a peer's both valid."
    );
    let remedy = "See the reasons beside the points; most often: measure when the host is quiet.";
    (count > 0).then(|| finding(Weight::Warning, text, remedy))
}

/// Peers that were there and gave no figure.
fn silent(results: &Results) -> Option<Finding> {
    if !matches!(results.end, End::Complete) {
        return None;
    }
    let is_silent = |row: &RowResult, arm: Arm| {
        row.arms
            .iter()
            .any(|(own, series)| *own == arm && series.samples.is_empty())
    };
    let of = |arm: Arm| {
        let rows = results.rows.iter().filter(|row| is_silent(row, arm));
        let names: Vec<_> = rows.map(|row| row.row.name()).collect();
        (!names.is_empty()).then(|| format!("{arm} for {}", names.join(", ")))
    };
    let all: Vec<_> = Arm::ALL.into_iter().filter_map(of).collect();
    let text = format!("No figure came from {}.", all.join("; from "));
    let remedy = "Run the peer's own command, as its other points show it, and read its error.";
    (!all.is_empty()).then(|| finding(Weight::Warning, text, remedy))
}

/// Own loops that were faster than the ceiling, which nothing can be.
fn beyond(results: &Results) -> Option<Finding> {
    let share = |row: &RowResult| Some((row.row.name(), ceiling_share(row)?));
    let beyond = results.rows.iter().filter_map(share);
    let beyond: Vec<_> = beyond
        .filter(|(_, share)| *share > 1.0 + CEILING_TOLERANCE)
        .map(|(name, share)| format!("{name} ({share:.2})"))
        .collect();
    let text = format!(
        "The own loop measured faster than the ceiling, which cannot be, for {}: the core was slower while the ceiling ran, so that the shares of the ceiling in these rows say nothing.",
        beyond.join("; ")
    );
    let remedy = "Measure when the host is quiet and its clock holds still.";
    (!beyond.is_empty()).then(|| finding(Weight::Warning, text, remedy))
}

/// The own loop over the ceiling, by medians.
pub(super) fn ceiling_share(row: &RowResult) -> Option<f64> {
    Some(row.rate(Arm::OwnLoop)? / row.rate(Arm::Ceiling)?)
}

/// Peers that no mask reaches, under a tier: one finding a reason.
pub(super) fn unmasked(config: &Config) -> Vec<Finding> {
    let mut all: Vec<_> = config
        .peers
        .iter()
        .filter_map(|peer| peer.cannot_mask())
        .map(|why| {
            let text = format!("A peer is left out: {}.", why.reason);
            finding(Weight::Note, text, &why.remedy)
        })
        .collect();
    all.dedup();
    all
}

/// Peers that this host lacks.
pub(super) fn missing(config: &Config, peers: &Peers) -> Option<Finding> {
    let lacks = |arm: Arm| match arm {
        Arm::OpenSsl => !peers.host.has(kit::openssl::PROGRAM),
        Arm::Dpdk32 | Arm::Dpdk1 => !peers.has_dpdk,
        Arm::Ceiling => !peers.has_ceiling,
        _ => false,
    };
    let missing =
        |arm: &&Arm| config.peers.contains(arm) && lacks(**arm) && arm.cannot_mask().is_none();
    let words = Arm::OPTIONAL.iter().filter(missing).map(|arm| match arm {
        Arm::OpenSsl => "openssl is not installed",
        Arm::Dpdk32 | Arm::Dpdk1 => "dpdk-test-crypto-perf is not installed (Debian: dpdk-dev)",
        _ => "this CPU has no AES instructions for a ceiling",
    });
    let mut words: Vec<_> = words.collect();
    words.dedup();
    let text = format!("Not all peers could be measured: {}.", words.join("; "));
    (!words.is_empty()).then(|| {
        finding(
            Weight::Note,
            text,
            "Install what is missing, then measure again.",
        )
    })
}

/// What the budget did not hold.
fn left_out(schedule: &Schedule) -> Option<Finding> {
    let left = schedule.left_out();
    let text = format!("The budget had no time for: {}.", left.join("; "));
    (!left.is_empty()).then(|| {
        finding(
            Weight::Note,
            text,
            "`lockgate speed --algorithm all --budget 5m --precision 0.02` has time for all of it.",
        )
    })
}

fn end(results: &Results) -> Option<Finding> {
    let (text, remedy) = match &results.end {
        End::Complete => return None,
        End::Late(rounds) => (
            format!(
                "The host was slower than planned: the peers' run ended after {rounds} rounds."
            ),
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

#[cfg(test)]
mod tests;
