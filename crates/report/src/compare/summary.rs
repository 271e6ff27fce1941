//! The words that text and Markdown share.

use trial::Outcome;

use super::shown::Shown;
use super::{Ignored, Missing, Origin, Place, Row, RunComparison, Side, Spread};
use crate::number::number;
use crate::words::{self, plural};

/// `canal-7, 2026-03-14T09:26:53Z, Lockgate 0.1.0 (b9c24f1)`.
pub(super) fn origin(origin: &Origin) -> String {
    format!(
        "{}, {}, Lockgate {} ({})",
        origin.host, origin.started_utc, origin.version, origin.git_revision
    )
}

pub(super) fn verdict(it: &RunComparison) -> String {
    let count = |outcome| it.rows.iter().filter(|row| row.outcome == outcome).count();
    let [faster, slower, doubtful] =
        [Outcome::Faster, Outcome::Slower, Outcome::NoEvidence].map(count);
    if it.rows.is_empty() {
        return "Nothing could be compared: the runs have no valid point in common.".to_owned();
    }
    format!(
        "B is faster than A in {} of {}, slower in {}; no evidence in {}.",
        number(faster as f64),
        plural(it.rows.len(), "figure"),
        number(slower as f64),
        number(doubtful as f64)
    )
}

/// The largest gain and the largest loss, where there is evidence of one.
pub(super) fn extremes(it: &RunComparison) -> Vec<String> {
    let shown = Shown::of(it.rows.iter().map(|row| &row.place));
    let of = |outcome, name: &str| {
        let row = it.rows.iter().find(|row| row.outcome == outcome)?;
        let place = shown.place(&row.place);
        Some(format!(
            "Largest {name}: {} at {place}, B ÷ A = {}",
            row.metric,
            ratio(row)
        ))
    };
    [of(Outcome::Faster, "gain"), of(Outcome::Slower, "loss")]
        .into_iter()
        .flatten()
        .collect()
}

/// What is assumed where no repeats show how much runs differ; `None` where they show
/// it everywhere.
pub(super) fn assumption(it: &RunComparison) -> Option<String> {
    let assumed = percent(it.change_assumed?);
    let unknown = |spread: &&Spread| spread.deviation.is_none();
    let mut sections: Vec<&str> = it
        .spreads
        .iter()
        .filter(unknown)
        .map(|spread| spread.section.as_str())
        .collect();
    let first = match sections.len() == it.spreads.len() {
        true => "The".to_owned(),
        false => {
            sections.dedup();
            format!("In {} the", sections.join(", "))
        }
    };
    Some(format!(
        "{first} spread between runs is not known: {assumed} is assumed, within which no figure is judged; run each side three times or more."
    ))
}

/// The runs behind each side and how much they differ, one line per section.
pub(super) fn spreads(it: &RunComparison) -> Vec<String> {
    let sections = it
        .spreads
        .chunk_by(|one, other| one.section == other.section);
    sections.map(section_spread).collect()
}

fn section_spread(metrics: &[Spread]) -> String {
    let most = |of: fn(&Spread) -> usize| metrics.iter().map(of).max().unwrap_or(0);
    let of_both = match most(|it| it.runs_of_both) {
        0 => String::new(),
        runs => format!(", {} more of both", number(runs as f64)),
    };
    let sides = format!(
        "{}: {} of A, {} of B{of_both}",
        metrics[0].section,
        plural(most(|it| it.runs_a), "run"),
        number(most(|it| it.runs_b) as f64)
    );
    let mut known: Vec<(f64, &str)> = metrics
        .iter()
        .filter_map(|it| Some((it.deviation?, it.metric.as_str())))
        .collect();
    known.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let named = |(deviation, metric): &(f64, &str)| format!("{} ({metric})", percent(*deviation));
    match known.as_slice() {
        [] => format!("{sides}; standard deviation between runs not known"),
        [only] => format!("{sides}; standard deviation between runs {}", named(only)),
        [least, .., most] => format!(
            "{sides}; standard deviation between runs {} to {}",
            named(least),
            named(most)
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// What stands in the columns A and B, and in which order.
pub(super) fn figures_title(it: &RunComparison) -> &'static str {
    if it.rows.iter().any(|row| row.runs_a.max(row.runs_b) > 1) {
        "Geometric means of the runs' medians, the largest effect first"
    } else {
        "Medians, the largest effect first"
    }
}

/// The result of the threshold; `None` without one.
pub(super) fn threshold(it: &RunComparison) -> Option<String> {
    let threshold = it.threshold?;
    let limit = number(threshold.fail_below);
    let unproven = match threshold.unproven {
        0 => String::new(),
        count => format!("; below it with no evidence: {}", number(count as f64)),
    };
    Some(match (threshold.failed, threshold.passed) {
        (_, true) => {
            format!("Threshold {limit} passed: no gain is, with evidence, below it{unproven}.")
        }
        (0, false) => format!("Threshold {limit} failed: nothing could be compared."),
        (failed, false) => format!(
            "Threshold {limit} failed: the gain of {} is below it{unproven}.",
            plural(failed, "figure")
        ),
    })
}

pub(super) fn chance(it: &RunComparison) -> Option<String> {
    let expected = it.rows.len() as f64 * (1.0 - it.confidence);
    (expected >= 1.0).then(|| {
        format!(
            "The runs were not interleaved, and with {} about {expected:.0} would differ by chance alone: for a claim, measure both in one run.",
            plural(it.rows.len(), "figure")
        )
    })
}

/// `1.05 [1.02, 1.09]`, or the ratio alone where it rests on one value.
pub(super) fn ratio(row: &Row) -> String {
    if row.samples < 2 {
        return words::ratio(row.ratio);
    }
    words::interval(row.ratio, row.low, row.high)
}

pub(super) fn outcome(row: &Row) -> String {
    let failed = if row.failed { ", below threshold" } else { "" };
    format!("{}{failed}", words::outcome(row.outcome))
}

/// What was left out, by reason, the most frequent first, with the places.
pub(super) fn ignored(ignored: &[Ignored]) -> Vec<(String, Vec<String>)> {
    let shown = Shown::of(ignored.iter().map(|it| &it.place));
    let place = |it: &Ignored| named(&it.place, it.metric.as_deref(), &shown);
    grouped(ignored.iter().map(|it| (it.reason.clone(), place(it))))
}

pub(super) fn missing(missing: &[Missing]) -> Vec<(String, Vec<String>)> {
    let shown = Shown::of(missing.iter().map(|it| &it.place));
    let side = |side| match side {
        Side::A => "only in A".to_owned(),
        Side::B => "only in B".to_owned(),
    };
    let place = |it: &Missing| named(&it.place, it.metric.as_deref(), &shown);
    grouped(missing.iter().map(|it| (side(it.only_in), place(it))))
}

fn named(place: &Place, metric: Option<&str>, shown: &Shown) -> String {
    match metric {
        Some(metric) => format!("{metric} at {}", shown.place(place)),
        None => shown.place(place),
    }
}

fn grouped(items: impl Iterator<Item = (String, String)>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (reason, place) in items {
        match groups.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, places)) => places.push(place),
            None => groups.push((reason, vec![place])),
        }
    }
    groups.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    groups
}
