//! Tables of the section.

use trial::stats::median;
use trial::{Cell, Comparison, Table};

use crate::vcm::shifting::comparisons::{ALL_PHASES, find, subject};
use crate::vcm::shifting::config::Config;
use crate::vcm::shifting::recovery::{RECOVERED, STAYS_S};
use crate::vcm::shifting::results::{Results, notifications_per_s};
use crate::vcm::shifting::section::command;
use kit::controllers::contender::Contender;
use kit::controllers::departures;
use kit::controllers::fixed::label;
use kit::drawing::{column, number, text};

pub(super) fn tables(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Table> {
    let mut tables = vec![shares(config, results, ratios)];
    tables.extend(changes(config, results));
    tables
}

/// A row a phase, a column a contender: shares of the phase's oracle.
fn shares(config: &Config, results: &Results, ratios: &[Comparison]) -> Table {
    let contenders = results.contenders();
    let others: Vec<_> = contenders
        .into_iter()
        .filter(|contender| !matches!(contender, Contender::Oracle | Contender::Uncapped))
        .collect();
    let share = |subject: &str, contender: Contender| {
        let pair = (contender, Contender::Oracle);
        find(ratios, subject, pair).map_or(Cell::Empty, share_text)
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (phase, fixed) in results.phases.iter().enumerate() {
        let oracle = fixed.scouted.first().map(|(arm, _)| text(label(arm)));
        let subject = subject(results, phase);
        let gain = find(ratios, &subject, (Contender::Oracle, Contender::Uncapped));
        let mut row = vec![
            text(&subject),
            oracle.unwrap_or(Cell::Empty),
            number(results.mb_per_s(phase, Contender::Oracle)),
            gain.map_or(Cell::Empty, share_text),
        ];
        row.extend(others.iter().map(|one| share(&subject, *one)));
        rows.push(row);
    }
    let gain = find(ratios, ALL_PHASES, (Contender::Oracle, Contender::Uncapped));
    let mut last = vec![
        text("geometric mean"),
        Cell::Empty,
        Cell::Empty,
        gain.map_or(Cell::Empty, share_text),
    ];
    last.extend(others.iter().map(|one| share(ALL_PHASES, *one)));
    rows.push(last);
    let mut columns = vec![
        column("phase", ""),
        column("best fixed setting", ""),
        column("oracle", "MB/s"),
        column("oracle / uncapped", ""),
    ];
    columns.extend(
        others
            .iter()
            .map(|one| column(one.in_words(), "of the oracle")),
    );
    Table {
        title: "Each phase's best, and everyone's share of it".to_owned(),
        note: "A controller's share is of the whole phase, its beginning included; armed has trials of its own. Where a round is one there is no interval.".to_owned(),
        columns,
        rows,
        command: command(&config.table),
    }
}

/// A ratio with its interval: `0.98 (0.96–1.01)`.
pub(super) fn with_interval(ratio: &Comparison) -> String {
    let Comparison {
        ratio, low, high, ..
    } = ratio;
    format!("{ratio:.2} ({low:.2}–{high:.2})")
}

fn share_text(ratio: &Comparison) -> Cell {
    text(if ratio.pairs.len() > 1 {
        with_interval(ratio)
    } else {
        format!("{:.2}", ratio.ratio)
    })
}

/// How soon each controller is there, a row a phase and controller.
fn changes(config: &Config, results: &Results) -> Option<Table> {
    let mut rows = Vec::new();
    for phase in 1..results.phases.len() {
        for (name, runs) in results.runs.iter().filter(|(_, runs)| !runs.is_empty()) {
            rows.push(change(results, phase, (name, runs.len())));
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: "How soon after each change".to_owned(),
        note: format!(
            "Recovered: the first window ({:.0} ms) from which on the speed stays for {:.0} ms at {RECOVERED} of what it is in the later half of the phase, a single window aside; or of the oracle's speed in that round. Later windows below are trials of other settings, or chance. Medians over the rounds, and the worst.{}",
            config.window_s * 1e3,
            STAYS_S * 1e3,
            departures(config.controllers.iter().copied())
        ),
        columns: vec![
            column("phase", ""),
            column("controller", ""),
            column("speed of the whole phase", "MB/s"),
            column("of its later half", "MB/s"),
            column("recovered after", "ms"),
            column("worst", "ms"),
            column("at the oracle's after", "ms"),
            column("runs that reached it", ""),
            column("windows below afterwards", "%"),
            column("notifications", "1/s"),
            column("held back", "1/s"),
            column("cap at its end", "1/s"),
        ],
        rows,
        command: command(&config.table),
    })
}

fn change(results: &Results, phase: usize, (name, runs): (&'static str, usize)) -> Vec<Cell> {
    let contender = Contender::Controlled(name);
    let recoveries = results.recoveries_ms(phase, name);
    let to_oracle = results.to_oracle_ms(phase, name);
    let below = results.below_ratios(phase, name);
    let series = results.series(phase, contender);
    let of = |value: fn(&kit::load::rig::Window) -> f64| {
        number(series.as_ref().and_then(|series| series.median(value)))
    };
    let cap = series.as_ref().and_then(|series| {
        let last = series.trials.values().next_back()?;
        last.window.tenants.first()?.settings.cap_per_s()
    });
    vec![
        text(subject(results, phase)),
        text(name),
        number(results.mb_per_s(phase, contender)),
        number(median(&results.settled(phase, name))),
        number(median(&recoveries)),
        number(recoveries.iter().copied().reduce(f64::max)),
        number(median(&to_oracle)),
        text(format!("{} of {runs}", to_oracle.len())),
        number(median(&below).map(|ratio| ratio * 100.0)),
        of(notifications_per_s),
        of(|window| {
            let held = window.tenants.iter().map(|share| share.counters.held);
            held.sum::<u64>() as f64 / window.seconds
        }),
        number(cap),
    ]
}
