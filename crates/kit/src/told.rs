//! What was tried, and the findings about it: what was not measured, and what is
//! not valid, each reason once.

use sys::failure::with_causes;
use trial::{Finding, Validity, Verdict, Weight};

use crate::words::finding;

/// Maximum number of names; of the others, how many there are.
const NAMED_MAX: usize = 4;

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub name: String,
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

/// The findings about all that was tried: warnings; and a note where nothing was
/// wrong but that requests did not fit the cache.
pub fn told(tried: &[Tried]) -> Vec<Finding> {
    let same_kind = |a: &Verdict, b: &Verdict| a.validity == b.validity;
    let (missing, others): (Vec<_>, Vec<_>) = tried.iter().partition(|one| one.is_missing());
    let invalid = others.into_iter().filter(|one| !one.verdict.is_valid());
    let (cached, doubtful): (Vec<_>, Vec<_>) =
        invalid.partition(|one| one.verdict.validity == Validity::WorkingSet);
    let say = |weight: Weight, how: &'static str| {
        move |(verdict, names): (&Verdict, Vec<&str>)| {
            let text = format!("{how}: {}: {}.", named(&names), verdict.reason);
            finding(weight, text, &*verdict.remedy)
        }
    };
    let missing = by_reason(&missing, PartialEq::eq).into_iter();
    let doubtful = by_reason(&doubtful, same_kind).into_iter();
    let cached = by_reason(&cached, same_kind).into_iter();
    missing
        .map(say(Weight::Warning, "Not measured"))
        .chain(doubtful.map(say(Weight::Warning, "Not valid")))
        .chain(cached.map(say(Weight::Note, "The cache is measured too")))
        .collect()
}

/// What has the same reason together; each name once.
fn by_reason<'a>(
    all: &[&'a Tried],
    same: impl Fn(&Verdict, &Verdict) -> bool,
) -> Vec<(&'a Verdict, Vec<&'a str>)> {
    let mut told: Vec<(&Verdict, Vec<&str>)> = Vec::new();
    for one in all {
        let (reason, name) = (&one.verdict, one.name.as_str());
        match told.iter_mut().find(|(own, _)| same(own, reason)) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => told.push((reason, vec![name])),
        }
    }
    told
}

fn named(names: &[&str]) -> String {
    let first = names[..names.len().min(NAMED_MAX)].join("; ");
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
        let of = |index: usize, is_measured, verdict: &Verdict| Tried {
            name: format!("path {index}, 64 B"),
            is_measured,
            verdict: verdict.clone(),
        };
        let noisy = Verdict::new(Validity::Noisy, "a pause", "a quiet host");
        let unknown = Verdict::new(Validity::Noisy, "not known", "a quiet host");
        let missing = impossible("LXC", "install it");
        let mut tried: Vec<_> = (0..6).map(|index| of(index, true, &noisy)).collect();
        tried.extend([of(7, true, &missing), of(7, true, &missing)]);
        tried.extend([of(8, true, &Verdict::valid()), of(9, false, &unknown)]);
        let found = told(&tried);
        let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
        assert!(texts[0].ends_with("path 7, 64 B: LXC is not possible here."));
        assert_eq!(texts[1], "Not measured: path 9, 64 B: not known.");
        assert!(texts[2].contains("path 3, 64 B; and 2 more: a pause"));
        assert_eq!(texts.len(), 3);
    }
}
