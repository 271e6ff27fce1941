//! `router-os-level`: routers in namespaces, LXC and runc beside a native one,
//! as in figure 3 of source 004 and that row of its figure 6.

use forward::home;
use forward::tester::stream::FrameSize;
use kit::experiment::Results;
use kit::headline::{Answer, Question, sentence};
use kit::ratio::Ratio;
use kit::routers::metrics::RECEIVED_PPS;
use kit::routers::source::OS_LEVEL;
use kit::series::Told;
use kit::words::finding;
use trial::{Finding, Outcome, Weight};

use super::options::Extra;
use super::{Item, Kind, Procedure, Rfc2544};

/// A ratio so near to 1 is the same.
const SAME: f64 = 0.95;

#[derive(Clone, Debug, PartialEq)]
pub struct OsLevel;

type Found<'a> = Results<'a, Rfc2544<OsLevel>>;

impl Kind for OsLevel {
    const NAME: &'static str = "router-os-level";
    const TITLE: &'static str = "Routers in OS-level virtualisation: namespaces, LXC, runc";
    const QUESTION: Question = Question {
        what: "What containers keep of a native router",
        against: "the source's figures 3 and 6 (OpenVZ: like native but for small frames)",
    };
    const HOMES: &'static [&'static str] = &[
        "namespace",
        "namespace:bridged",
        "lxc:bridged",
        "runc:bridged",
    ];
    const EXTRAS: &'static [Extra] = &[];
    const RATES: (&'static str, &'static str) = (
        "Throughput of OS-level virtualisation, as figure 3 of the source",
        "The source's figure has no numbers. OpenVZ is not in today's kernels: LXC is the nearest relative. ",
    );

    /// The farthest from native and the nearest; where no ratio says anything,
    /// the rates that are valid.
    fn answer(results: &Found<'_>) -> Option<Answer> {
        let told = |told: &Told<FrameSize, Item>| {
            let one = &told.ratio.comparison;
            format!("{} {} at {}", one.arm, told.ratio.words(), one.subject)
        };
        let text = match evident(results).as_slice() {
            [] => return rates(results),
            [only] => told(only),
            [least, .., most] => format!("{}, and at most {}", told(least), told(most)),
        };
        let text = format!(
            "Of what a native router passes when offered more than it can carry, OS-level virtualisation keeps at least {text}. The source found: {OS_LEVEL}."
        );
        Some(Answer::new(text, ""))
    }

    fn findings(results: &Found<'_>) -> Vec<Finding> {
        bridge(results).into_iter().collect()
    }
}

/// Ratios at overload that say something, the least first.
fn evident<'a>(results: &'a Found<'_>) -> Vec<&'a Told<FrameSize, Item>> {
    results.told_by(|Told { pair, ratio }| {
        pair.measure == RECEIVED_PPS && (ratio.is_evident() || ratio.is_same(SAME))
    })
}

fn rates(results: &Found<'_>) -> Option<Answer> {
    let told = results.subjects.iter().filter_map(|subject| {
        let is_it = subject.arm.procedure == Procedure::Overload;
        let rate = results.valid_median(&subject.place, &subject.arm, RECEIVED_PPS);
        let rate = rate.filter(|_| is_it)?;
        Some(format!("{} {rate:.0} frames/s", subject.spot.words()))
    });
    let told: Vec<_> = told.collect();
    let text = format!(
        "{}. No difference from native is evident in so few rounds. The source found: {OS_LEVEL}.",
        sentence(&told.join("; "))
    );
    let remedy = "Measure nine rounds or more (--budget, or key pairs), on a quiet host.";
    (!told.is_empty()).then(|| Answer::new(text, remedy))
}

/// What the difference is: the bridge, or the container.
fn bridge(results: &Found<'_>) -> Option<Finding> {
    let all = evident(results);
    let router = |told: &Told<FrameSize, Item>| told.pair.arm.1.router;
    let is_plain = |told: &Told<_, _>| router(told).home.kind == home::Kind::Namespace;
    let is_slow =
        |ratio: &Ratio| ratio.comparison.outcome == Outcome::Slower && ratio.value() < SAME;
    let mut bridged = all.iter().filter(|told| is_plain(told));
    let bridge = bridged.find(|told| is_slow(&told.ratio))?;
    let container = all.iter().rfind(|told| {
        !is_plain(told)
            && told.pair.arm.0 == bridge.pair.arm.0
            && router(told).way == router(bridge).way
    })?;
    let text = format!(
        "The bridge before a router is what costs: a namespace behind one has {:.2}× of native, {} {:.2}×, at {}.",
        bridge.ratio.value(),
        container.ratio.comparison.arm,
        container.ratio.value(),
        bridge.ratio.comparison.subject
    );
    let remedy = "Give a router in a container its interfaces directly (a veth or VF moved into it), not through a bridge.";
    Some(finding(Weight::Advice, text, remedy))
}
