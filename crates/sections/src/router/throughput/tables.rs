//! What was found, as tables.

use kit::judged::judged;
use trial::{Cell as Entry, Table};

use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use kit::drawing::{column, number, text};
use kit::routers::trial::size_name;

pub(crate) fn tables(context: &Context<'_>) -> Vec<Table> {
    [
        rates(context),
        latencies(context),
        losses(context),
        bursts(context),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A table, if it has rows.
pub(crate) fn table(
    context: &Context<'_>,
    title: &str,
    note: String,
    columns: &[(&str, &str)],
    rows: Vec<Vec<Entry>>,
) -> Option<Table> {
    let columns = columns.iter().map(|(label, unit)| column(*label, unit));
    (!rows.is_empty()).then(|| Table {
        title: title.to_owned(),
        note,
        columns: columns.collect(),
        rows,
        command: context.conditions.command.to_owned(),
    })
}

fn rates(context: &Context<'_>) -> Option<Table> {
    let partial = context.config().loss_ratio_max.unwrap_or(0.0) * 100.0;
    let row = |case: &Case| {
        let throughput = case.no_drop.rate();
        let share = throughput.map(|rate| context.percent_of_line(rate, case.size));
        vec![
            text(case.router.what()),
            text(size_name(case.size)),
            number(throughput),
            number(share),
            number(case.partial_drop.rate()),
            number(case.overload.rate()),
            number(
                case.overload
                    .median(kit::routers::trial::Trial::router_ns_per_frame),
            ),
            judged(&case.no_drop.verdict()),
        ]
    };
    let partial = format!("with {partial}% loss");
    table(
        context,
        "Throughput by router and frame size",
        format!(
            "Throughput: the highest rate without loss (RFC 2544, section 26.1). At overload: what arrives when the generator sends all that it can; no link limits it. {}",
            context.note()
        ),
        &[
            ("router", ""),
            ("frame", ""),
            ("throughput", "frames/s"),
            ("of the links", "%"),
            (&partial, "frames/s"),
            ("at overload", "frames/s"),
            ("router's CPU", "ns/frame"),
            ("throughput's verdict", ""),
        ],
        context.measured().map(row).collect(),
    )
}

fn latencies(context: &Context<'_>) -> Option<Table> {
    let us = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e3));
    let rows = context.measured().flat_map(|case| {
        case.latency.iter().map(move |point| {
            let at = |share| us(point.latency.quantile_ns(share));
            vec![
                text(case.router.what()),
                text(size_name(case.size)),
                text(format!("{:.0}%", point.share * 100.0)),
                number(Some(point.rate_pps)),
                at(0.5),
                at(0.9),
                at(0.99),
                at(0.999),
                us(point.latency.max_ns()),
                number(Some(point.loss_ratio * 100.0)),
                judged(&point.verdict),
            ]
        })
    });
    table(
        context,
        "Latency at the throughput and below it",
        format!(
            "Of every frame, from the moment it was due to its arrival (RFC 2544, section 26.2, tags one frame in a trial). {}",
            context.note()
        ),
        &[
            ("router", ""),
            ("frame", ""),
            ("of the throughput", ""),
            ("rate", "frames/s"),
            ("p50", "µs"),
            ("p90", "µs"),
            ("p99", "µs"),
            ("p99.9", "µs"),
            ("max", "µs"),
            ("loss", "%"),
            ("verdict", ""),
        ],
        rows.collect(),
    )
}

fn losses(context: &Context<'_>) -> Option<Table> {
    let rows = context.measured().flat_map(|case| {
        case.frame_loss.iter().map(move |point| {
            vec![
                text(case.router.what()),
                text(size_name(case.size)),
                text(format!("{:.0}%", point.share * 100.0)),
                number(Some(point.rate_pps)),
                number(Some(point.loss_ratio * 100.0)),
                judged(&point.verdict),
            ]
        })
    });
    table(
        context,
        "Frame loss by rate",
        format!(
            "From the links' rate down until two rates in a row lose nothing (RFC 2544, section 26.3). {}",
            context.note()
        ),
        &[
            ("router", ""),
            ("frame", ""),
            ("of the links", ""),
            ("rate", "frames/s"),
            ("loss", "%"),
            ("verdict", ""),
        ],
        rows.collect(),
    )
}

fn bursts(context: &Context<'_>) -> Option<Table> {
    let rows = context.measured().filter_map(|case| {
        let found = case.bursts.as_ref()?;
        let buffer_s = case.no_drop.rate().and_then(|rate| found.buffer_s(rate));
        Some(vec![
            text(case.router.what()),
            text(size_name(case.size)),
            number(found.mean_frames()),
            number(buffer_s.map(|seconds| seconds * 1e6)),
            judged(&found.verdict),
        ])
    });
    table(
        context,
        "The longest burst without loss",
        format!(
            "Frames at the links' rate (RFC 2544, section 26.4; the buffer that this speaks of: RFC 9004, section 6). {}",
            context.note()
        ),
        &[
            ("router", ""),
            ("frame", ""),
            ("burst", "frames"),
            ("buffer", "µs"),
            ("verdict", ""),
        ],
        rows.collect(),
    )
}
