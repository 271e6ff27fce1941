//! The first page as data: what a crossing costs here, what to change first, and
//! how sure that is. Every exporter shows it first.

use std::collections::BTreeMap;

use trial::stats::PAIRS_FOR_A_CLAIM;
use trial::{Comparison, Outcome, Price, Run, SectionResult, SectionState, Validity, Weight};

use crate::number::number;
use crate::words::{ending, plural};

const CHANGES_MAX: usize = 5;
const LIMITS_MAX: usize = 3;
/// A change is listed from this gain on, by the lower bound: less is not worth a
/// change, and would be a false claim too often.
const GAIN_MIN: f64 = 1.05;

pub(crate) struct Page<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) prices: Vec<&'a Price>,
    pub(crate) changes: Vec<Change<'a>>,
    pub(crate) limits: Vec<String>,
    pub(crate) answers: Vec<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) trust: Trust,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    Sound,
    InPart,
    NotSound,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change<'a> {
    pub(crate) text: &'a str,
    /// How much better it is, more than 1, with its interval.
    pub(crate) gain: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) place: &'a str,
    /// In how many places it was measured; the gain is greatest at `place`.
    pub(crate) places: usize,
}

impl<'a> Page<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let changes = changes(run);
        let has_line = |section: &SectionResult| {
            let told = |it: &Comparison| changes.iter().any(|change| change.text == it.change);
            !section.prices.is_empty() || section.comparisons.iter().any(told)
        };
        let others = run.sections.iter().filter(|section| !has_line(section));
        let headlines = others.flat_map(|section| &section.findings);
        let headlines = headlines.filter(|finding| finding.weight == Weight::Headline);
        Self {
            verdict: verdict(run),
            prices: run.sections.iter().flat_map(|it| &it.prices).collect(),
            limits: limits(run),
            answers: headlines.map(|finding| finding.text.as_str()).collect(),
            changes,
        }
    }
}

pub(crate) fn is_shown(it: &Comparison) -> bool {
    it.believed && it.pairs.len() >= PAIRS_FOR_A_CLAIM
}

/// How many ratios of a section are not shown, in a sentence; `None` where all are.
pub(crate) fn unshown(comparisons: &[Comparison]) -> Option<String> {
    let hidden = comparisons.iter().filter(|it| !is_shown(it)).count();
    (hidden > 0).then(|| {
        format!(
            "{} not shown: fewer than {PAIRS_FOR_A_CLAIM} pairs, or a side that is not valid. result.json has them.",
            plural(hidden, "ratio")
        )
    })
}

/// The ratios that the scenario lists for sections that this host can run; all where
/// it lists none.
fn wanted<'a>(run: &'a Run) -> (usize, Vec<&'a Comparison>) {
    let listed: Vec<(&str, &str)> = run
        .scenario
        .get("contract")
        .and_then(|contract| contract.as_object())
        .into_iter()
        .flatten()
        .flat_map(|(section, slice)| {
            let names = slice.get("shows").and_then(|names| names.as_array());
            let names = names.into_iter().flatten();
            names.filter_map(move |name| Some((section.as_str(), name.as_str()?)))
        })
        .collect();
    if listed.is_empty() {
        return (run.comparisons().count(), run.comparisons().collect());
    }
    let is_run = |(section, _): &(&str, &str)| {
        let own = run.sections.iter().find(|it| it.name == *section);
        own.is_none_or(|it| !matches!(it.state, SectionState::NotSupported { .. }))
    };
    let listed: Vec<_> = listed.into_iter().filter(is_run).collect();
    // A stored run may list as much as it likes: each name is looked up once.
    let of = |section: &'a SectionResult| {
        let all = section.comparisons.iter();
        all.map(|it| ((section.name.as_str(), it.name()), it))
    };
    let named: BTreeMap<_, _> = run.sections.iter().flat_map(of).collect();
    let found = |(section, name): &(&'a str, &str)| named.get(&(*section, (*name).to_owned()));
    let found = listed.iter().filter_map(found).copied();
    (listed.len(), found.collect())
}

fn verdict(run: &Run) -> Verdict {
    let (all, found) = wanted(run);
    let (valid, all, what) = match all {
        0 => {
            let valid = run.points().filter(|it| it.verdict.is_valid()).count();
            (valid, run.points().count(), "points are valid")
        }
        all => {
            let valid = found.iter().filter(|it| is_shown(it)).count();
            (valid, all, "ratios rest on nine valid pairs or more")
        }
    };
    if all == 0 {
        return Verdict {
            trust: Trust::NotSound,
            text: "Nothing was measured.".to_owned(),
        };
    }
    let trust = match valid as f64 / all as f64 {
        share if share >= 0.9 => Trust::Sound,
        share if share >= 0.5 => Trust::InPart,
        _ => Trust::NotSound,
    };
    let count = match valid == all {
        true => format!("all {}", number(all as f64)),
        false => format!("{} of {}", number(valid as f64), number(all as f64)),
    };
    let chance = chance(&found).map_or_else(String::new, |chance| format!("; {chance}"));
    Verdict {
        trust,
        text: format!("{}: {count} {what}{chance}.", trust.words()),
    }
}

fn chance(found: &[&Comparison]) -> Option<String> {
    let shown = || found.iter().filter(|it| is_shown(it));
    let claims = shown().filter(|it| it.outcome != Outcome::NoEvidence);
    let expected: f64 = shown().map(|it| 1.0 - it.confidence).sum();
    (shown().count() > 0).then(|| {
        let by_chance = match expected.round() {
            0.0 => "hardly one".to_owned(),
            some => number(some),
        };
        format!(
            "{} differ from 1, {by_chance} would by chance alone",
            number(claims.count() as f64)
        )
    })
}

impl Trust {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Sound => "Sound",
            Self::InPart => "Sound in part",
            Self::NotSound => "Not sound",
        }
    }
}

/// Each change once, where it gains most. That place was picked among several, so its
/// interval is widened accordingly.
fn changes(run: &Run) -> Vec<Change<'_>> {
    let mut found: BTreeMap<&str, (usize, f64, &Comparison, &SectionResult)> = BTreeMap::new();
    for section in &run.sections {
        let shown = section.comparisons.iter().filter(|it| is_shown(it));
        for it in shown.filter(|it| !it.change.is_empty()) {
            let gain = match is_inverse(it) {
                true => 1.0 / it.ratio,
                false => it.ratio,
            };
            let best = found.entry(&it.change).or_insert((0, gain, it, section));
            *best = match gain > best.1 {
                true => (best.0 + 1, gain, it, section),
                false => (best.0 + 1, best.1, best.2, best.3),
            };
        }
    }
    let found = found.into_iter();
    let mut changes: Vec<Change<'_>> = found
        .filter_map(|(text, (places, gain, it, section))| change(text, (places, gain), it, section))
        .collect();
    changes.retain(|change| change.low >= GAIN_MIN);
    changes.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    changes.truncate(CHANGES_MAX);
    changes
}

/// Whether less is better: a ratio below 1 is faster, or one above it slower.
fn is_inverse(it: &Comparison) -> bool {
    match it.outcome {
        Outcome::Faster => it.ratio < 1.0,
        Outcome::Slower => it.ratio > 1.0,
        Outcome::NoEvidence => false,
    }
}

fn change<'a>(
    text: &'a str,
    (places, gain): (usize, f64),
    it: &'a Comparison,
    section: &'a SectionResult,
) -> Option<Change<'a>> {
    let own = it.picked_of(places)?;
    let (low, high) = match is_inverse(it) {
        true => (1.0 / own.high, 1.0 / own.low),
        false => (own.low, own.high),
    };
    let place = match it.subject.as_str() {
        "" => shared(&it.arm, &it.reference).unwrap_or(&section.name),
        subject => subject,
    };
    Some(Change {
        text,
        gain,
        low,
        high,
        place,
        places,
    })
}

/// What two arms have in common before the comma: `eventfd wake-up` of `eventfd
/// wake-up, same core` and `eventfd wake-up, other core`.
fn shared<'a>(arm: &'a str, reference: &str) -> Option<&'a str> {
    let (first, _) = arm.split_once(", ")?;
    let (other, _) = reference.split_once(", ")?;
    (first == other).then_some(first)
}

impl Change<'_> {
    /// `aes-128-gcm, 64 B; most of 4 places`.
    pub(crate) fn at(&self) -> String {
        format!("{}{}", self.place, self.among())
    }

    /// `; most of 4 places`; empty where it is one.
    pub(crate) fn among(&self) -> String {
        match self.places {
            1 => String::new(),
            places => format!("; most of {} places", number(places as f64)),
        }
    }
}

/// Incomplete sections, points that are not valid, and the sections' warnings.
fn limits(run: &Run) -> Vec<String> {
    let mut limits = Vec::new();
    if run.interrupted {
        limits.push("The run was interrupted: what is here is sound, but not all.".to_owned());
    }
    let open = run.sections.iter();
    let open = open.filter_map(|section| Some((section, ending(&section.state)?)));
    let open: Vec<_> = open.collect();
    limits.extend(match open.as_slice() {
        [] => None,
        [(section, (how, reason, _))] => Some(format!("{} ({how}): {reason}.", section.title)),
        several => {
            let names = several
                .iter()
                .map(|(it, (how, ..))| format!("{} ({how})", it.name));
            let names = names.collect::<Vec<_>>().join(", ");
            Some(format!("Not measured, or not whole: {names}."))
        }
    });
    limits.extend(invalid(run));
    let findings = run.sections.iter().flat_map(|section| &section.findings);
    let warnings = findings.filter(|finding| finding.weight == Weight::Warning);
    for warning in warnings {
        if limits.len() >= LIMITS_MAX {
            break;
        }
        let text = first_sentence(&warning.text);
        // Two sections may say the same with other figures.
        let what = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
        if !limits.iter().any(|told| what(told) == what(text)) {
            limits.push(text.to_owned());
        }
    }
    limits.truncate(LIMITS_MAX);
    limits
}

/// Points that are not valid. Points that exceed the cache are a finding, and
/// unsupported ones are reported with their section: neither is a doubt.
fn invalid(run: &Run) -> Option<String> {
    use Validity::{NotSupported, Valid, WorkingSet};
    let is_doubt = |kind| !matches!(kind, Valid | WorkingSet | NotSupported);
    let doubtful = || {
        run.points()
            .filter(|point| is_doubt(point.verdict.validity))
    };
    let first = doubtful().next()?;
    Some(format!(
        "{} of {} are not valid, for example {}: {}.",
        number(doubtful().count() as f64),
        plural(run.points().count(), "point"),
        first.verdict.validity.name(),
        first.verdict.reason
    ))
}

pub(crate) fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ");
    let ends_one = |(at, _): &(usize, &str)| {
        let next = text[at + 2..].chars().next();
        next.is_some_and(char::is_uppercase)
    };
    ends.into_iter()
        .find(ends_one)
        .map_or(text, |(at, _)| &text[..=at])
}

/// A price with its unit: `163 ns`, `12.2 µs`.
pub(crate) fn time(ns: f64) -> String {
    let (unit, per) = unit(ns);
    format!("{} {unit}", number(ns / per))
}

/// The interval of a price in the unit of its median: `162 to 164`.
pub(crate) fn span(price: &Price) -> String {
    let (_, per) = unit(price.ns);
    let (low, high) = (number(price.low_ns / per), number(price.high_ns / per));
    format!("{low} to {high}")
}

fn unit(ns: f64) -> (&'static str, f64) {
    match ns {
        ns if ns < 1e3 => ("ns", 1.0),
        ns if ns < 1e6 => ("µs", 1e3),
        ns if ns < 1e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    }
}

/// A logarithmic scale between powers of ten that holds all prices: its ends in ns.
/// `None` without a price that it could show.
pub(crate) fn scale(prices: &[&Price]) -> Option<(f64, f64)> {
    let values = || prices.iter().map(|price| price.ns);
    let values = || values().filter(|ns| ns.is_finite() && *ns > 0.0);
    let least = values().reduce(f64::min)?.log10().floor();
    let most = values().reduce(f64::max)?.log10().ceil();
    Some((10_f64.powf(least), 10_f64.powf(most.max(least + 1.0))))
}

/// Where a price lies on a scale, 0 to 1.
pub(crate) fn share(ns: f64, (low, high): (f64, f64)) -> f64 {
    let share = (ns / low).log10() / (high / low).log10();
    if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_the_next_begins() {
        assert_eq!(first_sentence("A of 1.5 ns. B."), "A of 1.5 ns.");
        assert_eq!(first_sentence("openssl vs. ring is"), "openssl vs. ring is");
        assert_eq!(first_sentence(""), "");
    }

    #[test]
    fn prices_keep_the_unit_of_their_median() {
        let price = Price {
            crossing: String::new(),
            ns: 1_100.0,
            low_ns: 990.0,
            high_ns: 12_000.0,
            rounds: 9,
        };
        assert_eq!(time(price.ns), "1.10 µs");
        assert_eq!(span(&price), "0.990 to 12");
        assert_eq!(scale(&[&price]), Some((1e3, 1e4)));
        assert_eq!(share(1e3, (1e2, 1e4)), 0.5);
        assert_eq!(share(f64::NAN, (1e2, 1e4)), 0.0);
    }
}
