//! Tables of the section.

use trial::{Cell as Entry, Column, Table};

use crate::speed::config::Config;
use crate::speed::invocation::with_placement;
use crate::speed::measure::{Measured, Results, Series};
use kit::load::fresh::arm::{Arm, Role};
use kit::place::Placement;
use kit::words::size;

/// Values that must lie beyond a quantile that is told.
const BEYOND_MIN: f64 = 10.0;
/// 100 × (1 − 0.9) is a hair less than 10.
const ROUNDING: f64 = 1e-6;

pub(super) fn tables(config: &Config, results: &Results) -> Vec<Table> {
    let mut tables = Vec::new();
    for placement in [Placement::Split, Placement::Shared] {
        let placed = || {
            let here = |measured: &&Measured| measured.cell.placement == placement;
            results.cells.iter().filter(here)
        };
        let cells: Vec<_> = placed()
            .filter(|measured| measured.cell.role == Role::Grid)
            .collect();
        let with_deep: Vec<_> = placed()
            .filter(|measured| measured.cell.role != Role::Ladder)
            .collect();
        tables.extend(modes(config, &cells, placement));
        tables.extend(costs(config, &with_deep, placement));
        tables.extend(open_loop(config, &cells, placement));
    }
    tables
}

fn column(label: &str, unit: &str) -> Column {
    Column {
        label: label.to_owned(),
        unit: unit.to_owned(),
    }
}

fn number(value: Option<f64>) -> Entry {
    value.map_or(Entry::Empty, Entry::Number)
}

fn text(text: impl Into<String>) -> Entry {
    Entry::Text(text.into())
}

fn named(placement: Placement) -> &'static str {
    match placement {
        Placement::Split => "cores of their own",
        Placement::Shared => "one shared core",
    }
}

/// The kspeed article's point: sync : batch : async.
fn modes(config: &Config, cells: &[&Measured], placement: Placement) -> Option<Table> {
    let arms = [
        (Arm::SYNC, "sync"),
        (Arm::BATCH, "batch"),
        (Arm::ASYNC, "async"),
        (Arm::POLLED, "polled"),
        (Arm::Raw, "own loop"),
        (Arm::OpenSsl, "openssl speed"),
    ];
    let arms: Vec<_> = arms
        .into_iter()
        .filter(|(arm, _)| cells.iter().any(|measured| measured.arm(*arm).is_some()))
        .collect();
    let rows: Vec<_> = cells
        .iter()
        .filter(|measured| arms.iter().any(|(arm, _)| measured.arm(*arm).is_some()))
        .map(|measured| {
            let mut row = names(config, measured);
            row.extend(arms.iter().map(|(arm, _)| number(measured.mb_per_s(*arm))));
            row.push(proportion(measured).map_or(Entry::Empty, Entry::Text));
            row
        })
        .collect();
    let mut columns = name_columns(config);
    columns.extend(arms.iter().map(|(_, name)| column(name, "MB/s")));
    columns.push(column("sync : batch : async", ""));
    (!rows.is_empty() && !arms.is_empty()).then(|| Table {
        title: format!(
            "Speed by load mode, client and worker on {}",
            named(placement)
        ),
        note: "MB/s are 10^6 bytes a second; medians over the rounds.".to_owned(),
        columns,
        rows,
        command: with_placement(&config.table, placement),
    })
}

fn name_columns(config: &Config) -> Vec<Column> {
    let mut columns = vec![column("algorithm", ""), column("block", "")];
    if has_shapes(config) {
        columns.push(column("depth × lanes / workers", ""));
    }
    columns
}

fn names(config: &Config, measured: &Measured) -> Vec<Entry> {
    let cell = &measured.cell;
    let mut names = vec![text(cell.what()), text(size(measured.block_bytes))];
    if has_shapes(config) {
        names.push(text(format!(
            "{} × {} / {}",
            cell.depth, cell.lanes, cell.workers
        )));
    }
    names
}

/// Whether rows differ in more than kind and size.
fn has_shapes(config: &Config) -> bool {
    config.depths.len() > 1 || config.lanes.len() > 1 || config.workers.len() > 1
}

/// `1 : 8.2 : 57`.
fn proportion(measured: &Measured) -> Option<String> {
    let sync = measured.mb_per_s(Arm::SYNC)?;
    let times = |arm: Arm| measured.mb_per_s(arm).map(|speed| speed / sync).map(round);
    Some(format!(
        "1 : {} : {}",
        times(Arm::BATCH)?,
        times(Arm::ASYNC)?
    ))
}

fn round(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.1}")
    } else {
        format!("{ratio:.0}")
    }
}

/// What each way of asking costs besides the crypto.
fn costs(config: &Config, cells: &[&Measured], placement: Placement) -> Option<Table> {
    let rows: Vec<_> = cells
        .iter()
        .flat_map(|measured| {
            let lanes = measured
                .arms
                .iter()
                .filter(|(arm, series)| matches!(arm, Arm::Lane(..)) && !series.samples.is_empty());
            lanes.map(|(arm, series)| cost_row(measured, *arm, series))
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!("Crossings and CPU time, client and worker on {}", named(placement)),
        note: "Notifications wake the client, doorbells the worker. Latency is from submission to completion; in batch and async that includes the queue the client itself makes.".to_owned(),
        columns: vec![
            column("algorithm", ""),
            column("block", ""),
            column("depth", ""),
            column("mode, policy", ""),
            column("requests", "1/s"),
            column("notifications", "1/s"),
            column("doorbells", "1/s"),
            column("client", "% of a core"),
            column("worker", "% of a core"),
            column("p50", "µs"),
            column("p99", "µs"),
        ],
        rows,
        command: with_placement(&config.table, placement),
    })
}

fn cost_row(measured: &Measured, arm: Arm, series: &Series) -> Vec<Entry> {
    let median = |value: fn(&kit::load::fresh::trial_run::Sample) -> f64| {
        number(trial::stats::median(&series.values(value)))
    };
    vec![
        text(measured.cell.what()),
        text(size(measured.block_bytes)),
        number(Some(arm.depth(&measured.cell) as f64)),
        text(arm.to_string()),
        median(|sample| sample.requests_per_s),
        median(|sample| sample.notifications_per_s),
        median(|sample| sample.doorbells_per_s),
        median(|sample| sample.client_cpus * 100.0),
        median(|sample| sample.worker_cpus * 100.0),
        latency(series, 0.5),
        latency(series, 0.99),
    ]
}

/// Empty where fewer than ten values lie beyond it: a quantile that rests on
/// less is chance.
fn latency(series: &Series, quantile: f64) -> Entry {
    let has_enough = |len: u64| len as f64 * (1.0 - quantile) + ROUNDING >= BEYOND_MIN;
    let latency = series.latency.as_ref();
    number(
        latency
            .filter(|latency| has_enough(latency.len()))
            .and_then(|latency| latency.quantile_ns(quantile))
            .map(|ns| ns as f64 / 1e3),
    )
}

/// Latency at a rate the host does not choose.
fn open_loop(config: &Config, cells: &[&Measured], placement: Placement) -> Option<Table> {
    let rows: Vec<_> = cells
        .iter()
        .flat_map(|measured| {
            measured
                .arms
                .iter()
                .map(move |(arm, series)| (measured, arm, series))
        })
        .filter(|(_, arm, series)| matches!(arm, Arm::Paced(_)) && !series.samples.is_empty())
        .map(|(measured, arm, series)| {
            let policy = arm
                .policy()
                .map_or_else(String::new, |policy| policy.to_string());
            let mut row = vec![
                text(measured.cell.what()),
                text(size(measured.block_bytes)),
                text(policy),
                number(measured.paced_per_s),
            ];
            row.extend([0.5, 0.9, 0.99, 0.999].map(|quantile| latency(series, quantile)));
            row.push(number(
                series
                    .latency
                    .as_ref()
                    .and_then(|latency| latency.max_ns())
                    .map(|ns| ns as f64 / 1e3),
            ));
            row
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!("Latency at a fixed rate, client and worker on {}", named(placement)),
        note: "From the time each request was meant to be sent. The generator keeps its core busy to send on time, except under policies that let it sleep at low rates.".to_owned(),
        columns: vec![
            column("algorithm", ""),
            column("block", ""),
            column("policy", ""),
            column("rate", "1/s"),
            column("p50", "µs"),
            column("p90", "µs"),
            column("p99", "µs"),
            column("p99.9", "µs"),
            column("max", "µs"),
        ],
        rows,
        command: with_placement(&config.table, placement),
    })
}
