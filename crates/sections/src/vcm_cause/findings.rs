//! What made the speed fall, in plain words.

use kit::headline::sentence;
use kit::prelude::*;
use kit::words::{finding, percent, size, speed};
use model::cause::{Cause, FALL_RATIO};
use trial::Weight;

use super::Causes;
use super::diagnosis::{Examined, examined};

/// The first is the answer: a cause that is named, else what is known of a fall.
pub(super) fn all(results: &Results<'_, Causes>) -> (Option<Answer>, Vec<Finding>) {
    let examined = examined(results);
    let loads = || examined.iter().filter(|one| one.place.plant().is_none());
    let mut told: Vec<_> = loads().filter_map(fall).chain(steady(loads())).collect();
    told.sort_by_key(|one| one.weight != Weight::Advice);
    let mut subjects = results.subjects.iter();
    let is_open = told.is_empty() && subjects.any(|one| one.place.plant().is_none());
    told.extend(self_test(&examined));
    if is_open || told.is_empty() {
        return (None, told);
    }
    (Some(told.remove(0).into()), told)
}

/// Of a load whose speed falls, or may.
fn fall(one: &Examined) -> Option<Finding> {
    let (case, cause) = (&one.case, one.diagnosis.cause);
    let (peak, fallen) = (&case.peak, &case.fallen);
    let at = |bytes: f64| size(bytes as usize);
    let load = format!("{}, {} in flight", one.place.name(), fallen.depth);
    let left = percent(case.fall_ratio().estimate);
    if cause == Cause::Unknown && case.fall_ratio().high >= FALL_RATIO {
        let text = format!(
            "{load}: it is not known whether the speed falls beyond {}. At {} it is {left} of that.",
            at(peak.block_bytes),
            at(fallen.block_bytes),
        );
        let remedy = "Measure longer (--budget) on a quiet host.";
        return Some(finding(Weight::Note, text, remedy));
    }
    let text = format!(
        "{load}: the speed falls from {} at {} to {} at {} ({left}). {}.",
        speed(peak.speed_mb_per_s.estimate),
        at(peak.block_bytes),
        speed(fallen.speed_mb_per_s.estimate),
        at(fallen.block_bytes),
        sentence(&one.diagnosis.summary()),
    );
    match cause {
        Cause::None => None,
        Cause::Unknown => Some(finding(Weight::Note, text, "")),
        cause => {
            let remedy = format!("{}.", sentence(cause.remedy()));
            Some(finding(Weight::Advice, text, remedy))
        }
    }
}

/// Loads whose speed does not fall.
fn steady<'a>(loads: impl Iterator<Item = &'a Examined>) -> Option<Finding> {
    let steady = loads.filter(|one| one.diagnosis.cause == Cause::None);
    let names = joined(steady.map(|one| one.place.name()));
    let text = format!("The speed does not fall as blocks grow: {names}.");
    (!names.is_empty()).then(|| finding(Weight::Note, text, ""))
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join("; ")
}

/// How the diagnosis did on what was planted; on a noisy host it names nothing.
fn self_test(examined: &[Examined]) -> Option<Finding> {
    let cases = examined.iter();
    let cases = cases.filter_map(|one| Some((one.place.plant()?, one.diagnosis.cause)));
    let cases: Vec<_> = cases.collect();
    let missed = || {
        cases
            .iter()
            .filter(|(plant, cause)| plant.cause() != *cause)
    };
    let (all, right) = (cases.len(), cases.len() - missed().count());
    let names = joined(missed().map(|(plant, cause)| format!("{} as {cause}", plant.what())));
    let link = if right < all { ", and " } else { "" };
    let text = format!("The diagnosis named {right} of {all} planted cases right{link}{names}.");
    let is_wrong = missed().any(|(_, cause)| *cause != Cause::Unknown);
    let weight = if is_wrong {
        Weight::Warning
    } else {
        Weight::Note
    };
    let remedy = match right < all {
        false => "",
        true if is_wrong => "Do not trust the causes of this run: measure on a quiet host.",
        true => "Measure on a quiet host, or with more --budget.",
    };
    (all > 0).then(|| finding(weight, text, remedy))
}
