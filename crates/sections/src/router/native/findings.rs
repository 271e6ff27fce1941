//! What the numbers mean, in plain words.

use forward::bench::Directions;
use forward::tester::stream::FrameSize;
use trial::{Finding, Weight};

use crate::router::native::beside::sizes;
use crate::router::throughput::case::Case;
use crate::router::throughput::config::{Place, Router};
use crate::router::throughput::context::Context;
use kit::headline::{Answer, first_reason, sentence};
use kit::routers::source::native;
use kit::routers::trial::{Trial, size_name};
use kit::routers::way::Way;
use kit::words::finding;

/// So much of the links is all of it: what the search can resolve.
const ALL_PERCENT: f64 = 99.0;
/// Beyond so many times, frames in flight wait in a queue.
const QUEUED: f64 = 5.0;

pub(super) fn findings(context: &Context<'_>) -> Vec<Finding> {
    let one = [source(context), cost(context), wait(context)];
    one.into_iter().flatten().collect()
}

/// The router that the source had.
const KERNEL: Router = Router {
    place: Place::NATIVE,
    way: Way::KERNEL,
};

/// What is said of this host is said of kernel routing, or, where that was not
/// asked for, of the first router.
fn router(context: &Context<'_>) -> Router {
    let routers = &context.config().routers;
    match routers.contains(&KERNEL) {
        true => KERNEL,
        false => routers[0],
    }
}

/// That router's cases, the smallest frames first.
fn cases<'a>(context: &Context<'a>) -> Vec<&'a Case> {
    let router = router(context);
    let sizes = context.config().sizes.iter();
    let mut cases: Vec<_> = sizes
        .filter_map(|size| context.case(router, *size))
        .collect();
    cases.sort_by(|a, b| a.size.mean_bytes().total_cmp(&b.size.mean_bytes()));
    cases
}

/// What the smallest frames reach of which anything is valid.
pub(super) fn answer(context: &Context<'_>) -> Option<Answer> {
    cases(context)
        .into_iter()
        .find_map(|case| of_case(context, case))
}

fn of_case(context: &Context<'_>, case: &Case) -> Option<Answer> {
    let overload = case.overload.believed_rate();
    let (what, size) = (sentence(&case.router.way.what()), size_name(case.size));
    let Some(throughput) = case.throughput() else {
        let doubt = case.no_drop.verdict();
        let text = format!(
            "{what} passes {:.0} frames/s of {size} when it is offered more than it can carry. What it carries without loss{} is not known: {}.",
            overload?,
            beside(case),
            first_reason(&doubt)
        );
        let remedy = doubt.remedy;
        return Some(Answer { text, remedy });
    };
    let share = context.percent_of_line(throughput, case.size);
    let more = overload.map(|rate| format!("; offered more, it still passes {rate:.0}"));
    let text = format!(
        "{what} forwards {throughput:.0} frames/s of {size} without loss, {share:.0}% of {}{}{}.{}",
        links(context),
        beside(case),
        more.unwrap_or_default(),
        full(context)
    );
    let remedy = match share < ALL_PERCENT {
        true => {
            "See router-paths for what XDP and AF_XDP gain: small frames are a matter of CPU time a frame."
        }
        false => "",
    };
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}

/// What the source's Linux did at that size.
fn beside(case: &Case) -> String {
    let theirs = match (case.router, case.size) {
        (KERNEL, FrameSize::Fixed(bytes)) => native(bytes),
        _ => None,
    };
    let told = theirs.map(|row| format!(" (the source's Linux: {:.0}%)", row.share_percent));
    told.unwrap_or_default()
}

fn links(context: &Context<'_>) -> String {
    let mbit = context.config().line.speed_bits_per_s / 1e6;
    match context.config().directions {
        Directions::OneWay => format!("a link of {mbit:.0} Mbit/s"),
        Directions::TwoWay => format!("two links of {mbit:.0} Mbit/s"),
    }
}

/// The sizes at which the links are full.
fn full(context: &Context<'_>) -> String {
    let is_full = |case: &&Case| {
        let rate = case.throughput();
        rate.is_some_and(|rate| context.percent_of_line(rate, case.size) >= ALL_PERCENT)
    };
    let full = cases(context).into_iter().filter(is_full);
    let names: Vec<_> = full.map(|case| size_name(case.size)).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" The links are full at {}.", names.join(", ")),
    }
}

/// Where the source's table says the same and where not.
fn source(context: &Context<'_>) -> Option<Finding> {
    let told = |size: FrameSize| {
        let FrameSize::Fixed(bytes) = size else {
            return None;
        };
        let theirs = native(bytes)?.share_percent;
        let rate = context.case(KERNEL, size)?.throughput()?;
        let ours = context.percent_of_line(rate, size);
        Some(format!(
            "{} {theirs:.0}% there, {ours:.0}% here",
            size_name(size)
        ))
    };
    let told: Vec<_> = sizes().filter_map(told).collect();
    (!told.is_empty()).then(|| {
        let text = format!(
            "Beside the source's table 2 (Linux on two Xeon L5420 of 2008): {}.",
            told.join("; ")
        );
        finding(Weight::Note, text, "")
    })
}

/// What a frame costs, and whom.
fn cost(context: &Context<'_>) -> Option<Finding> {
    let mut cases = cases(context).into_iter();
    let case = cases.find(|case| case.overload.is_valid())?;
    let router = case.overload.median(Trial::router_ns_per_frame)?;
    let generator = case.overload.median(Trial::generator_ns_per_frame)?;
    let sink = case.overload.median(Trial::sink_ns_per_frame)?;
    let text = format!(
        "A forwarded frame of {} takes {router:.0} ns of the router's CPU time; the tester itself {generator:.0} ns a frame sent and {sink:.0} ns a frame counted.",
        size_name(case.size)
    );
    Some(finding(Weight::Note, text, ""))
}

/// What the last part of the throughput costs in latency.
fn wait(context: &Context<'_>) -> Option<Finding> {
    let mut cases = cases(context).into_iter();
    let case = cases.find(|case| !case.latency.is_empty())?;
    let p99_us = |share: f64| {
        let near = |point: &&forward::tester::procedure::LatencyPoint| {
            (point.share - share).abs() < 0.01 && point.verdict.is_valid()
        };
        let point = case.latency.iter().find(near)?;
        Some(point.latency.quantile_ns(0.99)? as f64 / 1e3)
    };
    let (half, all) = (p99_us(0.5)?, p99_us(1.0)?);
    if all < QUEUED * half {
        return None;
    }
    let text = format!(
        "At the full throughput 1% of the frames ({}) wait longer than {all:.0} µs, at half of it {half:.0} µs: they stand in a queue.",
        size_name(case.size)
    );
    let remedy = "Plan for half of the throughput where latency matters.";
    Some(finding(Weight::Advice, text, remedy))
}
