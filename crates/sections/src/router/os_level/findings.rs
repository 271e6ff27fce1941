//! What the numbers mean, in plain words.

use trial::{Comparison, Finding, Outcome, Weight};

use crate::router::os_level::ratios::OVERLOAD;
use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use kit::headline::{Answer, sentence};
use kit::ratio::{Ratio, words};
use kit::routers::source::OS_LEVEL;
use kit::routers::trial::size_name;
use kit::words::finding;

/// A ratio so near to 1 is the same.
const SAME: f64 = 0.95;

/// Ratios at overload that say something, the least first.
fn evident(ratios: &[Ratio]) -> Vec<&Comparison> {
    let says =
        |one: &&Ratio| one.comparison.metric == OVERLOAD && (one.is_evident() || one.is_same(SAME));
    let mut told: Vec<_> = (ratios.iter().filter(says))
        .map(|one| &one.comparison)
        .collect();
    told.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    told
}

/// The farthest from native and the nearest; where no ratio says anything,
/// the rates that are valid.
pub(super) fn answer(context: &Context<'_>, ratios: &[Ratio]) -> Option<Answer> {
    let told = |one: &Comparison| format!("{} {} at {}", one.arm, words(one), one.subject);
    let text = match evident(ratios).as_slice() {
        [] => return rates(context),
        [only] => told(only),
        [least, .., most] => format!("{}, and at most {}", told(least), told(most)),
    };
    let text = format!(
        "Of what a native router passes when offered more than it can carry, OS-level virtualisation keeps at least {text}. The source found: {OS_LEVEL}."
    );
    let remedy = String::new();
    Some(Answer { text, remedy })
}

fn rates(context: &Context<'_>) -> Option<Answer> {
    let told = |case: &Case| {
        let rate = case.overload.believed_rate()?;
        let (what, size) = (case.router.what(), size_name(case.size));
        Some(format!("{what} {rate:.0} frames/s of {size}"))
    };
    let told: Vec<_> = context.measured().filter_map(told).collect();
    (!told.is_empty()).then(|| Answer {
        text: format!(
            "{}, when offered more than they can carry. No difference from native is evident in so few rounds. The source found: {OS_LEVEL}.",
            sentence(&told.join("; "))
        ),
        remedy: "Measure five rounds or more (--budget, or key pairs), on a quiet host.".to_owned(),
    })
}

/// What the difference is: the bridge, or the container.
pub(super) fn remedy(ratios: &[Ratio]) -> Option<Finding> {
    let all = evident(ratios);
    let is_container =
        |one: &&&Comparison| one.arm.starts_with("LXC") || one.arm.starts_with("runc");
    let slow = |one: &&&Comparison| one.outcome == Outcome::Slower && one.ratio < SAME;
    let bridge = (all.iter().filter(|one| !is_container(one))).find(slow)?;
    let containers = all
        .iter()
        .filter(|one| is_container(one) && one.subject == bridge.subject);
    let container = containers.max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let text = format!(
        "The bridge before a router is what costs: a namespace behind one has {:.2}× of native, {} {:.2}×, at {}.",
        bridge.ratio, container.arm, container.ratio, bridge.subject
    );
    let remedy = "Give a router in a container its interfaces directly (a veth or VF moved into it), not through a bridge.";
    Some(finding(Weight::Advice, text, remedy))
}
