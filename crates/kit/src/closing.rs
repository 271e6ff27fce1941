//! How steady the run was, and what ended it: findings about measuring itself.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::validity::FREQUENCY_DRIFT_MAX;
use trial::{Comparison, Finding, Weight};

use crate::observe::drift;
use crate::stopping::{Closing, Stop};
use crate::words::finding;

/// So many wide ratios are named.
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
    let is_few = |comparison: &&Comparison| comparison.pairs.len() < precision.pairs_min;
    let few = comparisons.iter().filter(is_few).count();
    let wanted = share(precision.relative_half_width);
    // Few pairs may lie close by chance, or far apart: neither is a width.
    let mut wide = precision.wide(comparisons);
    wide.retain(|comparison| !is_few(comparison));
    if wide.is_empty() && few == 0 && stop != Stop::BudgetSpent && stop != Stop::Late {
        let text = format!(
            "After {rounds} rounds every ratio's interval was within {wanted}: that, not the budget, ended measuring."
        );
        return Some(finding(Weight::Note, text, ""));
    }
    let (what, remedy) = match stop {
        Stop::RoundsSpent | Stop::Precise | Stop::Planned => (
            format!("Measuring ended after {rounds} rounds, the most that are allowed"),
            "More rounds would hardly narrow them: measure on a quieter host, or longer trials (--seconds).",
        ),
        Stop::BudgetSpent | Stop::Late => (
            format!("The budget ended measuring, after {rounds} rounds"),
            "A larger --budget with --precision narrows them; so does a quiet host.",
        ),
    };
    let enough = comparisons.len() - few;
    let widths = wide_ones(&wide, enough, &wanted);
    let pairs = match few {
        0 => String::new(),
        few if enough == 0 => {
            let text = format!(
                "{what}; none of {few} ratios has the {} pairs that a width needs.",
                precision.pairs_min
            );
            return Some(finding(Weight::Note, text, remedy));
        }
        few => format!(
            "; {few} more have fewer than {} pairs, which is no width",
            precision.pairs_min
        ),
    };
    let text = format!("{what}; {widths}{pairs}.");
    Some(finding(Weight::Note, text, remedy))
}

fn wide_ones(wide: &[&Comparison], of: usize, wanted: &str) -> String {
    if wide.is_empty() {
        return format!("of the ratios with pairs enough ({of}), none is wider than {wanted}");
    }
    let says = |comparison: &&Comparison| {
        format!(
            "{}: {} against {} ({})",
            comparison.subject,
            comparison.arm,
            comparison.reference,
            share(comparison.relative_half_width())
        )
    };
    let named: Vec<_> = wide.iter().take(NAMED_MAX).map(says).collect();
    let rest = match wide.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "of the ratios with pairs enough ({of}), {} stayed wider than {wanted}, widest first: {}{rest}",
        wide.len(),
        named.join("; ")
    )
}

/// Half a width, as people say it.
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
            metric: "requests_per_s".to_owned(),
            command: String::new(),
        };
        let pairs = (0..pairs).map(|at| (1.0 + noise * (at % 3) as f64, 1.0));
        compare(arms, Direction::Higher, pairs.collect()).expect("all are positive")
    }

    fn closed(stop: Stop, comparisons: &[Comparison]) -> Finding {
        let own = Closing {
            stop,
            precision: Precision::new(0.02, 99),
        };
        closing(Some(own), 12, comparisons).expect("widths had a say")
    }

    #[test]
    fn the_closing_line_says_what_ended_it_and_what_stayed_wide() {
        let narrow = ratio("GCM", 12, 0.001);
        let done = closed(Stop::Precise, std::slice::from_ref(&narrow));
        for part in ["12 rounds", "within ±2%", "not the budget"] {
            assert!(done.text.contains(part), "{}", done.text);
        }
        let wide: Vec<_> = ["A", "B", "C", "D", "E"]
            .into_iter()
            .zip([0.1, 0.5, 0.3, 0.2, 0.4])
            .map(|(name, noise)| ratio(name, 12, noise))
            .chain([narrow])
            .collect();
        let spent = closed(Stop::BudgetSpent, &wide);
        for part in ["The budget ended", "B: async against sync (±", "and 1 more"] {
            assert!(spent.text.contains(part), "{}", spent.text);
        }
        assert!(!spent.text.contains("GCM") && !spent.text.contains("A: "));
        assert!(spent.remedy.contains("--budget"));
        let most = closed(Stop::RoundsSpent, &wide);
        assert!(most.text.contains("the most that are allowed"));
    }

    #[test]
    fn few_pairs_are_counted_apart_however_close_they_lie() {
        let ratios = [ratio("A", 1, 0.0), ratio("B", 3, 0.5), ratio("C", 12, 0.5)];
        let spent = closed(Stop::BudgetSpent, &ratios).text;
        for part in [
            "pairs enough (1), 1 stayed",
            "C: async",
            "; 2 more have fewer than 9",
        ] {
            assert!(spent.contains(part), "{spent}");
        }
        assert!(!spent.contains("B: "), "{spent}");
        let narrow = [ratio("A", 1, 0.0), ratio("C", 12, 0.0)];
        let spent = closed(Stop::BudgetSpent, &narrow).text;
        assert!(
            spent.contains("none is wider") && spent.contains("1 more"),
            "{spent}"
        );
        let none = closed(Stop::BudgetSpent, &narrow[..1]).text;
        assert!(none.contains("none of 1 ratios has the 9 pairs"), "{none}");
        let most = closed(Stop::RoundsSpent, &narrow).text;
        assert!(!most.contains("every ratio"), "{most}");
    }
}
