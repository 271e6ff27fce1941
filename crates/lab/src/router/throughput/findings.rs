//! What may be said of any such section: what was not measured, what spoils
//! the numbers, and how it ended.

use trial::{Finding, Verdict, Weight};

use super::context::Context;
use crate::router::end::End;
use crate::router::series::Failure;
use crate::router::trial::size_name;
use crate::speed::findings::finding;

pub(crate) fn findings(context: &Context<'_>, end: &End) -> Vec<Finding> {
    let mut findings = missing(context);
    findings.extend(doubtful(context));
    findings.extend(end.finding());
    findings
}

/// What could not be measured, each reason once.
fn missing(context: &Context<'_>) -> Vec<Finding> {
    let mut told: Vec<(&Failure, Vec<String>)> = Vec::new();
    for case in context.cases {
        let Some(failure) = case.failure() else {
            continue;
        };
        let what = case.router.what();
        match told.iter_mut().find(|(own, _)| *own == failure) {
            Some((_, routers)) if routers.contains(&what) => {}
            Some((_, routers)) => routers.push(what),
            None => told.push((failure, vec![what])),
        }
    }
    let say = |(failure, routers): (&Failure, Vec<String>)| {
        let text = format!("Not measured: {}. {}.", routers.join("; "), failure.reason);
        finding(Weight::Warning, text, failure.remedy.as_str())
    };
    told.into_iter().map(say).collect()
}

/// Throughputs that may not be believed, each reason once.
fn doubtful(context: &Context<'_>) -> Vec<Finding> {
    let mut told: Vec<(Verdict, Vec<String>)> = Vec::new();
    for case in context.measured() {
        let verdict = case.no_drop.verdict();
        if verdict.is_valid() || case.no_drop.0.is_empty() {
            continue;
        }
        let what = format!("{} at {}", case.router.what(), size_name(case.size));
        let same = |(own, _): &&mut (Verdict, Vec<String>)| own.validity == verdict.validity;
        match told.iter_mut().find(same) {
            Some((_, cases)) => cases.push(what),
            None => told.push((verdict, vec![what])),
        }
    }
    let say = |(verdict, cases): (Verdict, Vec<String>)| {
        let text = format!(
            "No throughput for {}: {}.",
            cases.join("; "),
            verdict.reason
        );
        finding(Weight::Warning, text, verdict.remedy)
    };
    told.into_iter().map(say).collect()
}
