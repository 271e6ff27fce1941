//! What the numbers mean, in plain words.

use forward::bench::Directions;
use forward::router::path::Path;
use forward::tester::stream::FrameSize;
use trial::{Finding, Weight};

use super::beside::sizes;
use crate::router::source::native;
use crate::router::throughput::case::Case;
use crate::router::throughput::config::{Place, Router};
use crate::router::throughput::context::Context;
use crate::router::trial::{Trial, size_name};
use crate::router::way::Way;
use crate::speed::findings::finding;

/// So much of the links is all of it: what the search can resolve.
const ALL_PERCENT: f64 = 99.0;
/// Beyond so many times, frames in flight wait in a queue.
const QUEUED: f64 = 5.0;

pub(super) fn findings(context: &Context<'_>) -> Vec<Finding> {
    let one = [
        smallest(context),
        source(context),
        cost(context),
        wait(context),
    ];
    one.into_iter().flatten().collect()
}

/// The router that the source had.
fn kernel<'a>(context: &Context<'a>, size: FrameSize) -> Option<&'a Case> {
    let router = Router {
        place: Place::NATIVE,
        way: Way::of(Path::Kernel),
    };
    let case = context.case(router, size)?;
    case.no_drop.verdict().is_valid().then_some(case)
}

/// What the smallest frames reach: the headline.
fn smallest(context: &Context<'_>) -> Option<Finding> {
    let sizes = context.config().sizes.iter();
    let smallest = sizes.min_by(|a, b| a.mean_bytes().total_cmp(&b.mean_bytes()))?;
    let case = kernel(context, *smallest)?;
    let (throughput, overload) = (case.no_drop.rate()?, case.overload.rate()?);
    let share = context.percent_of_line(throughput, case.size);
    let full = full(context);
    let text = format!(
        "Kernel routing forwards {throughput:.0} frames/s of {} without loss, {share:.0}% of {}; offered more, it still passes {overload:.0}.{full}",
        size_name(case.size),
        links(context),
    );
    let remedy = "See router-paths for what XDP and AF_XDP gain: small frames are a matter of CPU time a frame.";
    let remedy = if share < ALL_PERCENT { remedy } else { "" };
    Some(finding(Weight::Headline, text, remedy))
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
    let is_full = |size: &&FrameSize| {
        let rate = kernel(context, **size).and_then(|case| case.no_drop.rate());
        rate.is_some_and(|rate| context.percent_of_line(rate, **size) >= ALL_PERCENT)
    };
    let sizes = context.config().sizes.iter().filter(is_full);
    let names: Vec<_> = sizes.map(|size| size_name(*size)).collect();
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
        let rate = kernel(context, size)?.no_drop.rate()?;
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
    let sizes = context.config().sizes.iter();
    let case = sizes.filter_map(|size| kernel(context, *size)).next()?;
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
    let sizes = context.config().sizes.iter();
    let case = sizes.filter_map(|size| kernel(context, *size)).next()?;
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
