//! Ratios of contenders, from interleaved pairs.

use trial::stats::{Arms, compare};
use trial::{Comparison, Direction, Outcome};

use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::results::{Measured, Results};
use crate::vcm::controllers::section::command;

/// `adaptive` reaches so much of the oracle, and of no moderation.
pub(crate) const OF_ORACLE: f64 = 0.93;
pub(crate) const OF_UNCAPPED: f64 = 0.95;

/// All of them, spot by spot.
pub(super) fn comparisons(config: &Config, results: &Results) -> Vec<Comparison> {
    let of = |measured| {
        wanted(measured)
            .into_iter()
            .filter_map(move |(pair, target)| ratio(config, results, measured, pair, target))
    };
    results.spots.iter().flat_map(of).collect()
}

type Wanted = ((Contender, Contender), Option<f64>);

fn wanted(measured: &Measured) -> Vec<Wanted> {
    use Contender::{Armed, Oracle, Uncapped};
    let mut wanted = vec![((Oracle, Uncapped), None), ((Armed, Oracle), None)];
    let contenders = measured.contenders.iter().map(|(contender, _)| *contender);
    let controlled = contenders.filter(|one| matches!(one, Contender::Controlled(_)));
    for one in controlled {
        let target = |at_least| (one == Contender::ADAPTIVE).then_some(at_least);
        wanted.push(((one, Oracle), target(OF_ORACLE)));
        wanted.push(((one, Uncapped), target(OF_UNCAPPED)));
    }
    wanted
}

/// The ratio of two contenders' speeds over the rounds that have both.
pub(super) fn ratio(
    config: &Config,
    results: &Results,
    measured: &Measured,
    (arm, reference): (Contender, Contender),
    target: Option<f64>,
) -> Option<Comparison> {
    let (above, below) = (measured.series(arm)?, measured.series(reference)?);
    let pairs = above.pairs(below, |window| window.requests_per_s(0));
    let arms = Arms {
        subject: measured.spot.label(),
        arm: arm.to_string(),
        reference: reference.to_string(),
        metric: "requests_per_s".to_owned(),
        command: command(&config.table),
    };
    let comparison = compare(arms, Direction::Higher, pairs, config.seed).ok()?;
    let is_sound = [arm, reference]
        .into_iter()
        .all(|one| results.is_valid(measured, one));
    Some(judged(comparison, target, is_sound))
}

/// Held against a target, where there is one; an invalid trial is neither a
/// pass nor a loss.
pub(crate) fn judged(comparison: Comparison, target: Option<f64>, is_sound: bool) -> Comparison {
    if !is_sound {
        return Comparison {
            subject: format!("{} (a trial not valid)", comparison.subject),
            outcome: Outcome::NoEvidence,
            target: None,
            ..comparison
        };
    }
    match target {
        Some(at_least) => comparison.with_target(at_least),
        None => comparison,
    }
}

/// Such a ratio among those.
pub(super) fn find<'a>(
    ratios: &'a [Comparison],
    measured: &Measured,
    arm: Contender,
    reference: Contender,
) -> Option<&'a Comparison> {
    let (subject, arm, reference) = (
        measured.spot.label(),
        arm.to_string(),
        reference.to_string(),
    );
    ratios.iter().find(|ratio| {
        ratio.subject.starts_with(&subject) && ratio.arm == arm && ratio.reference == reference
    })
}
