//! What the numbers mean, in plain words.

use kit::experiment::Results;
use kit::headline::Answer;
use kit::routers::metrics::RECEIVED_PPS;
use kit::routers::source::SCALING;
use kit::subject::Measure;
use kit::words::{finding, percent};
use trial::{Finding, Outcome, Weight};

use super::case::{Case, many};
use super::{LEAST, MOST, OTHERS, Scaling};

/// What many forward together; without it, what an overloaded one does.
pub(super) fn answer(results: &Results<'_, Scaling>) -> Option<Answer> {
    total(results).or_else(|| beside(results).map(Answer::from))
}

/// The most of them whose result is valid.
fn total(results: &Results<'_, Scaling>) -> Option<Answer> {
    let counts = results.experiment.counts.iter().rev();
    let of = |count: usize| Case::SideBySide(count);
    let count = *counts
        .clone()
        .find(|count| results.is_valid(&(), &of(**count)))?;
    let median = |measure: Measure| results.median(&(), &of(count), measure);
    let (rate, least, most) = (median(RECEIVED_PPS)?, median(LEAST)?, median(MOST)?);
    let fewest = results.experiment.fewest_and_most().0;
    let ratio = results.ratio((&(), &of(count)), (&(), &of(fewest)), RECEIVED_PPS);
    let over = ratio.filter(|ratio| ratio.is_believed).map(|ratio| {
        let fewest = match fewest {
            1 => "one alone".to_owned(),
            fewest => many(fewest),
        };
        format!(", {} of {fewest}", ratio.words())
    });
    let text = match count {
        1 => format!("One router forwards {rate:.0} frames/s; what several forward is not known."),
        _ => format!(
            "{} on one CPU forward {rate:.0} frames/s together{}, {least:.0} to {most:.0} each.",
            many(count),
            over.unwrap_or_default()
        ),
    };
    Some(Answer::new(
        format!("{text} The source found: {SCALING}."),
        "",
    ))
}

/// What one overloaded router does to others, and what limits do about it.
pub(super) fn beside(results: &Results<'_, Scaling>) -> Option<Finding> {
    let delivered = |case: Case| {
        let share = results.valid_median(&(), &case, OTHERS)?;
        Some(percent(share / 100.0))
    };
    let (without, with) = (delivered(Case::Overloaded)?, delivered(Case::Limited)?);
    let ratio = results.ratio((&(), &Case::Limited), (&(), &Case::Overloaded), OTHERS);
    let helps = ratio.is_some_and(|ratio| ratio.comparison.outcome == Outcome::Faster);
    let text = format!(
        "Beside one overloaded router the others deliver {without} of their frames; with a limit on the CPU time of each, {with}."
    );
    let (weight, remedy) = match helps {
        true => (
            Weight::Advice,
            "Limit the CPU time of every router (a cpu cgroup over its threads, NAPI's too).",
        ),
        false => (Weight::Note, ""),
    };
    Some(finding(weight, text, remedy))
}
