//! How contenders stand to the oracle, in words. All of it rests on ratios that
//! are valid.

use trial::{Finding, Weight};

use super::contender::Contender;
use super::{OF_ORACLE, OF_UNCAPPED};
use crate::experiment::{Experiment, Results};
use crate::ratio::Ratio;
use crate::targets::Targets;
use crate::words::finding;

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

/// How the targets of `adaptive` stand.
pub fn targets<E: Experiment<Arm = Contender>>(results: &Results<'_, E>) -> Option<Finding> {
    let targets = Targets::of(results);
    let remedy = "At such a load set the best fixed setting, which a table names.";
    let all_met = || {
        let text = format!(
            "`adaptive` is to reach {OF_ORACLE} of the best fixed setting and {OF_UNCAPPED} of no moderation. {}",
            targets.counts()?
        );
        Some(finding(Weight::Note, text, ""))
    };
    targets.finding(remedy).or_else(all_met)
}
