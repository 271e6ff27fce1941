//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Outcome, Weight};

use super::comparisons::OVERLOAD;
use crate::router::source::OS_LEVEL;
use crate::router::throughput::context::Context;
use crate::speed::findings::finding;

/// A ratio so near to 1 is the same.
const SAME: f64 = 0.95;

pub(super) fn findings(context: &Context<'_>, comparisons: &[Comparison]) -> Vec<Finding> {
    let _ = context;
    [headline(comparisons), remedy(comparisons)]
        .into_iter()
        .flatten()
        .collect()
}

/// Ratios at overload that say something.
fn evident(comparisons: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    let has_pairs = |one: &&Comparison| {
        one.metric == OVERLOAD
            && (one.outcome != Outcome::NoEvidence || one.low >= SAME && one.high <= 1.0 / SAME)
    };
    comparisons.iter().filter(has_pairs)
}

fn told(one: &Comparison) -> String {
    format!(
        "{} {:.2}× ({:.2} to {:.2}) at {}",
        one.arm, one.ratio, one.low, one.high, one.subject
    )
}

/// The farthest from native and the nearest.
fn headline(comparisons: &[Comparison]) -> Option<Finding> {
    let by_ratio = |a: &&Comparison, b: &&Comparison| a.ratio.total_cmp(&b.ratio);
    let least = evident(comparisons).min_by(by_ratio)?;
    let most = evident(comparisons).max_by(by_ratio)?;
    let others = match least == most {
        true => String::new(),
        false => format!(", and at most {}", told(most)),
    };
    let text = format!(
        "Of what a native router forwards, OS-level virtualisation keeps at least {}{others}. The source found: {OS_LEVEL}.",
        told(least)
    );
    Some(finding(Weight::Headline, text, ""))
}

/// What the difference is: the bridge, or the container.
fn remedy(comparisons: &[Comparison]) -> Option<Finding> {
    let is_container =
        |one: &&Comparison| one.arm.starts_with("LXC") || one.arm.starts_with("runc");
    let slow = |one: &&Comparison| one.outcome == Outcome::Slower && one.ratio < SAME;
    let bridge = evident(comparisons)
        .filter(|one| !is_container(one))
        .find(slow)?;
    let container = evident(comparisons)
        .filter(|one| is_container(one) && one.subject == bridge.subject)
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let text = format!(
        "The bridge before a router is what costs: a namespace behind one has {:.2}× of native, {} {:.2}×, at {}.",
        bridge.ratio, container.arm, container.ratio, bridge.subject
    );
    let remedy = "Give a router in a container its interfaces directly (a veth or VF moved into it), not through a bridge.";
    Some(finding(Weight::Advice, text, remedy))
}
