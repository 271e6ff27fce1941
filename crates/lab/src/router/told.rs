//! What may be said of any subjects: what was not measured, and what spoils
//! the numbers, each reason once.

use trial::{Finding, Verdict, Weight};

use super::series::Failure;
use super::subject::Subject;
use crate::speed::findings::finding;

/// So many subjects are named; of more, how many there are.
const NAMED_MAX: usize = 4;

pub(crate) fn told(subjects: &[Subject]) -> Vec<Finding> {
    let mut findings = missing(subjects);
    findings.extend(doubtful(subjects));
    findings
}

fn missing(subjects: &[Subject]) -> Vec<Finding> {
    let failed = subjects.iter().filter_map(|subject| {
        let failure = subject.series.failure.clone()?;
        Some((failure, subject.way().what()))
    });
    let say = |(failure, ways): (Failure, Vec<String>)| {
        let text = format!("Not measured: {}. {}.", named(&ways), failure.reason);
        finding(Weight::Warning, text, failure.remedy)
    };
    by_reason(failed, PartialEq::eq)
        .into_iter()
        .map(say)
        .collect()
}

fn doubtful(subjects: &[Subject]) -> Vec<Finding> {
    let doubts = subjects.iter().filter_map(|subject| {
        let is_measured = !subject.series.trials.is_empty() && subject.series.failure.is_none();
        let verdict = subject.series.verdict();
        (is_measured && !verdict.is_valid()).then(|| (verdict, subject.label()))
    });
    let say = |(verdict, labels): (Verdict, Vec<String>)| {
        let text = format!(
            "Not to be believed: {}: {}.",
            named(&labels),
            verdict.reason
        );
        finding(Weight::Warning, text, verdict.remedy)
    };
    let same_kind = |a: &Verdict, b: &Verdict| a.validity == b.validity;
    by_reason(doubts, same_kind).into_iter().map(say).collect()
}

/// What has the same reason together; each name once.
fn by_reason<R>(
    all: impl Iterator<Item = (R, String)>,
    same: impl Fn(&R, &R) -> bool,
) -> Vec<(R, Vec<String>)> {
    let mut told: Vec<(R, Vec<String>)> = Vec::new();
    for (reason, name) in all {
        match told.iter_mut().find(|(own, _)| same(own, &reason)) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => told.push((reason, vec![name])),
        }
    }
    told
}

fn named(names: &[String]) -> String {
    match names.len().checked_sub(NAMED_MAX) {
        None | Some(0) => names.join("; "),
        Some(more) => format!("{}; and {more} more", names[..NAMED_MAX].join("; ")),
    }
}
