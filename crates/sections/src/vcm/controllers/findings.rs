//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Outcome, Weight};

use crate::vcm::controllers::comparisons::{OF_ORACLE, OF_UNCAPPED, find};
use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::fixed::label;
use crate::vcm::controllers::results::{End, Measured, Results};
use crate::vcm::controllers::tables::with_interval;
use kit::closing::{clock, closing};
use kit::words::{finding, speed};

/// So many places are named.
const NAMED_MAX: usize = 5;
/// The paper's monitor looks once so many milliseconds.
const PAPER_INTERVAL_MS: f64 = 1000.0;

pub(super) fn findings(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Finding> {
    let texts = [
        gain(results, ratios),
        best_controller(results, ratios),
        adaptive(results, ratios),
        public_keys(results, ratios),
        bounded(config, results),
        interval(config),
        clock(results.steps_ns()),
        closing(results.closing, results.rounds, ratios),
        end(results),
    ];
    texts.into_iter().flatten().collect()
}

/// Valid ratios of those contenders, with their spots.
fn valid<'a>(
    results: &'a Results,
    ratios: &'a [Comparison],
    (arm, reference): (Contender, Contender),
) -> Vec<(&'a Measured, &'a Comparison)> {
    let of = |measured: &'a Measured| {
        let is_valid = [arm, reference]
            .into_iter()
            .all(|one| results.is_valid(measured, one));
        let ratio = find(ratios, measured, arm, reference)?;
        is_valid.then_some((measured, ratio))
    };
    results.spots.iter().filter_map(of).collect()
}

/// The headline: where moderation gains most, and what finds it by itself.
fn gain(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let gains = valid(results, ratios, (Contender::Oracle, Contender::Uncapped));
    let most = gains.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let Some((measured, ratio)) = most else {
        let is_measured = |measured: &Measured| measured.series(Contender::Uncapped).is_some();
        return results.spots.iter().any(is_measured).then(|| {
            finding(
                Weight::Warning,
                "No place was measured validly, so that there is no headline: the points say why."
                    .to_owned(),
                "Measure on a quiet host.",
            )
        });
    };
    let least = gains.iter().min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let oracle = measured
        .oracle()
        .map_or_else(String::new, |arm| label(&arm));
    let mut text = format!(
        "The best fixed setting ({oracle}) gives {}× of a notification for every completion at {} ({} instead of {}).",
        with_interval(ratio),
        measured.spot.label(),
        speed(measured.mb_per_s(Contender::Oracle)?),
        speed(measured.mb_per_s(Contender::Uncapped)?),
    );
    if let Some(own) = find(ratios, measured, Contender::ADAPTIVE, Contender::Uncapped) {
        text = format!("{text} adaptive finds {:.2}× by itself.", own.ratio);
    }
    if let Some((place, ratio)) = least.filter(|(place, _)| place.spot != measured.spot) {
        text = format!(
            "{text} At {} it is {:.2}×.",
            place.spot.label(),
            ratio.ratio
        );
    }
    Some(finding(
        Weight::Headline,
        text,
        "Let completions gather: policy `armed`, or a controller.",
    ))
}

/// Geometric mean of everyone's share of the oracle over all places.
fn best_controller(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let contenders = results.spots.first()?.contenders.iter();
    let mean = |contender: Contender| {
        let shares = valid(results, ratios, (contender, Contender::Oracle));
        let least = shares
            .iter()
            .map(|(_, ratio)| ratio.ratio)
            .reduce(f64::min)?;
        let logs: f64 = shares.iter().map(|(_, ratio)| ratio.ratio.ln()).sum();
        let mean = (logs / shares.len() as f64).exp();
        Some((contender, mean, least, shares.len()))
    };
    let mut means: Vec<_> = contenders
        .map(|(contender, _)| *contender)
        .filter(|contender| *contender != Contender::Oracle)
        .filter_map(mean)
        .collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    let count = means.first()?.3;
    let says = |(contender, mean, least, _): &(Contender, f64, f64, usize)| {
        format!("{contender} {mean:.2} (worst {least:.2})")
    };
    let all: Vec<_> = means.iter().map(says).collect();
    let text = format!(
        "Share of the best fixed setting, geometric mean over {count} places: {}.",
        all.join(", ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether `adaptive` met its targets, and where not.
fn adaptive(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let ours = Contender::ADAPTIVE;
    let to_oracle = valid(results, ratios, (ours, Contender::Oracle));
    let to_uncapped = valid(results, ratios, (ours, Contender::Uncapped));
    if to_oracle.is_empty() {
        return None;
    }
    let short = |(place, ratio): &(&Measured, &Comparison), limit: f64| {
        (ratio.low < limit).then(|| {
            format!(
                "{} of {} at {}, {limit} was wanted",
                with_interval(ratio),
                ratio.reference,
                place.spot.label()
            )
        })
    };
    let missed: Vec<_> = to_oracle
        .iter()
        .filter_map(|one| short(one, OF_ORACLE))
        .chain(to_uncapped.iter().filter_map(|one| short(one, OF_UNCAPPED)))
        .collect();
    let places = to_oracle.len();
    if missed.is_empty() {
        let text = format!(
            "adaptive reaches at least {OF_ORACLE} of the best fixed setting and {OF_UNCAPPED} of no moderation at all {places} places (lower bounds of the intervals)."
        );
        return Some(finding(Weight::Note, text, ""));
    }
    let more = missed.len().saturating_sub(NAMED_MAX);
    let rest = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    let named = missed[..missed.len().min(NAMED_MAX)].join("; ");
    let text = format!(
        "adaptive falls short, by the lower bound, in {} of {} comparisons: {named}{rest}.",
        missed.len(),
        places + to_uncapped.len(),
    );
    Some(finding(
        Weight::Warning,
        text,
        "At such a load set the fixed setting that the table names; longer trials (a larger --budget) narrow the intervals.",
    ))
}

/// Figure 10: work that outweighs its notifications has nothing to gain.
fn public_keys(results: &Results, ratios: &[Comparison]) -> Option<Finding> {
    let gains = valid(results, ratios, (Contender::Oracle, Contender::Uncapped));
    let gains: Vec<_> = gains
        .into_iter()
        .filter(|(measured, _)| measured.spot.is_public())
        .collect();
    if gains.is_empty() {
        return None;
    }
    let gained = gains
        .iter()
        .filter(|(_, ratio)| ratio.outcome == Outcome::Faster && ratio.ratio > 1.05)
        .map(|(measured, ratio)| format!("{} {}", measured.spot.what(), with_interval(ratio)));
    let gained: Vec<_> = gained.collect();
    let text = if gained.is_empty() {
        format!(
            "RSA gains at most {:.0}% from moderation: as in the paper's figure 10, its work outweighs its notifications.",
            (gains
                .iter()
                .map(|(_, ratio)| ratio.ratio)
                .fold(1.0, f64::max)
                - 1.0)
                * 100.0
        )
    } else {
        format!(
            "Of RSA only the cheap operations gain from moderation: {}. The paper's figure 10 has hardly any gain.",
            gained.join("; ")
        )
    };
    Some(finding(Weight::Note, text, ""))
}

/// Where fewer were in flight than wanted.
fn bounded(config: &Config, results: &Results) -> Option<Finding> {
    let fewer = results
        .spots
        .iter()
        .filter(|measured| !measured.spot.is_public() && measured.spot.depth < config.depth);
    let fewer: Vec<_> = fewer.map(|measured| measured.spot.label()).collect();
    (!fewer.is_empty()).then(|| {
        let text = format!(
            "Half of L2 holds fewer than {} requests in flight at: {}. There the depth is what fits, so that the cache is not measured too.",
            config.depth,
            fewer.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

fn interval(config: &Config) -> Option<Finding> {
    let interval_ms = config.parameters.interval_ns() as f64 / 1e6;
    let text = format!(
        "Controllers that look once a second in their sources look every {interval_ms:.0} ms here ({:.0} times as often), and each has settled for {:.1} s before anything counts.",
        PAPER_INTERVAL_MS / interval_ms,
        config.settle_s
    );
    Some(finding(Weight::Note, text, ""))
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
