//! Measured arms as points.

use std::collections::BTreeMap;

use trial::stats::median;
use trial::{Dimension, Direction, Metric, Point, Verdict};

use crate::speed::measure::Series;
use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::grid::Peers;
use crate::speed::peers::invocation::of_arm;
use crate::speed::peers::measure::RowResult;
use crate::speed::peers::schedule::Schedule;
use crate::speed::points::verdict as judged;

/// Every arm of a row that gave something, as a point.
pub(super) fn points(
    config: &Config,
    peers: &Peers,
    schedule: &Schedule,
    result: &RowResult,
) -> Vec<Point> {
    let given = result
        .arms
        .iter()
        .filter(|(_, series)| !series.samples.is_empty());
    given
        .map(|(arm, series)| Point {
            dimensions: dimensions(config, result, *arm),
            metrics: metrics(result, series),
            verdict: verdict(peers, result, *arm, series),
            command: of_arm(&config.table, schedule, &result.row, &result.measured, *arm),
            histogram: String::new(),
        })
        .collect()
}

fn dimensions(config: &Config, result: &RowResult, arm: Arm) -> BTreeMap<String, Dimension> {
    let cell = &result.row.cell;
    let number = |value: usize| Dimension::from(value as u64);
    let mut dimensions = vec![
        ("algorithm", Dimension::from(cell.kind.algorithm.name())),
        ("operation", cell.kind.operation.name().into()),
        ("block_bytes", number(result.block_bytes())),
        ("arm", arm.name().into()),
    ];
    if matches!(arm, Arm::Engine | Arm::OwnLoop) {
        dimensions.push(("backend", config.backend.name().into()));
    }
    if matches!(arm, Arm::Engine | Arm::OwnLoop | Arm::Ring) {
        dimensions.push(("depth", number(cell.depth)));
    }
    let named = dimensions.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn metrics(result: &RowResult, series: &Series) -> Vec<Metric> {
    let block_bytes = result.block_bytes() as f64;
    let metric = |name: &str, unit: &str, direction: Direction, samples: Vec<f64>| {
        Some(Metric {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction,
            value: median(&samples)?,
            samples,
        })
    };
    // Bytes a second say nothing of a public key.
    let speed = (!result.kind().algorithm.is_public_key()).then(|| {
        metric(
            "speed_mb_per_s",
            "MB/s",
            Direction::Higher,
            series.values(|one| one.requests_per_s * block_bytes / 1e6),
        )
    });
    let cpu = |cpus: &[usize]| cpus.iter().take(1).map(|&cpu| cpu as f64).collect();
    let worker = result.measured.cpus.as_ref().map(|cpus| {
        metric(
            "worker_cpu",
            "CPU number",
            Direction::Neutral,
            cpu(&cpus.workers),
        )
    });
    [
        metric(
            "requests_per_s",
            "requests/s",
            Direction::Higher,
            series.values(|one| one.requests_per_s),
        ),
        speed.flatten(),
        worker.flatten(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether an arm's figures are valid.
pub(super) fn verdict(peers: &Peers, result: &RowResult, arm: Arm, series: &Series) -> Verdict {
    judged(&peers.host, &result.measured, arm.like(), series)
}

/// Whether an arm was measured and is valid.
pub(super) fn is_valid(peers: &Peers, result: &RowResult, arm: Arm) -> bool {
    result
        .arm(arm)
        .is_some_and(|series| verdict(peers, result, arm, series).is_valid())
}
