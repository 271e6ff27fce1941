//! How a section's targets stand: met, not met, undecided.

use trial::{Finding, Outcome, Standing, Weight};

use crate::experiment::{Experiment, Results};
use crate::series::Told;
use crate::subject::Pair;
use crate::words::{finding, listed};

/// So many of each standing are named.
const NAMED_MAX: usize = 6;

/// Every target of what was measured or was to be, each with its words; none where
/// nothing was compared.
pub struct Targets(Vec<(Standing, String)>);

impl Targets {
    pub fn of<E: Experiment>(results: &Results<'_, E>) -> Self {
        let pairs = match results.told() {
            [] => Vec::new(),
            _ => results.experiment.pairs(results.subjects),
        };
        let stands = |pair: &Pair<_, _>| stands(results, pair);
        Self(pairs.iter().filter_map(stands).collect())
    }

    fn named(&self, wanted: Standing) -> Vec<&str> {
        let same = self.0.iter().filter(|(standing, _)| *standing == wanted);
        same.map(|(_, words)| words.as_str()).collect()
    }

    /// `Targets: 5 met, 1 undecided.`; none where there is no target.
    pub fn counts(&self) -> Option<String> {
        let standings = [
            (Standing::Met, "met"),
            (Standing::NotMet, "not met"),
            (Standing::Undecided, "undecided"),
        ];
        let counts = standings.map(|(standing, words)| (self.named(standing).len(), words));
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, words)| format!("{count} {words}"))
            .collect();
        (!counts.is_empty()).then(|| format!("Targets: {}.", counts.join(", ")))
    }

    /// Which are not met, and which are undecided; `remedy` helps where one is not
    /// met.
    pub fn finding(&self, remedy: &str) -> Option<Finding> {
        let (missed, undecided) = (
            self.named(Standing::NotMet),
            self.named(Standing::Undecided),
        );
        let said = |names: &[&str]| listed(names, NAMED_MAX);
        let text = match (missed.is_empty(), undecided.is_empty()) {
            (true, true) => return None,
            (true, false) => format!("Targets that are undecided: {}.", said(&undecided)),
            (false, true) => format!("Targets that are not met: {}.", said(&missed)),
            (false, false) => format!(
                "Targets that are not met: {}. Undecided: {}.",
                said(&missed),
                said(&undecided)
            ),
        };
        let remedy = match undecided.is_empty() {
            true => remedy,
            false => {
                "A target needs nine pairs and a lower bound above it: measure on a quiet host, or longer (--budget)."
            }
        };
        Some(finding(Weight::Warning, text, remedy))
    }
}

/// A note of the pairs that `is` picks and whose arm is slower, after `what`; at most so
/// many are named, since the table has all.
pub fn slower<E: Experiment>(
    results: &Results<'_, E>,
    what: &str,
    named_max: usize,
    is: impl Fn(&Told<E::Place, E::Arm>) -> bool,
) -> Option<Finding> {
    let is_lost = |told: &Told<E::Place, E::Arm>| {
        told.ratio.comparison.outcome == Outcome::Slower && is(told)
    };
    let at = |told: &&Told<E::Place, E::Arm>| {
        let comparison = &told.ratio.comparison;
        let (subject, reference) = (&comparison.subject, &comparison.reference);
        format!("{subject}: {} of {reference}", told.ratio.words())
    };
    let lost: Vec<_> = results.told_by(is_lost).iter().map(at).collect();
    (!lost.is_empty()).then(|| {
        let text = format!("{what}: {}.", listed(&lost, named_max));
        finding(Weight::Note, text, "")
    })
}

fn stands<E: Experiment>(
    results: &Results<'_, E>,
    pair: &Pair<E::Place, E::Arm>,
) -> Option<(Standing, String)> {
    let wanted = pair.target?;
    let of = |(place, arm): &(E::Place, E::Arm)| results.subject(place, arm);
    let (own, other) = (of(&pair.arm)?, of(&pair.reference)?);
    let (at, what, beside) = own.spot.apart(&other.spot);
    let ratio = results.ratio(
        (&own.place, &own.arm),
        (&other.place, &other.arm),
        pair.measure,
    );
    let (standing, said) = match ratio {
        Some(ratio) if ratio.is_believed => (ratio.standing(), ratio.words()),
        Some(ratio) => (None, format!("{}, not valid", ratio.words())),
        None => (None, "no pair of rounds".to_owned()),
    };
    let at = match at.is_empty() {
        true => at,
        false => format!(" ({at})"),
    };
    let words = format!("{what} compared with {beside}{at}: {said}, the target is {wanted:.2}×");
    Some((standing.unwrap_or(Standing::Undecided), words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_standing_is_named_and_the_undecided_ask_for_more_rounds() {
        use Standing::{Met, NotMet, Undecided};
        let told = |all: &[Standing]| {
            let named = all.iter().map(|one| (*one, format!("one {one:?}")));
            let targets = Targets(named.collect());
            let told = targets.finding("change it");
            (targets.counts(), told.map(|one| (one.text, one.remedy)))
        };
        assert_eq!(told(&[]), (None, None));
        let (counts, none) = told(&[Met, Met]);
        assert_eq!((counts.as_deref(), none), (Some("Targets: 2 met."), None));
        let (counts, missed) = told(&[Met, NotMet]);
        assert_eq!(counts.as_deref(), Some("Targets: 1 met, 1 not met."));
        let missed = missed.expect("it is told");
        assert_eq!(missed.0, "Targets that are not met: one NotMet.");
        assert_eq!(missed.1, "change it");
        let (text, remedy) = told(&[Undecided, NotMet]).1.expect("it is told");
        assert!(
            text.ends_with("one NotMet. Undecided: one Undecided."),
            "{text}"
        );
        assert!(remedy.contains("nine pairs"), "{remedy}");
    }
}
