//! Runs the phases, and tells what passed.

use std::collections::BTreeMap;

use kit::words::finding;
use sys::failure::Failure;
use trial::{
    Cell, Column, Dimension, Direction, Event, Finding, Metric, Point, RunError, Sink, Table,
    Weight,
};

use super::Config;
use super::phases::{OfPhase, Path, Phase, Routers};

struct OfPath {
    path: Path,
    carried_pps: f64,
    phases: Vec<OfPhase>,
}

pub(super) fn run(config: &Config, sink: &mut dyn Sink) -> Result<(), RunError> {
    let mut found: Vec<OfPath> = Vec::new();
    let ended = paths(config, sink, &mut found);
    if found.iter().any(|of| !of.phases.is_empty()) {
        sink.emit(Event::Table(table(config, &found)));
    }
    for finding in findings(config, &found) {
        sink.emit(Event::Finding(finding));
    }
    match ended {
        Err(_) if sink.is_interrupted() => Err(RunError::Interrupted),
        Err(error) => Err(RunError::Failed {
            context: "the routers could not go on".to_owned(),
            source: Some(Box::new(error)),
        }),
        Ok(()) => Ok(()),
    }
}

fn paths(config: &Config, sink: &mut dyn Sink, found: &mut Vec<OfPath>) -> Result<(), Failure> {
    let steps = (config.paths.len() * (Phase::ALL.len() + 1)) as f64;
    let mut done = 0.0;
    for &path in &config.paths {
        sink.emit(Event::Progress(
            done / steps,
            format!("{}: two routers", path.name()),
        ));
        let mut routers = Routers::start(config, path, &|| !sink.is_interrupted())?;
        done += 1.0;
        found.push(OfPath {
            path,
            carried_pps: routers.carried_pps,
            phases: Vec::new(),
        });
        for phase in Phase::ALL {
            sink.emit(Event::Progress(
                done / steps,
                format!("{}: {}", path.name(), phase.name()),
            ));
            let one = routers.phase(phase, &|| !sink.is_interrupted())?;
            done += 1.0;
            sink.emit(Event::Point(point(config, path, &one)));
            let last = found.last_mut().expect("pushed above");
            last.phases.push(one);
        }
    }
    Ok(())
}

fn point(config: &Config, path: Path, one: &OfPhase) -> Point {
    let mut metrics = vec![
        Metric::new("rate_pps", "frames/s", Direction::Neutral, one.rate_pps),
        Metric::new("loss_percent", "%", Direction::Lower, one.loss_percent()),
        Metric::new("phase_s", "s", Direction::Neutral, one.seconds),
        Metric::new("routes", "routes", Direction::Neutral, one.routes as f64),
        Metric::new("slices", "slices", Direction::Neutral, one.slices.into()),
        Metric::new(
            "valid_slices",
            "slices",
            Direction::Neutral,
            one.valid.into(),
        ),
    ];
    metrics.extend(one.xdp_share.map(|share| {
        Metric::new(
            "xdp_percent",
            "% by the program",
            Direction::Higher,
            share * 100.0,
        )
    }));
    metrics.extend(one.latency.metrics());
    let dimensions = BTreeMap::from([
        ("path".to_owned(), Dimension::from(path.name())),
        ("phase".to_owned(), Dimension::from(one.phase.name())),
        ("routes".to_owned(), Dimension::from(config.routes)),
    ]);
    Point {
        dimensions,
        metrics,
        verdict: one.verdict.clone(),
        command: config.command(),
        histogram: String::new(),
    }
}

fn table(config: &Config, found: &[OfPath]) -> Table {
    let columns = vec![
        Column::new("path", ""),
        Column::new("phase", ""),
        Column::new("took", "s"),
        Column::new("routes", ""),
        Column::new("rate", "frames/s"),
        Column::new("lost", "%"),
        Column::new("p99", "µs"),
        Column::new("most", "µs"),
        Column::new("by XDP", "%"),
        Column::new("verdict", ""),
    ];
    let us = |ns: Option<u64>| ns.map_or(Cell::Empty, |ns| Cell::Number(ns as f64 / 1e3));
    let rows = found.iter().flat_map(|of| {
        of.phases.iter().map(move |one| {
            vec![
                Cell::Text(of.path.name().to_owned()),
                Cell::Text(one.phase.name().to_owned()),
                Cell::Number(one.seconds),
                Cell::Number(one.routes as f64),
                Cell::Number(one.rate_pps.round()),
                Cell::Number(one.loss_percent()),
                us(one.latency.quantile_ns(0.99)),
                us(one.latency.max_ns()),
                one.xdp_share
                    .map_or(Cell::Empty, |share| Cell::Number(share * 100.0)),
                Cell::Text(format!(
                    "{}, {} of {}",
                    one.verdict.validity.name(),
                    one.valid,
                    one.slices
                )),
            ]
        })
    });
    Table {
        title: "Frames through two routers while the table of the first comes by BGP".to_owned(),
        note: format!(
            "{} /28 routes of real BIRD; 64-byte frames to the first 65,536 of their networks, at half of what both routers carry at overload; routers and BIRD share their CPUs. Figures are of the slices of 0.25 s that are valid: the last column has their number. A route of the whole block stays: a frame is lost by want of time, not of a route.",
            config.routes
        ),
        columns,
        rows: rows.collect(),
        command: config.command(),
    }
}

fn findings(config: &Config, found: &[OfPath]) -> Vec<Finding> {
    let told = |phase: Phase| {
        let each = found.iter().filter_map(|of| {
            let one = of.phases.iter().find(|one| one.phase == phase)?;
            Some(format!("{} {:.3}%", of.path.name(), one.loss_percent()))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let phases = [
        (Phase::Loading, "while the table loads"),
        (Phase::Flapping, "while a hundredth of it flaps"),
        (Phase::Withdrawing, "while it is withdrawn"),
        (Phase::Quiet, "without changes"),
    ];
    let lost: Vec<String> = phases
        .into_iter()
        .map(|(phase, when)| (told(phase), when))
        .filter(|(told, _)| !told.is_empty())
        .map(|(told, when)| format!("{told} {when}"))
        .collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let mut findings = vec![finding(
        Weight::Headline,
        format!(
            "Of {} routes by BGP, two routers at half of what they carry lose: {}.",
            config.routes,
            lost.join("; ")
        ),
        "Give the control plane a CPU that no router forwards on, or a lower priority (nice).",
    )];
    for of in found {
        let name = of.path.name();
        let Some(loading) = of.phases.iter().find(|one| one.phase == Phase::Loading) else {
            continue;
        };
        let share = loading.xdp_share.map_or_else(String::new, |share| {
            format!(
                "; the program sends on {:.1}% itself, the kernel the others",
                share * 100.0
            )
        });
        findings.push(finding(
            Weight::Note,
            format!(
                "{name}: at overload both routers carry {:.0} frames/s; the table loads in {:.1} s{share}.",
                of.carried_pps, loading.seconds
            ),
            "",
        ));
    }
    findings
}
