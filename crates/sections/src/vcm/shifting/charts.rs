//! Charts of the section: speed over time, and everyone's share of each
//! phase's best.

use trial::{Axis, Chart, Comparison, Dot, Scale, Series, SeriesKind};

use crate::vcm::shifting::comparisons::{find, subject};
use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::results::{Results, mb_per_s, notifications_per_s};
use crate::vcm::shifting::section::command;
use kit::controllers::contender::{Contender, main_ones};
use kit::controllers::departures;
use kit::load::rig::{Record, Window};

/// A mark is as long as so many windows.
const WINDOWS_A_DOT: usize = 2;

pub(super) fn charts(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Chart> {
    let charts = [
        over_time(config, results, &SPEED),
        over_time(config, results, &NOTIFICATIONS),
        shares(config, results, ratios),
    ];
    charts.into_iter().flatten().collect()
}

struct Shown {
    title: &'static str,
    label: &'static str,
    unit: &'static str,
    value: fn(&Window) -> f64,
}

const SPEED: Shown = Shown {
    title: "Speed while the load changes",
    label: "speed of all tenants",
    unit: "MB/s",
    value: mb_per_s,
};
const NOTIFICATIONS: Shown = Shown {
    title: "Notifications while the load changes",
    label: "notifications of all tenants",
    unit: "1/s",
    value: notifications_per_s,
};

/// The main controllers' first runs, over the oracle of each phase.
fn over_time(config: &Config, results: &Results, shown: &Shown) -> Option<Chart> {
    let names: Vec<_> = results.runs.iter().map(|(name, _)| *name).collect();
    let mut chosen = main_ones(&names);
    if chosen.is_empty() {
        chosen = names;
    }
    let runs = results
        .runs
        .iter()
        .filter(|(name, _)| chosen.contains(name));
    let lines = runs.filter_map(|(name, runs)| {
        let record = runs.values().next()?;
        Some(Series {
            name: (*name).to_owned(),
            kind: SeriesKind::Measured,
            dots: dots(record, shown),
        })
    });
    let lines: Vec<_> = lines.collect();
    let first = results
        .runs
        .iter()
        .find_map(|(_, runs)| runs.values().next())?;
    let oracle = Series {
        name: "oracle".to_owned(),
        kind: SeriesKind::Reference,
        dots: steps(results, &starts(first), shown),
    };
    let phases: Vec<_> = (0..results.phases.len())
        .map(|phase| subject(results, phase))
        .collect();
    Some(Chart {
        title: shown.title.to_owned(),
        note: format!(
            "First round; a mark is {:.0} ms. The oracle is each phase's best fixed setting, measured on its own. {}.",
            config.window_s * 1e3 * WINDOWS_A_DOT as f64,
            phases.join("; ")
        ),
        x: Axis {
            label: "time".to_owned(),
            unit: "s".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: shown.label.to_owned(),
            unit: shown.unit.to_owned(),
            scale: Scale::Log10,
        },
        places: Vec::new(),
        series: [oracle].into_iter().chain(lines).collect(),
        command: command(&config.table),
    })
}

/// When each phase began, and how long it was, s.
fn starts(record: &Record) -> Vec<(f64, f64)> {
    let mut starts: Vec<(f64, f64)> = Vec::new();
    let mut now_s = 0.0;
    for window in &record.windows {
        if starts.len() <= window.phase {
            starts.push((now_s, 0.0));
        }
        if let Some((_, length)) = starts.last_mut() {
            *length += window.seconds;
        }
        now_s += window.seconds;
    }
    starts
}

fn dots(record: &Record, shown: &Shown) -> Vec<Dot> {
    let starts = starts(record);
    let mut dots = Vec::new();
    for (phase, (start_s, _)) in starts.iter().enumerate() {
        let here: Vec<_> = record
            .windows
            .iter()
            .filter(|window| window.phase == phase)
            .collect();
        for some in here.chunks(WINDOWS_A_DOT) {
            let merged = Window::merged(some.iter().copied()).expect("no chunk is empty");
            dots.push(Dot {
                x: start_s + merged.begin_s + merged.seconds / 2.0,
                y: (shown.value)(&merged),
                low: None,
                high: None,
                valid: true,
            });
        }
    }
    dots
}

/// A level from the beginning to the end of each phase.
fn steps(results: &Results, starts: &[(f64, f64)], shown: &Shown) -> Vec<Dot> {
    let levels = starts.iter().enumerate().filter_map(|(phase, span)| {
        let series = results.series(phase, Contender::Oracle)?;
        Some((
            span,
            series.median(shown.value)?,
            results.is_valid(phase, Contender::Oracle),
        ))
    });
    let ends = levels.flat_map(|((start_s, length_s), y, valid)| {
        // A little inside, so that two phases' ends are two marks.
        [start_s + 0.02 * length_s, start_s + 0.98 * length_s].map(|x| Dot {
            x,
            y,
            low: None,
            high: None,
            valid,
        })
    });
    ends.collect()
}

/// Everyone's share of each phase's oracle, a row a phase.
fn shares(config: &Config, results: &Results, ratios: &[Comparison]) -> Option<Chart> {
    let line = |contender: Contender| {
        let dot = |phase: usize| {
            let pair = (contender, Contender::Oracle);
            let own = find(ratios, &subject(results, phase), pair)?;
            let is_spread = own.pairs.len() > 1;
            Some(Dot {
                x: phase as f64,
                y: own.ratio,
                low: is_spread.then_some(own.low),
                high: is_spread.then_some(own.high),
                valid: results.is_valid(phase, contender)
                    && results.is_valid(phase, Contender::Oracle),
            })
        };
        Series {
            name: contender.to_string(),
            kind: match contender {
                Contender::Armed => SeriesKind::Reference,
                _ => SeriesKind::Measured,
            },
            dots: (0..results.phases.len()).filter_map(dot).collect(),
        }
    };
    let series: Vec<_> = results
        .contenders()
        .into_iter()
        .map(line)
        .filter(|series| !series.dots.is_empty())
        .collect();
    (!series.is_empty()).then(|| Chart {
        title: "Everyone's share of each phase's best fixed setting".to_owned(),
        note: format!(
            "1 is the phase's oracle, measured again beside the runs. A controller's figure is of the whole phase, its beginning included. Whiskers, where there is more than one round: 95% interval.{}",
            departures(config.controllers.iter().copied())
        ),
        x: Axis {
            label: "phase".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: "share of the oracle".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        places: (0..results.phases.len()).map(|phase| subject(results, phase)).collect(),
        series,
        command: command(&config.table),
    })
}
