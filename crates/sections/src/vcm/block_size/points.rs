//! Places and the price as points.

use std::collections::BTreeMap;

use trial::{Dimension, Point, Validity, Verdict};

use crate::vcm::block_size::context::Context;
use crate::vcm::block_size::grid::Place;
use kit::load::moderated::Arm;
use kit::load::points::{latency, metrics};
use kit::place::Placement;

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
    let series = cell.arm(&arm)?;
    let cores = context.places.kept[cell.bench].1;
    let (latencies, histogram) = if is_final {
        latency(series)
    } else {
        Default::default()
    };
    let mut metrics = metrics(series, cores, cell.key.block_bytes);
    metrics.extend(latencies);
    Some(Point {
        dimensions: dimensions(context, cell, arm),
        metrics,
        verdict: context.verdict(cell, arm)?,
        command: context.command.to_owned(),
        histogram,
    })
}

fn dimensions(context: &Context<'_>, cell: &Place, arm: Arm) -> BTreeMap<String, Dimension> {
    let spot = cell.key;
    let dimensions = [
        ("algorithm", Dimension::from(spot.kind.algorithm.name())),
        ("operation", spot.kind.operation.name().into()),
        ("block_bytes", (spot.block_bytes as u64).into()),
        ("placement", spot.placement.name().into()),
        ("backend", context.config.backend.name().into()),
        ("depth", (context.config.depth as u64).into()),
        ("policy", Dimension::Text(arm.to_string())),
    ];
    dimensions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The price of a notification, a point a placement.
pub(super) fn prices(context: &Context<'_>) -> Vec<Point> {
    let placements = context.places.kept.iter();
    placements
        .filter_map(|&(placement, _)| price(context, placement))
        .collect()
}

fn price(context: &Context<'_>, placement: Placement) -> Option<Point> {
    let (price, is_sound) = context.price(placement)?;
    let dimensions = [
        ("what", Dimension::from("price of a notification")),
        ("placement", placement.name().into()),
    ];
    let verdict = if is_sound {
        Verdict::valid()
    } else {
        Verdict::new(
            Validity::Noisy,
            "no place that it could rest on was valid",
            "measure on a quiet host",
        )
    };
    Some(Point {
        dimensions: dimensions
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        metrics: price.metrics(),
        verdict,
        command: context.command.to_owned(),
        histogram: String::new(),
    })
}
