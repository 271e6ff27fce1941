//! Places as points.

use std::collections::BTreeMap;

use trial::{Dimension, Direction, Point};

use crate::vcm::tasks::context::Context;
use crate::vcm::tasks::grid::{Place, evenness, task_rates};
use kit::load::moderated::Arm;
use kit::load::points::{latency, metrics};
use kit::metric::metric;

/// Every arm of every place that was measured; with their latencies, which
/// take long to write, where the rounds are over.
pub(super) fn points(context: &Context<'_>, are_final: bool) -> Vec<Point> {
    let arms = context
        .cells
        .iter()
        .flat_map(|cell| cell.arms.iter().map(move |(arm, _)| (cell, *arm)));
    arms.filter_map(|(cell, arm)| point(context, cell, arm, are_final))
        .collect()
}

fn point(context: &Context<'_>, cell: &Place, arm: Arm, is_final: bool) -> Option<Point> {
    let (series, tasks) = (cell.arm(&arm)?, cell.key.tasks);
    let cores = context.places.kept[cell.bench].1;
    let (latencies, histogram) = if is_final {
        latency(series)
    } else {
        Default::default()
    };
    let mut metrics = metrics(series, cores, context.block_bytes);
    let least = |rates: Vec<f64>| rates.into_iter().fold(f64::INFINITY, f64::min);
    let speed = |rate: f64| context.mb_per_s(rate);
    let own = [
        metric(
            "task_speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            series.values(|window| speed(window.requests_per_s(0) / tasks as f64)),
        ),
        metric(
            "least_task_speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            series.values(|window| speed(least(task_rates(window, tasks)))),
        ),
        metric(
            "jain_index",
            "1 is even",
            Direction::Higher,
            series.values(|window| evenness(window, tasks)),
        ),
    ];
    metrics.extend(own.into_iter().flatten().chain(latencies));
    Some(Point {
        dimensions: dimensions(context, cell, arm),
        metrics,
        verdict: context.verdict(cell, arm)?,
        command: context.command.to_owned(),
        histogram,
    })
}

fn dimensions(context: &Context<'_>, cell: &Place, arm: Arm) -> BTreeMap<String, Dimension> {
    let config = context.config;
    let number = |number: usize| Dimension::from(number as u64);
    let dimensions = [
        ("algorithm", Dimension::from(config.kind.algorithm.name())),
        ("operation", config.kind.operation.name().into()),
        ("block_bytes", number(config.block_bytes)),
        ("placement", cell.key.placement.name().into()),
        ("backend", config.backend.name().into()),
        ("depth", number(config.depth)),
        ("tasks", number(cell.key.tasks)),
        ("policy", Dimension::Text(arm.to_string())),
    ];
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
