//! How steady the run was, and what ended it: findings about measuring itself.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::validity::FREQUENCY_DRIFT_MAX;
use trial::{Comparison, Finding, Weight};

use crate::observe::drift;
use crate::stopping::{Closing, Stop};
use crate::words::finding;

/// Maximum number of wide ratios that are named.
const NAMED_MAX: usize = 4;

/// How far the workers' cores were off their usual speed: by CPU, ns of one
/// step at every look.
pub fn clock(steps_ns: BTreeMap<usize, Vec<f64>>) -> Option<Finding> {
    let moved = |(cpu, steps): (usize, Vec<f64>)| {
        let usual = median(&steps)?;
        let drifts = steps.iter().map(|&step| drift(step, usual));
        let far = drifts.reduce(|a, b| if b.abs() > a.abs() { b } else { a })?;
        Some((cpu, usual, steps.len(), far))
    };
    let (cpu, usual, looks, far) = steps_ns
        .into_iter()
        .filter_map(moved)
        .max_by(|a, b| a.3.abs().total_cmp(&b.3.abs()))?;
    let what = format!(
        "a multiplication took {usual:.2} ns on CPU {cpu} (median of {looks} looks), and the core was at most {:.1}% {}",
        far.abs() * 100.0,
        if far > 0.0 { "faster" } else { "slower" },
    );
    if far.abs() <= FREQUENCY_DRIFT_MAX {
        let text = format!("The core's clock held still: {what}.");
        return Some(finding(Weight::Note, text, ""));
    }
    let text = format!(
        "The core's clock moved while measuring: {what}. Points of which more rounds than one in nine were off by {:.0}% are marked noisy.",
        FREQUENCY_DRIFT_MAX * 100.0
    );
    let remedy = "Set the `performance` governor, let the host warm up, or measure on a core that others leave alone.";
    Some(finding(Weight::Warning, text, remedy))
}

/// What ended this many rounds, where widths had a say, and what stayed wide.
pub fn closing(
    closing: Option<Closing>,
    rounds: usize,
    comparisons: &[Comparison],
) -> Option<Finding> {
    let Closing { stop, precision } = closing?;
    // Few pairs may lie close by chance, or far apart: neither is a width.
    let is_few = |it: &&Comparison| it.pairs.len() < precision.pairs_min;
    let few = comparisons.iter().filter(is_few).count();
    let mut wide = precision.wide(comparisons);
    wide.retain(|it| !is_few(it));
    let is_narrow = wide.is_empty() && few == 0;
    let (what, remedy) = match stop {
        Stop::BudgetSpent | Stop::Late => (
            "The budget ended measuring",
            "A larger --budget with --precision narrows them; so does a quiet host.",
        ),
        _ if is_narrow => ("Every ratio's interval was narrow enough", ""),
        Stop::RoundsSpent | Stop::Precise | Stop::Planned => (
            "The maximum number of rounds ended measuring",
            "More rounds would hardly narrow them: measure on a quieter host, or longer trials (--seconds).",
        ),
    };
    let narrow = comparisons.len() - few - wide.len();
    let text = format!(
        "{what}, after {rounds} rounds: {narrow} of {} ratios are within {}{}{}.",
        comparisons.len(),
        share(precision.relative_half_width),
        match few {
            0 => String::new(),
            few => format!(
                "; {few} have fewer than the {} pairs that a width needs",
                precision.pairs_min
            ),
        },
        widest(&wide)
    );
    Some(finding(Weight::Note, text, remedy))
}

/// `; 5 are wider: GCM: async compared with sync (±9%); …`; empty where none is.
fn widest(wide: &[&Comparison]) -> String {
    let says = |it: &&Comparison| {
        let width = share(it.relative_half_width());
        format!(
            "{}: {} compared with {} ({width})",
            it.subject, it.arm, it.reference
        )
    };
    let named: Vec<_> = wide.iter().take(NAMED_MAX).map(says).collect();
    let rest = match wide.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    match wide.len() {
        0 => rest,
        count => format!("; {count} are wider: {}{rest}", named.join("; ")),
    }
}

/// Half a width: `±2.5%`.
fn share(half_width: f64) -> String {
    let percent = half_width * 100.0;
    if percent >= 10.0 {
        format!("±{percent:.0}%")
    } else {
        format!("±{}%", (percent * 10.0).round() / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use trial::Direction;
    use trial::stats::{Arms, Precision, compare};

    use super::*;

    /// A ratio from this many pairs that vary by this much.
    fn ratio(subject: &str, pairs: usize, noise: f64) -> Comparison {
        let arms = Arms {
            subject: subject.to_owned(),
            arm: "async".to_owned(),
            reference: "sync".to_owned(),
            ..Arms::default()
        };
        let pairs = (0..pairs).map(|at| (1.0 + noise * (at % 3) as f64, 1.0));
        compare(arms, Direction::Higher, pairs.collect()).expect("all are positive")
    }

    fn says(stop: Stop, comparisons: &[Comparison], parts: &[&str], remedy: &str) {
        let precision = Precision::new(0.02, 99);
        let found = closing(Some(Closing { stop, precision }), 12, comparisons);
        let found = found.expect("widths had a say");
        let has_all = parts.iter().all(|part| found.text.contains(part));
        assert!(has_all && found.remedy.contains(remedy), "{found:?}");
        assert!(!found.text.contains(": A: ") && !found.text.contains("GCM"));
        assert_eq!(found.remedy.is_empty(), remedy.is_empty());
    }

    #[test]
    fn it_says_what_ended_it_and_what_stayed_wide() {
        let narrow = ratio("GCM", 12, 0.001);
        let enough = "narrow enough, after 12 rounds: 1 of 1 ratios are within ±2%.";
        says(Stop::Precise, std::slice::from_ref(&narrow), &[enough], "");
        let noises = [("A", 0.1), ("B", 0.5), ("C", 0.3), ("D", 0.2), ("E", 0.4)];
        let wide = noises.map(|(name, noise)| ratio(name, 12, noise));
        let wide = [&wide[..], &[narrow]].concat();
        let widest = "; 5 are wider: B: async compared with sync (±";
        let parts = ["The budget ended", "1 of 6", widest, "and 1 more"];
        says(Stop::BudgetSpent, &wide, &parts, "--budget");
        says(
            Stop::RoundsSpent,
            &wide,
            &["The maximum number of rounds"],
            "--seconds",
        );
        let few = [ratio("A", 1, 0.0), ratio("B", 3, 0.5), ratio("C", 12, 0.5)];
        let parts = [
            "0 of 3",
            "; 2 have fewer than the 9 pairs",
            "wider: C: async",
        ];
        says(Stop::BudgetSpent, &few, &parts, "--budget");
        says(
            Stop::RoundsSpent,
            &few[..1],
            &["0 of 1", "; 1 have fewer"],
            "--seconds",
        );
    }
}
