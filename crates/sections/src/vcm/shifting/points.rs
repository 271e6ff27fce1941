//! What was measured, as points: one a phase and contender.

use trial::{Dimension, Direction, Metric, Point};

use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::results::{Results, mb_per_s, notifications_per_s, requests_per_s};
use crate::vcm::shifting::section::command;
use kit::controllers::contender::Contender;
use kit::controllers::fixed::label;
use kit::load::cell::Series;
use kit::load::points::latency;
use kit::load::rig::{Share, Window};
use kit::metric::metric;

pub(super) fn points(config: &Config, results: &Results) -> Vec<Point> {
    let contenders = results.contenders();
    let places = (0..results.phases.len())
        .flat_map(|phase| contenders.iter().map(move |contender| (phase, *contender)));
    places
        .filter_map(|(phase, contender)| point(config, results, phase, contender))
        .collect()
}

fn point(config: &Config, results: &Results, phase: usize, contender: Contender) -> Option<Point> {
    let series = results.series(phase, contender)?;
    let (quantiles, histogram) = latency(&series);
    let mut metrics = of_series(&series);
    if let Contender::Controlled(name) = contender {
        metrics.extend(of_changes(results, phase, name));
    }
    metrics.extend(quantiles);
    Some(Point {
        dimensions: dimensions(config, results, phase, contender),
        metrics,
        verdict: results.verdict(phase, contender)?,
        command: command(&config.table),
        histogram,
    })
}

fn dimensions(
    config: &Config,
    results: &Results,
    index: usize,
    contender: Contender,
) -> std::collections::BTreeMap<String, Dimension> {
    let fixed = &results.phases[index];
    let number = |value: usize| Dimension::from(value as u64);
    let mut dimensions = vec![
        ("algorithm", Dimension::from(config.kind.algorithm.name())),
        ("operation", config.kind.operation.name().into()),
        ("phase", number(index + 1)),
        ("block_bytes", number(fixed.phase.block_bytes)),
        ("depth", number(fixed.phase.depth)),
        ("tenants", number(fixed.phase.tenants)),
        ("placement", config.placement.name().into()),
        ("backend", config.backend.name().into()),
        ("arm", contender.to_string().as_str().into()),
    ];
    if let (Contender::Oracle, Some((oracle, _))) = (contender, fixed.scouted.first()) {
        dimensions.push(("oracle", label(oracle).as_str().into()));
    }
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn sum(window: &Window, of: impl Fn(&Share) -> f64) -> f64 {
    window.tenants.iter().map(of).sum()
}

fn of_series(series: &Series) -> Vec<Metric> {
    let percent = "% of a core";
    let clients = |window: &Window| {
        let one = |one| window.client_cpus(one);
        (0..window.tenants.len()).map(one).sum::<f64>() * 100.0
    };
    let held = |window: &Window| sum(window, |share| share.counters.held as f64) / window.seconds;
    let alone = |window: &Window| sum(window, |share| share.held_alone as f64);
    let cap = |window: &Window| window.tenants[0].settings.cap_per_s().unwrap_or(0.0);
    let (higher, lower, neither) = (Direction::Higher, Direction::Lower, Direction::Neutral);
    let metrics = [
        metric(
            "requests_per_s",
            "requests/s",
            higher,
            series.values(requests_per_s),
        ),
        metric("speed_mb_per_s", "MB/s", higher, series.values(mb_per_s)),
        metric(
            "notifications_per_s",
            "1/s",
            lower,
            series.values(notifications_per_s),
        ),
        metric("client_cpu_percent", percent, lower, series.values(clients)),
        metric(
            "worker_cpu_percent",
            percent,
            neither,
            series.values(|window| window.worker_cpus() * 100.0),
        ),
        metric("held_per_s", "1/s", neither, series.values(held)),
        metric("held_alone", "notifications", lower, series.values(alone)),
        metric("cap_per_s", "1/s, 0 is none", neither, series.values(cap)),
    ];
    metrics.into_iter().flatten().collect()
}

fn of_changes(results: &Results, phase: usize, name: &str) -> Vec<Metric> {
    let (higher, lower) = (Direction::Higher, Direction::Lower);
    let metrics = [
        metric(
            "settled_mb_per_s",
            "MB/s",
            higher,
            results.settled(phase, name),
        ),
        metric(
            "recovery_ms",
            "ms",
            lower,
            results.recoveries_ms(phase, name),
        ),
        metric(
            "to_oracle_ms",
            "ms",
            lower,
            results.to_oracle_ms(phase, name),
        ),
    ];
    metrics.into_iter().flatten().collect()
}
