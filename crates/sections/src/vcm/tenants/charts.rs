//! Speed over the number of tenants, and shares kept.

use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::vcm::tenants::case::Case;
use crate::vcm::tenants::context::{Context, Kept, SHARE_KEPT};
use kit::load::rig::Window;
use kit::words::size;
use kit::words::what;

pub(super) fn charts(context: &Context<'_>, kept: &[Kept]) -> Vec<Chart> {
    equal(context)
        .into_iter()
        .chain(shares(context, kept))
        .collect()
}

/// Each one's speed, and the sum, over the number of equal tenants.
fn equal(context: &Context<'_>) -> Option<Chart> {
    let line = |name: &str, value: &dyn Fn(&Window, usize) -> f64| {
        let dots = context.config.tenants.iter().filter_map(|&tenants| {
            let case = Case::Equal(tenants);
            let series = context.series(case)?;
            let values = series.values(|window| value(window, tenants));
            let interval = context.interval(&values)?;
            Some(Dot {
                x: tenants as f64,
                y: interval.estimate,
                low: Some(interval.low),
                high: Some(interval.high),
                valid: context.verdict(case, series).is_valid(),
            })
        });
        Series {
            name: name.to_owned(),
            kind: SeriesKind::Measured,
            dots: dots.collect(),
        }
    };
    let speeds = |window: &Window, tenants: usize| {
        (0..tenants)
            .map(|seat| window.mb_per_s(seat))
            .collect::<Vec<_>>()
    };
    let series = vec![
        line("sum", &|window, tenants| {
            speeds(window, tenants).iter().sum()
        }),
        line("fastest", &|window, tenants| {
            speeds(window, tenants).into_iter().fold(0.0, f64::max)
        }),
        line("slowest", &|window, tenants| {
            speeds(window, tenants)
                .into_iter()
                .fold(f64::INFINITY, f64::min)
        }),
    ];
    (series[0].dots.len() > 1).then(|| Chart {
        title: "Speed of equal virtual functions on one worker".to_owned(),
        note: format!(
            "{}, {}, up to {} in flight each; clients on one core, the worker on another. Hollow: the worker was not busy all the time, or the trial was disturbed.",
            what(context.config.kind),
            size(context.config.block_bytes),
            context.config.depth
        ),
        x: Axis {
            label: "virtual functions".to_owned(),
            unit: String::new(),
            scale: Scale::Log2,
        },
        y: Axis {
            label: "speed".to_owned(),
            unit: "MB/s".to_owned(),
            scale: Scale::Log10,
        },
        places: Vec::new(),
        series,
        command: context.command.to_owned(),
    })
}

/// The share each victim keeps.
fn shares(context: &Context<'_>, kept: &[Kept]) -> Option<Chart> {
    let dot = |(place, one): (usize, &Kept)| Dot {
        x: place as f64,
        y: one.comparison.ratio,
        low: Some(one.comparison.low),
        high: Some(one.comparison.high),
        valid: one.doubt.is_none(),
    };
    let target = |place: usize| Dot {
        x: place as f64,
        y: SHARE_KEPT,
        low: None,
        high: None,
        valid: true,
    };
    let places = kept
        .iter()
        .map(|one| format!("weight {}, beside {}", one.weight, one.hostile.name()));
    (!kept.is_empty()).then(|| Chart {
        title: "Speed beside a hostile tenant over that beside a polite one".to_owned(),
        note: "Interleaved pairs; whiskers: 95% interval of the median. Above 1: the hostile one leaves some of its own share.".to_owned(),
        x: Axis {
            label: "tenant".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: "share kept".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        places: places.collect(),
        series: vec![
            Series {
                name: "share kept".to_owned(),
                kind: SeriesKind::Measured,
                dots: kept.iter().enumerate().map(dot).collect(),
            },
            Series {
                name: "target".to_owned(),
                kind: SeriesKind::Reference,
                dots: (0..kept.len()).map(target).collect(),
            },
        ],
        command: context.command.to_owned(),
    })
}
