//! Charts of the section: the paper's figures 8 and 9, and everyone's share of
//! the oracle, which is figure 10 too.

use crypto::Kind;
use trial::stats::median_interval;
use trial::{Axis, Chart, Comparison, Dot, Scale, Series, SeriesKind};

use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::paper::published;
use crate::vcm::controllers::results::{Measured, Results};
use crate::vcm::controllers::section::command;
use kit::drawing::{block_axis, where_};
use kit::load::rig::Window;
use kit::place::Placement;
use kit::words::what;

pub(super) fn charts(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Chart> {
    let mut charts: Vec<_> = shares(config, results, ratios).into_iter().collect();
    for &placement in &config.placements {
        for &kind in &config.kinds {
            let here: Vec<_> = spots(results, placement, kind).collect();
            if here.len() > 1 {
                charts.push(by_size(config, results, &here, &SPEED));
                charts.push(by_size(config, results, &here, &NOTIFICATIONS));
            }
        }
    }
    charts
}

/// Spots with sizes, one kind in one placement.
fn spots(results: &Results, placement: Placement, kind: Kind) -> impl Iterator<Item = &Measured> {
    results.spots.iter().filter(move |measured| {
        let spot = &measured.spot;
        spot.placement == placement && spot.kind == kind && !spot.is_public()
    })
}

/// What a chart by block size shows.
struct Shown {
    title: &'static str,
    label: &'static str,
    unit: &'static str,
    value: fn(&Measured, &Window) -> f64,
}

const SPEED: Shown = Shown {
    title: "speed",
    label: "speed",
    unit: "MB/s",
    value: |measured, window| window.requests_per_s(0) * measured.block_bytes as f64 / 1e6,
};
const NOTIFICATIONS: Shown = Shown {
    title: "notifications",
    label: "notifications",
    unit: "1/s",
    value: |_, window| window.notifications_per_s(0),
};

fn by_size(config: &Config, results: &Results, spots: &[&Measured], shown: &Shown) -> Chart {
    let first = spots[0];
    let contenders = first.contenders.iter().map(|(contender, _)| *contender);
    let line = |contender: Contender| Series {
        name: contender.to_string(),
        kind: kind(contender),
        dots: spots
            .iter()
            .filter_map(|measured| dot(config, results, (measured, contender), shown))
            .collect(),
    };
    let spot = &first.spot;
    let figure = published(spot.kind.algorithm).map_or_else(String::new, |published| {
        format!(
            " The paper's figure {}: {}.",
            published.figure, published.caption
        )
    });
    let most = spots.iter().map(|measured| measured.spot.depth).max();
    Chart {
        title: format!(
            "{}: {} by block size, {}",
            what(spot.kind),
            shown.title,
            where_(spot.placement)
        ),
        note: format!(
            "Up to {} in flight, fewer where half of L2 would not hold them. Whiskers: 95% interval of the median.{figure}",
            most.unwrap_or(0)
        ),
        x: block_axis(),
        y: Axis {
            label: shown.label.to_owned(),
            unit: shown.unit.to_owned(),
            scale: Scale::Log10,
        },
        places: Vec::new(),
        series: contenders.map(line).collect(),
        command: command(&config.table),
    }
}

fn kind(contender: Contender) -> SeriesKind {
    match contender {
        Contender::Oracle | Contender::Uncapped => SeriesKind::Reference,
        Contender::Armed | Contender::Controlled(_) => SeriesKind::Measured,
    }
}

fn dot(
    config: &Config,
    results: &Results,
    (measured, contender): (&Measured, Contender),
    shown: &Shown,
) -> Option<Dot> {
    let series = measured.series(contender)?;
    let values = series.values(|window| (shown.value)(measured, window));
    let interval = median_interval(&values, config.seed).ok()?;
    let is_spread = values.len() > 1;
    Some(Dot {
        x: measured.block_bytes as f64,
        y: interval.estimate,
        low: is_spread.then_some(interval.low),
        high: is_spread.then_some(interval.high),
        valid: results.is_valid(measured, contender),
    })
}

/// Everyone's share of the oracle, a row a spot.
fn shares(config: &Config, results: &Results, ratios: &[Comparison]) -> Option<Chart> {
    let first = results.spots.first()?;
    let contenders = first.contenders.iter().map(|(contender, _)| *contender);
    let line = |contender: Contender| {
        let dots = results.spots.iter().enumerate();
        let dots: Vec<_> = dots
            .filter_map(|(place, measured)| {
                share_dot(config, results, (place, measured, contender), ratios)
            })
            .collect();
        Series {
            name: contender.to_string(),
            kind: kind(contender),
            dots,
        }
    };
    let series: Vec<_> = contenders
        .filter(|contender| *contender != Contender::Oracle)
        .map(line)
        .filter(|series| !series.dots.is_empty())
        .collect();
    (!series.is_empty()).then(|| Chart {
        title: "Everyone's share of the best fixed setting".to_owned(),
        note: "1 is the oracle: the best of the fixed settings, found in short trials and measured again beside the others. Whiskers: 95% interval of the median of paired ratios.".to_owned(),
        x: Axis {
            label: "place".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: "share of the oracle".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        places: results.spots.iter().map(|measured| measured.spot.label()).collect(),
        series,
        command: command(&config.table),
    })
}

fn share_dot(
    config: &Config,
    results: &Results,
    (place, measured, contender): (usize, &Measured, Contender),
    ratios: &[Comparison],
) -> Option<Dot> {
    let oracle = Contender::Oracle;
    // That of no moderation is not among the section's own ratios.
    let own = crate::vcm::controllers::comparisons::find(ratios, measured, contender, oracle)
        .cloned()
        .or_else(|| {
            crate::vcm::controllers::comparisons::ratio(
                config,
                results,
                measured,
                (contender, oracle),
                None,
            )
        })?;
    let is_spread = own.pairs.len() > 1;
    Some(Dot {
        x: place as f64,
        y: own.ratio,
        low: is_spread.then_some(own.low),
        high: is_spread.then_some(own.high),
        valid: results.is_valid(measured, contender) && results.is_valid(measured, oracle),
    })
}
