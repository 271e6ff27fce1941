//! Throughput over frame size, as the source's figures draw it.

use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::router::throughput::case::Case;
use crate::router::throughput::config::Router;
use crate::router::throughput::context::Context;
use kit::drawing::dot;

pub(crate) fn charts(context: &Context<'_>) -> Vec<Chart> {
    [share(context), loss(context)]
        .into_iter()
        .flatten()
        .collect()
}

fn share(context: &Context<'_>) -> Option<Chart> {
    let line = |router: &Router| {
        let cases = context.measured().filter(|case| case.router == *router);
        let dots: Vec<_> = cases.filter_map(|case| share_dot(context, case)).collect();
        (!dots.is_empty()).then(|| Series {
            name: router.what(),
            kind: SeriesKind::Measured,
            dots: rising(dots),
        })
    };
    let series: Vec<_> = context.config().routers.iter().filter_map(line).collect();
    (!series.is_empty()).then(|| Chart {
        title: "Throughput as a share of what the links carry, by frame size".to_owned(),
        note: context.note(),
        x: Axis {
            label: "frame".to_owned(),
            unit: "bytes".to_owned(),
            scale: Scale::Log2,
        },
        y: percent("of the links"),
        places: Vec::new(),
        series,
        command: context.conditions.command.to_owned(),
    })
}

fn share_dot(context: &Context<'_>, case: &Case) -> Option<Dot> {
    let rates = case.no_drop.rates();
    let shares: Vec<_> = rates
        .iter()
        .map(|rate| context.percent_of_line(*rate, case.size))
        .collect();
    let is_valid = case.no_drop.verdict().is_valid();
    dot(case.size.mean_bytes(), &shares, is_valid)
}

fn loss(context: &Context<'_>) -> Option<Chart> {
    let line = |case: &Case| {
        let dots = case.frame_loss.iter().map(|point| Dot {
            x: point.share * 100.0,
            y: point.loss_ratio * 100.0,
            low: None,
            high: None,
            valid: point.verdict.is_valid(),
        });
        let dots: Vec<_> = dots.collect();
        (!dots.is_empty()).then(|| Series {
            name: case.label(),
            kind: SeriesKind::Measured,
            dots: rising(dots),
        })
    };
    let series: Vec<_> = context.measured().filter_map(line).collect();
    (!series.is_empty()).then(|| Chart {
        title: "Frame loss by rate".to_owned(),
        note: context.note(),
        x: percent("rate, of the links"),
        y: percent("frames lost"),
        places: Vec::new(),
        series,
        command: context.conditions.command.to_owned(),
    })
}

fn percent(label: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: "%".to_owned(),
        scale: Scale::Linear,
    }
}

fn rising(mut dots: Vec<Dot>) -> Vec<Dot> {
    dots.sort_by(|a, b| a.x.total_cmp(&b.x));
    dots
}
