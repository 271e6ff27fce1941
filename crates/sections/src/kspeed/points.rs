//! Places as points.

use trial::{Dimension, Direction, Metric, Point};

use crate::kspeed::cell::{Cell, Detail, Series};
use crate::kspeed::context::Context;
use crate::kspeed::method::Method;
use kit::metric::metric;

/// Every method of every place that was tried.
pub(super) fn points(context: &Context<'_>) -> Vec<Point> {
    let arms = context
        .cells
        .iter()
        .flat_map(|cell| cell.arms.iter().map(move |arm| (cell, arm)));
    let tried =
        arms.filter(|(_, (_, series))| !series.trials.is_empty() || series.failure.is_some());
    tried
        .map(|(cell, (method, series))| point(context, cell, *method, series))
        .collect()
}

fn point(context: &Context<'_>, cell: &Cell, method: Method, series: &Series) -> Point {
    let (metrics, histogram) = match &series.detail {
        Some(detail) => {
            let metrics = [rates(cell, series), details(detail)].concat();
            (metrics, histogram(detail))
        }
        None => (rates(cell, series), String::new()),
    };
    let mut dimensions = context.guest.dimensions();
    let number = |number: usize| Dimension::from(number as u64);
    let own = [
        ("driver", Dimension::from(cell.place.driver.name)),
        ("algorithm", cell.place.driver.kind.name().into()),
        ("operation", cell.place.driver.kind.operation().into()),
        ("block_bytes", number(cell.place.size_bytes)),
        ("method", method.name().into()),
        ("depth", number(method.depth(context.config.depth))),
        ("threads", number(cell.place.threads)),
    ];
    dimensions.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Point {
        dimensions,
        metrics,
        verdict: context.verdict(cell, method),
        command: context.command.to_owned(),
        histogram,
    }
}

/// Nothing where nothing was measured: a failure is never a zero.
fn rates(cell: &Cell, series: &Series) -> Vec<Metric> {
    let rates = series.rates();
    let bytes = cell.place.size_bytes as f64;
    let speeds = rates.iter().map(|rate| rate * bytes / 1e6).collect();
    let cpus: Vec<_> = series
        .trials
        .values()
        .map(|trial| trial.guest_cpus * 100.0)
        .collect();
    let metrics = [
        metric("requests_per_s", "requests/s", Direction::Higher, rates),
        metric("speed_mb_per_s", "MB/s", Direction::Higher, speeds),
        metric("guest_cpu_percent", "% of a core", Direction::Neutral, cpus),
    ];
    metrics.into_iter().flatten().collect()
}

/// What the round that takes latencies says.
fn details(detail: &Detail) -> Vec<Metric> {
    let fact = |name: &str, value: f64| metric(name, "requests", Direction::Neutral, vec![value]);
    let facts = [
        fact("backlogged", detail.backlogged as f64),
        fact("completed_inline", detail.completed_inline as f64),
        fact("in_flight_max", detail.in_flight_max as f64),
    ];
    let facts = facts.into_iter().flatten();
    facts.chain(detail.latency.metrics()).collect()
}

fn histogram(detail: &Detail) -> String {
    if detail.latency.is_empty() {
        String::new()
    } else {
        detail.latency.encode()
    }
}
