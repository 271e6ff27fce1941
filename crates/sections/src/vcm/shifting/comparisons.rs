//! Ratios of contenders: phase by phase, and over all phases.

use trial::stats::{Arms, compare};
use trial::{Comparison, Direction};

use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::results::{Results, mb_per_s};
use crate::vcm::shifting::section::command;
use kit::controllers::contender::Contender;
use kit::controllers::{OF_ORACLE, OF_UNCAPPED};
use kit::ratio::Ratio;

/// `adaptive` reaches so many times the speed of the paper's monitor.
pub(super) const OVER_PROSE: f64 = 1.25;
/// What a ratio over all phases is about.
pub(super) const ALL_PHASES: &str = "all phases";

/// Over all phases first, then phase by phase.
pub(super) fn comparisons(config: &Config, results: &Results) -> Vec<Comparison> {
    let overall = wanted(results)
        .into_iter()
        .filter_map(|(pair, _)| over_all(config, results, pair, target_over_all(pair)));
    let by_phase = (0..results.phases.len()).flat_map(|phase| {
        wanted(results)
            .into_iter()
            .filter_map(move |(pair, target)| in_phase(config, results, phase, pair, target))
    });
    overall.chain(by_phase).collect()
}

type Pair = (Contender, Contender);

fn wanted(results: &Results) -> Vec<(Pair, Option<f64>)> {
    use Contender::{Armed, Oracle, Uncapped};
    let mut wanted = vec![((Oracle, Uncapped), None), ((Armed, Oracle), None)];
    for (name, _) in &results.runs {
        let one = Contender::Controlled(name);
        let target = |at_least| (one == Contender::ADAPTIVE).then_some(at_least);
        wanted.push(((one, Oracle), target(OF_ORACLE)));
        wanted.push(((one, Uncapped), target(OF_UNCAPPED)));
    }
    wanted.push(((Contender::ADAPTIVE, Contender::PROSE), None));
    wanted
}

fn target_over_all(pair: Pair) -> Option<f64> {
    (pair == (Contender::ADAPTIVE, Contender::PROSE)).then_some(OVER_PROSE)
}

fn arms(config: &Config, subject: String, (arm, reference): Pair) -> Arms {
    Arms {
        subject,
        arm: arm.to_string(),
        reference: reference.to_string(),
        metric: "speed_mb_per_s".to_owned(),
        command: command(&config.table),
    }
}

/// What a ratio in a phase is about.
pub(super) fn subject(results: &Results, phase: usize) -> String {
    format!(
        "phase {}, {}",
        phase + 1,
        results.phases[phase].phase.label()
    )
}

fn in_phase(
    config: &Config,
    results: &Results,
    phase: usize,
    pair: Pair,
    target: Option<f64>,
) -> Option<Comparison> {
    let (above, below) = (
        results.series(phase, pair.0)?,
        results.series(phase, pair.1)?,
    );
    let pairs = above.pairs(&below, mb_per_s);
    let arms = arms(config, subject(results, phase), pair);
    let comparison = compare(arms, Direction::Higher, pairs).ok()?;
    let is_sound = results.is_valid(phase, pair.0) && results.is_valid(phase, pair.1);
    Some(
        Ratio::judged(comparison, is_sound)
            .wanting(target)
            .comparison,
    )
}

/// A round's figure is the geometric mean of its phases, so that every phase
/// weighs the same.
fn over_all(
    config: &Config,
    results: &Results,
    pair: Pair,
    target: Option<f64>,
) -> Option<Comparison> {
    let (above, below) = (means(results, pair.0)?, means(results, pair.1)?);
    let both = above.into_iter().zip(below);
    let pairs = both
        .filter_map(|(above, below)| Some((above?, below?)))
        .collect();
    let arms = arms(config, ALL_PHASES.to_owned(), pair);
    let comparison = compare(arms, Direction::Higher, pairs).ok()?;
    let is_sound = (0..results.phases.len())
        .all(|phase| results.is_valid(phase, pair.0) && results.is_valid(phase, pair.1));
    Some(
        Ratio::judged(comparison, is_sound)
            .wanting(target)
            .comparison,
    )
}

/// By round: the geometric mean over all phases; none where one is missing.
fn means(results: &Results, contender: Contender) -> Option<Vec<Option<f64>>> {
    let phases = 0..results.phases.len();
    let series: Vec<_> = phases
        .map(|phase| results.series(phase, contender))
        .collect::<Option<_>>()?;
    let of = |round: usize| {
        let logs = series.iter().map(|series| {
            let trial = series.trials.get(&round)?;
            Some(mb_per_s(&trial.window).ln())
        });
        let logs: Vec<f64> = logs.collect::<Option<_>>()?;
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    Some((0..results.rounds).map(of).collect())
}

/// Such a ratio among those.
pub(super) fn find<'a>(
    ratios: &'a [Comparison],
    subject: &str,
    (arm, reference): Pair,
) -> Option<&'a Comparison> {
    let (arm, reference) = (arm.to_string(), reference.to_string());
    ratios
        .iter()
        .find(|ratio| ratio.subject == subject && ratio.arm == arm && ratio.reference == reference)
}
