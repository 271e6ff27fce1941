//! The section's answer, how its targets stand, and what each setting gives.

use forward::router::path::Path;
use kit::experiment::Results;
use kit::headline::Answer;
use kit::routers::metrics::{PER_BUSY_CPU, PER_CPU, RECEIVED_PPS};
use kit::routers::trial::size_name;
use kit::routers::way::Way;
use kit::series::Told;
use kit::targets::Targets;
use kit::words::finding;
use trial::{Finding, Outcome, Weight};

use super::Paths;
use super::load::Load;
use super::questions::{Asked, PEER};

/// A gain below this is not worth a change.
const WORTH: f64 = 1.1;
/// What to do about a target that is not met.
const LIMITS: &str = "BENCHMARKING.md, \"Forwarding\", says what limits the paths. Where router and sink share a CPU, measure with one for each.";
/// A loss to this is worth a word.
const COSTS: f64 = 0.9;

type Found<'a> = Results<'a, Paths>;

/// What each setting of AF_XDP is, compared with what, and its advice.
const SETTINGS: [(Asked, (&str, &str), &str); 3] = [
    (
        Asked::Batching,
        ("Batching", "one that takes frames one by one"),
        "Take frames in batches: a copy-mode AF_XDP socket pays a system call for each batch it sends.",
    ),
    (
        Asked::Polling,
        ("Polling", "one that sleeps until frames come"),
        "Poll where a CPU may be kept busy for it; it also burns when no frame comes.",
    ),
    (
        Asked::Binding,
        ("Queue binding", "one thread for all queues"),
        "Bind each queue to a core of its own, where the router has as many.",
    ),
];

pub(super) fn findings(results: &Found<'_>) -> Vec<Finding> {
    let settings = SETTINGS.map(|(asked, words, remedy)| setting(results, asked, words, remedy));
    let others = [
        peer(results),
        keeps(results, Asked::Destinations, "more destinations"),
        keeps(results, Asked::Routes, "a larger table"),
        churn(results),
    ];
    let all = Targets::of(results).finding(LIMITS).into_iter();
    all.chain(settings.into_iter().chain(others).flatten())
        .collect()
}

/// Ratios of a question that tell the two apart, the least first.
fn evident<'a>(results: &'a Found<'_>, asked: Asked) -> Vec<&'a Told<Load, Way>> {
    results.told_by(|told| Asked::by(&told.pair) == asked && told.ratio.is_evident())
}

/// The fastest path that routes as the kernel does, or the fastest at all;
/// and how the targets stand.
pub(super) fn answer(results: &Found<'_>) -> Option<Answer> {
    let Answer { text, remedy } = best(results).or_else(|| fastest(results))?;
    let text = match Targets::of(results).counts() {
        None => text,
        Some(counts) => format!("{text} {counts}"),
    };
    Some(Answer { text, remedy })
}

/// The fastest path that routes as the kernel does, where it is evidently
/// faster.
fn best(results: &Found<'_>) -> Option<Answer> {
    let load = results.experiment.first();
    let routes = |told: &&&Told<Load, Way>| {
        let (place, way) = told.pair.arm;
        way.asks_the_table() && place == load
    };
    let best = evident(results, Asked::Path);
    let best = best.iter().rfind(routes)?;
    if best.ratio.comparison.outcome != Outcome::Faster {
        return None;
    }
    let way = best.pair.arm.1;
    let rate = results.median(&load, &way, RECEIVED_PPS)?;
    let about = match results.is_valid(&load, &way) {
        true => "",
        false => "about ",
    };
    let redirect = (&load, &Way::of(Path::XdpDevmap));
    let near = results
        .ratio((&load, &way), redirect, RECEIVED_PPS)
        .filter(|ratio| ratio.is_evident() || ratio.reaches(COSTS))
        .map(|ratio| {
            format!(
                ", and {:.2}× of a redirect that looks at nothing",
                ratio.value()
            )
        });
    let text = format!(
        "The fastest path that routes as the kernel does is {}: {about}{rate:.0} frames/s of {}, {} of kernel routing{}.",
        way.what(),
        size_name(results.experiment.0.frame.0),
        best.ratio.words(),
        near.unwrap_or_default()
    );
    let remedy = match way.path {
        Path::XdpFib | Path::XdpFibCached => {
            "Forward with XDP where the kernel's routing is all that is needed: what XDP does not know it still leaves to the kernel."
        }
        _ => "",
    };
    Some(Answer::new(text, remedy))
}

/// The highest rate that is valid, where no path is evidently faster
/// than kernel routing.
fn fastest(results: &Found<'_>) -> Option<Answer> {
    let load = results.experiment.first();
    let rate = |way: Way| results.valid_median(&load, &way, RECEIVED_PPS);
    let rates = results.experiment.0.paths.iter();
    let rates = rates.filter_map(|name| Some((name.0, rate(name.0)?)));
    let (way, most) = rates.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let beside = match rate(Way::KERNEL) {
        Some(rate) => format!(" Kernel routing carries {rate:.0}."),
        None => " There is no rate of kernel routing to compare it with.".to_owned(),
    };
    let text = format!(
        "Of the rates that are valid the highest is that of {}: {most:.0} frames/s of {}.{beside} That a path which routes is faster than the kernel is not evident.",
        way.what(),
        size_name(results.experiment.0.frame.0),
    );
    let remedy = "Measure kernel routing beside it in nine rounds or more, on a quiet host.";
    Some(Answer::new(text, remedy))
}

/// What a setting of AF_XDP gives: worth doing, or only worth knowing.
fn setting(
    results: &Found<'_>,
    asked: Asked,
    (name, than): (&str, &str),
    remedy: &str,
) -> Option<Finding> {
    let all = evident(results, asked);
    let most = all.last()?.ratio.value();
    // Of those that are nearly as good, what takes the fewest frames at once.
    let batch = |told: &&&Told<Load, Way>| match told.pair.arm.1.path {
        Path::AfXdp(settings) => settings.batch,
        _ => u32::MAX,
    };
    let near = all.iter().filter(|told| told.ratio.value() > COSTS * most);
    let Told { pair, ratio } = near.rev().min_by_key(batch)?;
    let text = format!(
        "{name}: {} forwards {} of {than}.",
        pair.arm.1.what(),
        ratio.words()
    );
    let is_gain = ratio.comparison.outcome == Outcome::Faster && ratio.value() > WORTH;
    Some(match is_gain {
        true => finding(Weight::Advice, text, remedy),
        false => finding(Weight::Note, text, ""),
    })
}

/// How we stand beside DPDK.
fn peer(results: &Found<'_>) -> Option<Finding> {
    let load = results.experiment.first();
    let testpmd = Way::of(Path::Testpmd);
    let over = |measure| {
        let ratio = results.ratio((&load, &PEER), (&load, &testpmd), measure);
        ratio.filter(|ratio| ratio.is_believed)
    };
    let (by_cpu, by_rate) = (over(PER_CPU)?, over(RECEIVED_PPS)?);
    let weight = match by_cpu.comparison.outcome {
        Outcome::Slower => Weight::Warning,
        _ => Weight::Note,
    };
    let without_idle = over(PER_BUSY_CPU).map_or_else(String::new, |ratio| {
        format!(" ({} without idle polls)", ratio.words())
    });
    let text = format!(
        "Beside DPDK's testpmd on the same ports (net_af_xdp), the AF_XDP two-port patch does {} of its frames per CPU-second{without_idle} and {} of its rate. Neither asks a table.",
        by_cpu.words(),
        by_rate.words()
    );
    Some(finding(weight, text, ""))
}

/// What the paths keep of their rates while the table changes, and with many sources.
fn churn(results: &Found<'_>) -> Option<Finding> {
    let is_it =
        |told: &&Told<Load, Way>| Asked::by(&told.pair) == Asked::Churn && told.ratio.is_believed;
    let words = |told: &Told<Load, Way>| {
        let (load, way) = told.pair.arm;
        format!(
            "{} {} at {} changes/s and {} sources",
            way.what(),
            told.ratio.words(),
            load.changes,
            load.sources
        )
    };
    let told: Vec<_> = results.told().iter().filter(is_it).map(words).collect();
    let text = format!(
        "Of their rates from one source and while nothing changes, the paths keep: {}.",
        told.join("; ")
    );
    (!told.is_empty()).then(|| finding(Weight::Note, text, ""))
}

/// What the paths keep at the largest of its loads.
fn keeps(results: &Found<'_>, asked: Asked, what: &str) -> Option<Finding> {
    let load = |told: &&Told<Load, Way>| (told.pair.arm.0.routes, told.pair.arm.0.destinations);
    let own = |told: &&Told<_, _>| Asked::by(&told.pair) == asked && told.ratio.is_believed;
    let all = || results.told().iter().filter(own);
    let most = all().map(|told| load(&told)).max()?;
    let words =
        |told: &Told<Load, Way>| format!("{} {}", told.pair.arm.1.what(), told.ratio.words());
    let told: Vec<_> = all().filter(|told| load(told) == most).map(words).collect();
    let count = most.0.unwrap_or(most.1);
    let text = format!("With {what} ({count}) the paths keep: {}.", told.join("; "));
    Some(finding(Weight::Note, text, ""))
}
