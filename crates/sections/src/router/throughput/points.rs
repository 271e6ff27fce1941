//! Cases as points: one a procedure, each with a verdict of its own.

use forward::tester::procedure::{Bursts, LatencyPoint, LossPoint};
use trial::{Dimension, Direction, Metric, Point, Verdict};

use crate::router::throughput::case::{Case, Searches, offer};
use crate::router::throughput::context::Context;
use kit::metric::metric;
use kit::routers::metrics::{dimensions, of_series};

pub(crate) fn points(context: &Context<'_>) -> Vec<Point> {
    let tried = |case: &&Case| !case.overload.trials.is_empty() || case.failure().is_some();
    let cases = context.cases.iter().filter(tried);
    cases.flat_map(|case| of_case(context, case)).collect()
}

fn of_case(context: &Context<'_>, case: &Case) -> Vec<Point> {
    let mut points = vec![point(
        (context, case, "overload"),
        of_series(&case.overload),
        case.overload.verdict(),
    )];
    let searches = [
        ("throughput", &case.no_drop),
        ("partial-drop", &case.partial_drop),
    ];
    let measured = searches
        .into_iter()
        .filter(|(_, searches)| !searches.0.is_empty());
    points.extend(measured.map(|(procedure, searches)| {
        let metrics = found(context, case, searches);
        point((context, case, procedure), metrics, searches.verdict())
    }));
    let latencies = case.latency.iter();
    points.extend(latencies.map(|found| latency(context, case, found)));
    let losses = case.frame_loss.iter();
    points.extend(losses.map(|found| loss(context, case, found)));
    points.extend(
        case.bursts
            .as_ref()
            .map(|found| bursts(context, case, found)),
    );
    points
}

fn point(
    (context, case, procedure): (&Context<'_>, &Case, &str),
    metrics: Vec<Metric>,
    verdict: Verdict,
) -> Point {
    let setup = context.setup(case.router);
    Point {
        dimensions: dimensions(&setup, &offer(context.config(), case.size), procedure),
        metrics,
        verdict,
        command: context.conditions.command.to_owned(),
        histogram: String::new(),
    }
}

fn found(context: &Context<'_>, case: &Case, searches: &Searches) -> Vec<Metric> {
    let rates = searches.rates();
    let shares = rates
        .iter()
        .map(|rate| context.percent_of_line(*rate, case.size));
    let shares = shares.collect();
    let trials = searches.0.values().map(|found| f64::from(found.trials));
    let metrics = [
        metric(
            "throughput_pps",
            "frames/s",
            Direction::Higher,
            rates.clone(),
        ),
        metric(
            "throughput_percent",
            "% of the links",
            Direction::Higher,
            shares,
        ),
        metric("trials", "trials", Direction::Neutral, trials.collect()),
    ];
    metrics.into_iter().flatten().collect()
}

/// A share of the throughput, or of the links, is a place of its own.
fn at(mut point: Point, share: f64) -> Point {
    let percent = Dimension::from((share * 100.0).round() as u64);
    point.dimensions.insert("rate_percent".to_owned(), percent);
    point
}

fn latency(context: &Context<'_>, case: &Case, found: &LatencyPoint) -> Point {
    let mut metrics = one("rate_pps", "frames/s", found.rate_pps);
    metrics.extend(one("loss_percent", "%", found.loss_ratio * 100.0));
    metrics.extend(found.latency.metrics());
    let own = point((context, case, "latency"), metrics, found.verdict.clone());
    let histogram = if found.latency.is_empty() {
        String::new()
    } else {
        found.latency.encode()
    };
    at(Point { histogram, ..own }, found.share)
}

fn loss(context: &Context<'_>, case: &Case, found: &LossPoint) -> Point {
    let mut metrics = one("rate_pps", "frames/s", found.rate_pps);
    metrics.extend(one("loss_percent", "%", found.loss_ratio * 100.0));
    let own = point(
        (context, case, "frame-loss"),
        metrics,
        found.verdict.clone(),
    );
    at(own, found.share)
}

fn bursts(context: &Context<'_>, case: &Case, found: &Bursts) -> Point {
    let frames: Vec<_> = found.frames.iter().map(|frames| *frames as f64).collect();
    let buffer = case.no_drop.rate().and_then(|rate| found.buffer_s(rate));
    let mut metrics: Vec<_> = metric("burst_frames", "frames", Direction::Higher, frames)
        .into_iter()
        .collect();
    metrics
        .extend(buffer.and_then(|seconds| {
            metric("buffer_us", "µs", Direction::Neutral, vec![seconds * 1e6])
        }));
    point(
        (context, case, "back-to-back"),
        metrics,
        found.verdict.clone(),
    )
}

fn one(name: &str, unit: &str, value: f64) -> Vec<Metric> {
    metric(name, unit, Direction::Neutral, vec![value])
        .into_iter()
        .collect()
}
