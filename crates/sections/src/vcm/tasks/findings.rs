//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Outcome, Weight};

use crate::vcm::tasks::context::{Context, sum_of};
use crate::vcm::tasks::grid::{evenness, many};
use kit::load::moderated::Arm;
use kit::load::rounds::End;
use kit::place::Placement;
use kit::places::on;
use kit::words::finding;

/// Shares are even above this (Jain's index): one task of eight that gets a
/// fifth less than the others still leaves 0.99.
const EVEN_MIN: f64 = 0.99;

type Sums = [(Placement, Arm, usize, Comparison)];

pub(super) fn findings(
    context: &Context<'_>,
    sums: &Sums,
    gains: &[Comparison],
    end: &End,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for placement in context.placements() {
        findings.extend(figure(context, placement, sums));
    }
    findings.extend(
        [gain(gains), left_out(context), end.late()]
            .into_iter()
            .flatten(),
    );
    findings
}

/// The paper's figure 3 beside ours, under a notification for every
/// completion: the sum, and who gets how much.
fn figure(context: &Context<'_>, placement: Placement, sums: &Sums) -> Option<Finding> {
    let ends = context.ends(placement, Arm::EACH)?;
    let (few, most) = (ends.few.key.tasks, ends.many.key.tasks);
    let sum = sum_of(sums, placement, Arm::EACH, most)?;
    if !context.is_valid(ends.few, Arm::EACH) || !context.is_valid(ends.many, Arm::EACH) {
        let text = format!(
            "{}: too disturbed to be held beside the paper's figure 3.",
            on(placement)
        );
        return Some(finding(Weight::Warning, text, "Measure on a quiet host."));
    }
    let jain = context.median(ends.many, Arm::EACH, |window| evenness(window, most))?;
    let armed = sum_of(sums, placement, Arm::ARMED, most).map_or_else(String::new, |armed| {
        format!("; under `armed` {}", ratio(armed))
    });
    let text = format!(
        "{most} equal tasks with a notification for every completion get together {} of what {} gets, {:.3}× each, clients and worker on {}{armed}. {}.",
        ratio(sum),
        many(few),
        sum.ratio * few as f64 / most as f64,
        on(placement),
        agreement(sum.outcome, jain)
    );
    // The paper's guests have one core.
    let weight = match placement {
        Placement::Shared => Weight::Headline,
        Placement::Split => Weight::Note,
    };
    Some(finding(weight, text, ""))
}

/// What of the paper's figure 3 is seen here.
fn agreement(sum: Outcome, jain: f64) -> String {
    let (is_less, is_even) = (sum == Outcome::Slower, jain >= EVEN_MIN);
    let even = format!("Jain's index {jain:.3}");
    match (is_less, is_even) {
        (true, true) => format!(
            "The paper's figure 3 agrees: tasks share evenly ({even}), and get less together than one alone"
        ),
        (false, true) => format!(
            "The paper's figure 3 agrees in that tasks share evenly ({even}), not in that they get less together than one alone"
        ),
        (true, false) => format!(
            "The paper's figure 3 agrees in that tasks get less together than one alone, not in that they share evenly ({even})"
        ),
        (false, false) => format!(
            "The paper's figure 3 does not agree: tasks do not share evenly ({even}), nor get less together than one alone"
        ),
    }
}

fn ratio(ratio: &Comparison) -> String {
    format!(
        "{:.2}× ({:.2} to {:.2})",
        ratio.ratio, ratio.low, ratio.high
    )
}

/// Where `armed` gains most.
fn gain(gains: &[Comparison]) -> Option<Finding> {
    let best = gains
        .iter()
        .filter(|one| one.outcome == Outcome::Faster)
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let text = format!(
        "With several tasks, too, fewer notifications gain: {} against {}, {}: {}.",
        best.arm,
        best.reference,
        best.subject,
        ratio(best)
    );
    let remedy = "Notify only a client that sleeps (policy `armed`).";
    Some(finding(Weight::Advice, text, remedy))
}

fn left_out(context: &Context<'_>) -> Option<Finding> {
    let text = format!("Left out: {}.", context.places.left_out()?);
    let remedy = "Allow more CPUs (taskset, cpuset).";
    Some(finding(Weight::Note, text, remedy))
}
