//! What was tried, and what is to be told of it: what was not measured, and
//! what is not valid, each reason once.

use sys::failure::with_causes;
use trial::{Finding, Validity, Verdict, Weight};

use crate::words::finding;

/// So many are named; of more, how many there are.
const NAMED_MAX: usize = 4;

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What it is, whatever it was offered.
    pub name: String,
    /// The same under its load.
    pub label: String,
    /// Whether there is a round of it.
    pub is_measured: bool,
    pub verdict: Verdict,
}

impl Tried {
    fn is_missing(&self) -> bool {
        !self.is_measured || self.verdict.validity == Validity::NotSupported
    }
}

/// That a host cannot do something.
pub fn impossible(what: &str, remedy: &str) -> Verdict {
    let reason = format!("{what} is not possible here");
    Verdict::new(Validity::NotSupported, reason, remedy)
}

/// That something broke: with its causes.
pub fn broken(error: &(dyn std::error::Error + 'static)) -> Verdict {
    Verdict::new(
        Validity::NotSupported,
        format!("it failed: {}", with_causes(error)),
        "Run it alone (key paths) to see whether it fails again.",
    )
}

/// What is to be told of all that was tried: warnings; and a note where nothing
/// was wrong but that requests did not fit the cache.
pub fn told(tried: &[Tried]) -> Vec<Finding> {
    let is_cached = |one: &&Tried| one.verdict.validity == Validity::WorkingSet;
    let missing = tried.iter().filter(|one| one.is_missing());
    let missing = missing.map(|one| (&one.verdict, &one.name));
    let invalid = || {
        let invalid = tried.iter().filter(|one| !one.verdict.is_valid());
        invalid.filter(|one| !one.is_missing())
    };
    let doubtful = invalid().filter(|one| !is_cached(one));
    let doubtful = doubtful.map(|one| (&one.verdict, &one.label));
    let cached = invalid().filter(is_cached);
    let cached = cached.map(|one| (&one.verdict, &one.label));
    let same_kind = |a: &Verdict, b: &Verdict| a.validity == b.validity;
    let say = |weight: Weight, how: &'static str| {
        move |(verdict, names): (&Verdict, Vec<&String>)| {
            let text = format!("{how}: {}: {}.", named(&names), verdict.reason);
            finding(weight, text, &*verdict.remedy)
        }
    };
    let warn = |how| say(Weight::Warning, how);
    let missing = by_reason(missing, PartialEq::eq).into_iter();
    let doubtful = by_reason(doubtful, same_kind).into_iter();
    let cached = by_reason(cached, same_kind).into_iter();
    missing
        .map(warn("Not measured"))
        .chain(doubtful.map(warn("Not valid")))
        .chain(cached.map(say(Weight::Note, "The cache is measured too")))
        .collect()
}

/// What has the same reason together; each name once.
fn by_reason<'a>(
    all: impl Iterator<Item = (&'a Verdict, &'a String)>,
    same: impl Fn(&Verdict, &Verdict) -> bool,
) -> Vec<(&'a Verdict, Vec<&'a String>)> {
    let mut told: Vec<(&Verdict, Vec<&String>)> = Vec::new();
    for (reason, name) in all {
        match told.iter_mut().find(|(own, _)| same(own, reason)) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => told.push((reason, vec![name])),
        }
    }
    told
}

fn named(names: &[&String]) -> String {
    let first = names.iter().take(NAMED_MAX).map(|name| name.as_str());
    let first = first.collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_told_once_with_those_it_spoils() {
        let of = |index: usize, verdict: &Verdict| Tried {
            name: format!("path {index}"),
            label: format!("path {index}, 64 B"),
            is_measured: true,
            verdict: verdict.clone(),
        };
        let noisy = Verdict::new(Validity::Noisy, "a pause", "a quiet host");
        let missing = impossible("LXC", "install it");
        let tried: Vec<_> = (0..6).map(|index| of(index, &noisy)).collect();
        let beside = Tried {
            is_measured: false,
            ..of(
                9,
                &Verdict::new(Validity::Noisy, "not known", "a quiet host"),
            )
        };
        let others = [
            of(7, &missing),
            of(7, &missing),
            of(8, &Verdict::valid()),
            beside,
        ];
        let found = told(&[tried, others.to_vec()].concat());
        let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts[0], "Not measured: path 7: LXC is not possible here.");
        assert_eq!(texts[1], "Not measured: path 9: not known.");
        assert!(texts[2].contains("path 3, 64 B; and 2 more: a pause"));
        assert_eq!(texts.len(), 3);
    }
}
