//! The paper's figure 2 for each algorithm and placement: speed, and
//! notifications, over the block size.

use crypto::Kind;
use trial::{Axis, Chart, Scale};

use crate::vcm::block_size::context::Context;
use kit::drawing::block_axis;
use kit::load::moderated::Arm;
use kit::place::Placement;
use kit::places::on;
use kit::words::what;

pub(super) fn charts(context: &Context<'_>) -> Vec<Chart> {
    let lines = context.lines();
    let mut charts: Vec<_> = lines.filter_map(|line| speed(context, line)).collect();
    let placements = context.places.kept.iter();
    charts.extend(placements.filter_map(|&(placement, _)| notifications(context, placement)));
    charts.retain(|chart| chart.series.iter().any(|series| series.dots.len() > 1));
    charts
}

fn speed(context: &Context<'_>, line: (Placement, Kind)) -> Option<Chart> {
    let series = context.arms().filter_map(|arm| {
        context.series(line, arm, arm.to_string(), |cell, window| {
            window.requests_per_s(0) * cell.key.block_bytes as f64 / 1e6
        })
    });
    let series: Vec<_> = series.collect();
    (!series.is_empty()).then(|| Chart {
        title: format!(
            "Speed by block size: {}, one task, client and worker on {}",
            what(line.1),
            on(line.0)
        ),
        note: format!(
            "{} requests in flight. The paper's figure 2 rises to {} bytes and falls beyond. Whiskers: 95% interval of the median. Hollow: what is in flight exceeds L2, or the trial was disturbed.",
            context.config.depth,
            model::paper::published::AES_128.peak_block_bytes.unwrap_or_default(),
        ),
        x: block_axis(),
        y: Axis {
            label: "speed".to_owned(),
            unit: "MB/s".to_owned(),
            scale: Scale::Linear,
        },
        places: Vec::new(),
        series,
        command: context.command.to_owned(),
    })
}

fn notifications(context: &Context<'_>, placement: Placement) -> Option<Chart> {
    let kinds = context.config.kinds.iter();
    let pairs = kinds.flat_map(|&kind| context.arms().map(move |arm| (kind, arm)));
    let series = pairs
        .filter(|(_, arm)| arm.moderation.client_sleeps())
        .filter_map(|(kind, arm)| notified(context, (placement, kind), arm));
    let series: Vec<_> = series.collect();
    (!series.is_empty()).then(|| Chart {
        title: format!(
            "Notifications by block size: one task, client and worker on {}",
            on(placement)
        ),
        note: "The paper's interrupt rate rises with the block size, to 6450/s at its best block; a rate of one notification a completion cannot, once computing takes longer.".to_owned(),
        x: block_axis(),
        y: Axis {
            label: "notifications".to_owned(),
            unit: "1/s".to_owned(),
            scale: Scale::Log10,
        },
        places: Vec::new(),
        series,
        command: context.command.to_owned(),
    })
}

fn notified(context: &Context<'_>, line: (Placement, Kind), arm: Arm) -> Option<trial::Series> {
    let name = format!("{}, {}", what(line.1), arm);
    context.series(line, arm, name, |_, window| window.notifications_per_s(0))
}
