//! Charts of the section.

use crypto::Kind;
use kit::drawing::{block_axis, where_};
use trial::stats::median_interval;
use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::speed::config::Config;
use crate::speed::invocation::{invocation, with_placement};
use crate::speed::measure::{Measured, Results};
use crate::speed::points::verdict;
use kit::host::Host;
use kit::load::fresh::arm::{Arm, Mode, Role};
use kit::place::Placement;
use kit::words::size;
use kit::words::what;

/// The arms of a speed chart, with their names in the legend; those that both
/// placements have come first, so that they look the same in both.
const SPEED_ARMS: [(Arm, &str); 7] = [
    (Arm::ASYNC, "async"),
    (Arm::SYNC, "sync"),
    (Arm::BATCH, "batch"),
    (Arm::EACH, "async, notify each"),
    (Arm::POLLED, "async, polled"),
    (Arm::Raw, "back-end's own loop"),
    (Arm::OpenSsl, "openssl speed"),
];

/// Speed against block size for each kind, then the ratios, then the ladder.
pub(super) fn charts(config: &Config, host: &Host, results: &Results) -> Vec<Chart> {
    let placements = [Placement::Split, Placement::Shared];
    let mut charts = Vec::new();
    for placement in placements {
        charts.extend(
            config
                .kinds
                .iter()
                .filter_map(|&kind| speed((config, host), results, placement, kind)),
        );
        charts.extend(reference_ratio((config, host), results, placement));
    }
    charts.extend(ladder(config, host, results));
    charts.retain(|chart| chart.series.iter().any(|series| series.dots.len() > 1));
    charts
}

fn cells(results: &Results, placement: Placement, kind: Kind) -> impl Iterator<Item = &Measured> {
    let same = move |measured: &&Measured| {
        measured.cell.placement == placement
            && measured.cell.kind == kind
            && measured.cell.role == Role::Grid
    };
    results.cells.iter().filter(same)
}

fn speed(
    (config, host): (&Config, &Host),
    results: &Results,
    placement: Placement,
    kind: Kind,
) -> Option<Chart> {
    let policies = config
        .policies
        .iter()
        .flat_map(|&policy| Mode::ALL.map(|mode| Arm::Lane(mode, policy)));
    let chosen: Vec<_> = policies
        .filter(|arm| !SPEED_ARMS.iter().any(|(own, _)| own == arm))
        .map(|arm| (arm, arm.to_string()))
        .collect();
    let usual = SPEED_ARMS.iter().map(|&(arm, name)| (arm, name.to_owned()));
    let line = |(arm, name): (Arm, String)| {
        let dots: Vec<_> = cells(results, placement, kind)
            .filter_map(|measured| dot(host, measured, arm))
            .collect();
        let is_reference = matches!(arm, Arm::Raw | Arm::OpenSsl);
        let kind = if is_reference {
            SeriesKind::Reference
        } else {
            SeriesKind::Measured
        };
        (!dots.is_empty()).then_some(Series { name, kind, dots })
    };
    let series: Vec<_> = usual.chain(chosen).filter_map(line).collect();
    let depths = depths(cells(results, placement, kind));
    (!series.is_empty()).then(|| Chart {
        title: format!("{}, {}", what(kind), where_(placement)),
        note: format!(
            "One worker core, in place, {depths} in flight. Whiskers: 95% interval of the median."
        ),
        x: block_axis(),
        y: Axis {
            label: "speed".to_owned(),
            unit: "MB/s".to_owned(),
            scale: Scale::Log10,
        },
        places: Vec::new(),
        series,
        command: invocation(
            &config.table,
            &[
                ("--algorithm", kind.algorithm.to_string()),
                ("--operation", kind.operation.to_string()),
                ("--placement", placement.name().to_owned()),
            ],
        ),
    })
}

fn depths<'a>(cells: impl Iterator<Item = &'a Measured>) -> String {
    let mut depths: Vec<_> = cells.map(|measured| measured.cell.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    match (depths.first(), depths.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} requests"),
        (Some(only), _) => format!("{only} requests"),
        _ => "no requests".to_owned(),
    }
}

fn dot(host: &Host, measured: &Measured, arm: Arm) -> Option<Dot> {
    let block = measured.block_bytes as f64;
    let series = measured.arm(arm)?;
    let values = series.values(|sample| sample.requests_per_s * block / 1e6);
    let interval = median_interval(&values).ok()?;
    let is_sound = values.len() > 1;
    Some(Dot {
        x: measured.cell.block_bytes as f64,
        y: interval.estimate,
        low: is_sound.then_some(interval.low),
        high: is_sound.then_some(interval.high),
        valid: verdict(host, measured, arm, series).is_valid(),
    })
}

/// Speed as a share of the best that was measured at that size.
fn reference_ratio(
    (config, host): (&Config, &Host),
    results: &Results,
    placement: Placement,
) -> Vec<Chart> {
    let of = |arm: Arm, kind: Kind| -> Vec<Dot> {
        let share = |measured: &Measured| {
            let reference = reference(measured)?;
            Some(Dot {
                x: measured.cell.block_bytes as f64,
                y: measured.mb_per_s(arm)? / reference,
                low: None,
                high: None,
                valid: verdict(host, measured, arm, measured.arm(arm)?).is_valid(),
            })
        };
        cells(results, placement, kind).filter_map(share).collect()
    };
    let chart = |arm: Arm, title: &str| {
        let series: Vec<_> = config
            .kinds
            .iter()
            .map(|&kind| Series {
                name: what(kind),
                kind: SeriesKind::Measured,
                dots: of(arm, kind),
            })
            .filter(|series| !series.dots.is_empty())
            .collect();
        (!series.is_empty()).then(|| Chart {
            title: format!("{title}, {}", where_(placement)),
            note: "1 is the back-end's own loop on a core of its own, or, on a shared core, the best that was measured.".to_owned(),
            x: block_axis(),
            y: Axis { label: "share of the reference".to_owned(), unit: String::new(), scale: Scale::Linear },
            places: Vec::new(),
            series,
            command: with_placement(&config.table, placement),
        })
    };
    let titles = [
        (Arm::SYNC, "What a client that waits for each request gets"),
        (
            Arm::ASYNC,
            "What a client that keeps requests in flight gets",
        ),
    ];
    titles
        .into_iter()
        .filter_map(|(arm, title)| chart(arm, title))
        .collect()
}

/// What the core can do at this point: its own loop, or the best arm.
fn reference(measured: &Measured) -> Option<f64> {
    measured.mb_per_s(Arm::Raw).or_else(|| {
        let arms = measured
            .arms
            .iter()
            .filter(|(arm, _)| matches!(arm, Arm::Lane(..)));
        arms.filter_map(|(arm, _)| measured.mb_per_s(*arm))
            .reduce(f64::max)
    })
}

fn ladder(config: &Config, host: &Host, results: &Results) -> Option<Chart> {
    let rungs = results.rungs();
    let first = rungs.first()?;
    let dot = |measured: &&Measured| {
        let dot = dot(host, measured, Arm::ASYNC)?;
        Some(Dot {
            x: measured.cell.depth as f64,
            ..dot
        })
    };
    Some(Chart {
        title: format!(
            "{}: how many requests in flight are enough at {}",
            first.cell.kind.algorithm,
            size(first.cell.block_bytes)
        ),
        note: "Asynchronous, armed notifications.".to_owned(),
        x: Axis {
            label: "requests in flight".to_owned(),
            unit: String::new(),
            scale: Scale::Log2,
        },
        y: Axis {
            label: "speed".to_owned(),
            unit: "MB/s".to_owned(),
            scale: Scale::Linear,
        },
        places: Vec::new(),
        series: vec![Series {
            name: "async".to_owned(),
            kind: SeriesKind::Measured,
            dots: rungs.iter().filter_map(dot).collect(),
        }],
        command: invocation(
            &config.table,
            &[
                ("--algorithm", first.cell.kind.algorithm.to_string()),
                ("--size", first.cell.block_bytes.to_string()),
                ("--mode", "async".to_owned()),
                ("--depth", "1,2,4,8,16,32,64".to_owned()),
            ],
        ),
    })
}
