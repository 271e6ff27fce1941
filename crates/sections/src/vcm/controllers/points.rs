//! What was measured, as points.

use std::collections::BTreeMap;

use trial::{Dimension, Direction, Metric, Point};

use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::fixed::label;
use crate::vcm::controllers::results::{Measured, Results};
use crate::vcm::controllers::section::command;
use kit::load::cell::Series;
use kit::load::points::{latency, metrics};
use kit::load::rig::Window;
use kit::metric::metric;

/// Every contender that was measured, at every spot.
pub(super) fn points(config: &Config, results: &Results) -> Vec<Point> {
    let all = results.spots.iter().flat_map(|measured| {
        let contenders = measured.contenders.iter().map(|(contender, _)| *contender);
        contenders.map(move |contender| (measured, contender))
    });
    all.filter_map(|(measured, contender)| point(config, results, (measured, contender)))
        .collect()
}

fn point(
    config: &Config,
    results: &Results,
    (measured, contender): (&Measured, Contender),
) -> Option<Point> {
    let series = measured.series(contender)?;
    let cores = *results.cores.get(&measured.spot.placement)?;
    let (quantiles, histogram) = latency(series);
    let mut all = metrics(series, cores, measured.block_bytes);
    all.extend(holding(series));
    all.extend(quantiles);
    Some(Point {
        dimensions: dimensions(config, measured, contender),
        metrics: all,
        verdict: results.verdict(measured, contender)?,
        command: command(&config.table),
        histogram,
    })
}

fn dimensions(
    config: &Config,
    measured: &Measured,
    contender: Contender,
) -> BTreeMap<String, Dimension> {
    let spot = measured.spot;
    let number = |value: usize| Dimension::from(value as u64);
    let mut dimensions = vec![
        ("algorithm", Dimension::from(spot.kind.algorithm.name())),
        ("operation", spot.kind.operation.name().into()),
        ("block_bytes", number(measured.block_bytes)),
        ("depth", number(spot.depth)),
        ("placement", spot.placement.name().into()),
        ("backend", config.backend.name().into()),
        ("arm", contender.to_string().as_str().into()),
    ];
    if let (Contender::Oracle, Some(oracle)) = (contender, measured.oracle()) {
        dimensions.push(("oracle", label(&oracle).as_str().into()));
    }
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// What was held back, and under which settings at the end of each trial.
pub(crate) fn holding(series: &Series) -> Vec<Metric> {
    let held = |window: &Window| window.tenants[0].counters.held as f64 / window.seconds;
    let alone = |window: &Window| window.tenants[0].held_alone as f64;
    let cap = |window: &Window| window.tenants[0].settings.cap_per_s().unwrap_or(0.0);
    let count = |window: &Window| f64::from(window.tenants[0].settings.count());
    [
        metric("held_per_s", "1/s", Direction::Neutral, series.values(held)),
        metric(
            "held_alone",
            "notifications",
            Direction::Lower,
            series.values(alone),
        ),
        metric(
            "cap_per_s",
            "1/s, 0 is none",
            Direction::Neutral,
            series.values(cap),
        ),
        metric(
            "gathered_count",
            "completions",
            Direction::Neutral,
            series.values(count),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
