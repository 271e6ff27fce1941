//! How contenders stand to the oracle, in words. All of it rests on ratios that
//! are valid.

use trial::{Finding, Standing, Weight};

use super::contender::Contender;
use super::{OF_ORACLE, OF_UNCAPPED};
use crate::experiment::{Experiment, Results};
use crate::ratio::Ratio;
use crate::words::finding;

/// So many comparisons are named.
const NAMED_MAX: usize = 5;

/// That ratio at every place where it is valid.
pub fn believed<'a, E: Experiment<Arm = Contender>>(
    results: &'a Results<'_, E>,
    arm: Contender,
    reference: Contender,
) -> Vec<(E::Place, &'a Ratio)> {
    let told = results.told().iter().filter(|told| {
        (told.pair.arm.1, told.pair.reference.1) == (arm, reference) && told.ratio.is_believed
    });
    told.map(|told| (told.pair.arm.0.clone(), &told.ratio))
        .collect()
}

/// The geometric mean; none of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    let logs: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logs / values.len() as f64).exp())
}

/// Geometric mean of everyone's share of the oracle at those places, of which
/// one is called so: `phase`.
pub fn everyone<E: Experiment<Arm = Contender>>(
    results: &Results<'_, E>,
    called: &str,
    only: impl Fn(&E::Place) -> bool,
) -> Option<Finding> {
    let mut arms: Vec<Contender> = Vec::new();
    for told in results.told() {
        if told.pair.reference.1 == Contender::Oracle && !arms.contains(&told.pair.arm.1) {
            arms.push(told.pair.arm.1);
        }
    }
    let of = |arm: Contender| {
        let mut shares = believed(results, arm, Contender::Oracle);
        shares.retain(|(place, _)| only(place));
        let shares = shares.iter().map(|(_, ratio)| ratio.comparison.ratio);
        let shares: Vec<_> = shares.collect();
        let least = shares.iter().copied().reduce(f64::min)?;
        Some((arm, mean(&shares)?, least, shares.len()))
    };
    let mut means: Vec<_> = arms.into_iter().filter_map(of).collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most = means.iter().map(|(_, _, _, count)| *count).max()?;
    let says = |(arm, mean, least, count): &(Contender, f64, f64, usize)| {
        let fewer = match *count == most {
            true => String::new(),
            false => format!(", of {count}"),
        };
        format!("{} {mean:.2} (worst {least:.2}{fewer})", arm.in_words())
    };
    let all: Vec<_> = means.iter().map(says).collect();
    let over = match most {
        1 => format!("at one {called}"),
        most => format!("geometric mean of {most} {called}s"),
    };
    let text = format!(
        "Share of the best fixed setting, {over}: {}.",
        all.join(", ")
    );
    Some(finding(Weight::Note, text, ""))
}

/// Whether `adaptive` meets what is asked of it in those ratios, and where not;
/// none where nothing is asked of any that is valid.
pub fn targets<'a>(ratios: impl Iterator<Item = &'a Ratio>) -> Option<Finding> {
    let asked = ratios.filter(|ratio| ratio.is_believed && ratio.wanted.is_some());
    let asked: Vec<_> = asked.collect();
    let missed = asked
        .iter()
        .filter(|ratio| ratio.standing() != Some(Standing::Met));
    let mut missed: Vec<_> = missed
        .map(|ratio| {
            let wanted = ratio.wanted.unwrap_or_default();
            let (of, at) = (&ratio.comparison.reference, &ratio.comparison.subject);
            format!("{} of {of} at {at} (the target is {wanted})", ratio.words())
        })
        .collect();
    let (count, all) = (missed.len(), asked.len());
    match (count, all) {
        (_, 0) => None,
        (0, _) => {
            let text = format!(
                "`adaptive` meets its targets in all {all} comparisons: {OF_ORACLE} of the best fixed setting, {OF_UNCAPPED} of no moderation."
            );
            Some(finding(Weight::Note, text, ""))
        }
        _ => {
            missed.truncate(NAMED_MAX);
            let rest = match count.saturating_sub(NAMED_MAX) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let text = format!(
                "`adaptive` is not shown to meet its target in {count} of {all} comparisons: {}{rest}.",
                missed.join("; ")
            );
            let remedy = "At such a load set the best fixed setting, which a table names; a larger --budget narrows the intervals.";
            Some(finding(Weight::Warning, text, remedy))
        }
    }
}
