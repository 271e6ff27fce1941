//! Tables of the section.

use trial::{Cell, Column, Comparison, Table};

use crate::vcm::controllers::comparisons::find;
use crate::vcm::controllers::config::Config;
use crate::vcm::controllers::contender::Contender;
use crate::vcm::controllers::fixed::label;
use crate::vcm::controllers::paper::{published, rsa_piece_bytes};
use crate::vcm::controllers::results::{Measured, Results};
use crate::vcm::controllers::section::command;
use kit::words::size;
use kit::words::what;

pub(super) fn tables(config: &Config, results: &Results, ratios: &[Comparison]) -> Vec<Table> {
    let measured = results.spots.iter().any(|measured| {
        measured
            .contenders
            .iter()
            .any(|(_, series)| !series.trials.is_empty())
    });
    let tables = [
        measured.then(|| everyone(config, results, ratios)),
        beside(config, results),
        rsa(config, results),
        scouted(config, results),
    ];
    tables.into_iter().flatten().collect()
}

pub(crate) fn column(label: &str, unit: &str) -> Column {
    Column {
        label: label.to_owned(),
        unit: unit.to_owned(),
    }
}

pub(crate) fn number(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, Cell::Number)
}

pub(crate) fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A ratio with its interval: `0.98 (0.96–1.01)`.
pub(crate) fn with_interval(ratio: &Comparison) -> String {
    let Comparison {
        ratio, low, high, ..
    } = ratio;
    format!("{ratio:.2} ({low:.2}–{high:.2})")
}

fn everyone(config: &Config, results: &Results, ratios: &[Comparison]) -> Table {
    let rows = results.spots.iter().flat_map(|measured| {
        let contenders = measured.contenders.iter();
        contenders.filter_map(|(one, _)| row(measured, *one, ratios))
    });
    Table {
        title: "Every contender at every place".to_owned(),
        note: "Medians over the rounds; MB/s are 10^6 bytes a second. Shares are medians of interleaved pairs with their 95% interval. The latency is from submission to reaping, of all that are in flight. Controllers whose sources look once a second look more often here, see the findings.".to_owned(),
        columns: vec![
            column("place", ""),
            column("arm", ""),
            column("speed", "MB/s"),
            column("requests", "1/s"),
            column("notifications", "1/s"),
            column("held back", "1/s"),
            column("client", "% of a core"),
            column("worker", "% of a core"),
            column("p99", "µs"),
            column("of the oracle", ""),
            column("of uncapped", ""),
        ],
        rows: rows.collect(),
        command: command(&config.table),
    }
}

fn row(measured: &Measured, contender: Contender, ratios: &[Comparison]) -> Option<Vec<Cell>> {
    let series = measured.series(contender)?;
    let share = |reference| {
        find(ratios, measured, contender, reference)
            .map_or(Cell::Empty, |ratio| text(with_interval(ratio)))
    };
    let name = match (contender, measured.oracle()) {
        (Contender::Oracle, Some(oracle)) => format!("oracle: {}", label(&oracle)),
        _ => contender.to_string(),
    };
    let p99_us = series.latency().quantile_ns(0.99).map(|ns| ns as f64 / 1e3);
    Some(vec![
        text(measured.spot.label()),
        text(name),
        number(measured.mb_per_s(contender)),
        number(measured.requests_per_s(contender)),
        number(measured.notifications_per_s(contender)),
        number(series.median(|window| window.tenants[0].counters.held as f64 / window.seconds)),
        number(series.median(|window| window.client_cpus(0) * 100.0)),
        number(series.median(|window| window.worker_cpus() * 100.0)),
        number(p99_us),
        share(Contender::Oracle),
        share(Contender::Uncapped),
    ])
}

/// Each figure of the paper beside ours.
fn beside(config: &Config, results: &Results) -> Option<Table> {
    let mut rows = Vec::new();
    for &placement in &config.placements {
        for &kind in &config.kinds {
            let here: Vec<_> = results
                .spots
                .iter()
                .filter(|measured| measured.spot.placement == placement)
                .filter(|measured| measured.spot.kind == kind && !measured.spot.is_public())
                .collect();
            rows.extend(figure(&here));
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: "The paper's figures 8 and 9 beside ours".to_owned(),
        note: format!(
            "Theirs: {}. Interrupts there, notifications (eventfd wake-ups of a sleeping or working client) here.",
            model::paper::published::TEST_BED
        ),
        columns: vec![
            column("figure", ""),
            column("fastest block, paper", ""),
            column("fastest block, uncapped here", ""),
            column("interrupts there, paper", "1/s"),
            column("notifications there, uncapped", "1/s"),
            column("notifications there, oracle", "1/s"),
            column("speed kept, paper", "MB/s"),
            column("at the largest block, uncapped", "MB/s"),
            column("at the largest block, oracle", "MB/s"),
            column("falls with size, uncapped", ""),
        ],
        rows,
        command: command(&config.table),
    })
}

/// Of several sizes of a kind that the paper has.
fn figure(here: &[&Measured]) -> Option<Vec<Cell>> {
    let uncapped = |measured: &&Measured| measured.mb_per_s(Contender::Uncapped);
    let measured: Vec<_> = here
        .iter()
        .copied()
        .filter(|one| uncapped(one).is_some())
        .collect();
    let (_, largest) = (measured.first()?, measured.last()?);
    let published = published(largest.spot.kind.algorithm).filter(|_| measured.len() > 1)?;
    let best = measured.iter().max_by(|a, b| {
        uncapped(a)
            .unwrap_or(0.0)
            .total_cmp(&uncapped(b).unwrap_or(0.0))
    })?;
    let falls = if best.block_bytes == largest.block_bytes {
        "no".to_owned()
    } else {
        let left = uncapped(largest)? / uncapped(best)?;
        format!("to {:.0}% at {}", left * 100.0, size(largest.block_bytes))
    };
    let peak = published.peak_block_bytes.map(|bytes| size(bytes as usize));
    Some(vec![
        text(format!("{}, {}", published.figure, what(largest.spot.kind))),
        peak.map_or(Cell::Empty, text),
        text(size(best.block_bytes)),
        number(published.best_interrupts_per_s),
        number(best.notifications_per_s(Contender::Uncapped)),
        number(best.notifications_per_s(Contender::Oracle)),
        number(published.kept_mb_per_s),
        number(uncapped(largest)),
        number(largest.mb_per_s(Contender::Oracle)),
        text(falls),
    ])
}

/// Figure 10: RSA over data of 512 to 4096 bytes, which a key takes in pieces.
fn rsa(config: &Config, results: &Results) -> Option<Table> {
    let encrypts = |measured: &&Measured| {
        measured.spot.is_public() && measured.spot.kind.operation == crypto::Operation::Encrypt
    };
    let rows = results.spots.iter().filter(encrypts).flat_map(|measured| {
        let data = model::paper::published::RSA_DATA_BYTES.into_iter();
        data.filter_map(|bytes| rsa_row(measured, bytes as usize))
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: "The paper's figure 10: data under RSA".to_owned(),
        note: format!(
            "The paper does not say how RSA takes more bytes than its key has; here data is encrypted in pieces (PKCS#1 v1.5: modulus less 11 bytes), each a request, so that these follow from the measured requests/s. Theirs: {}.",
            model::paper::published::RSA.caption
        ),
        columns: vec![
            column("key", ""),
            column("data", "bytes"),
            column("requests each", ""),
            column("data/s, uncapped", "1/s"),
            column("data/s, oracle", "1/s"),
            column("speed, uncapped", "MB/s"),
            column("speed, oracle", "MB/s"),
            column("notifications, uncapped", "1/s"),
        ],
        rows,
        command: command(&config.table),
    })
}

fn rsa_row(measured: &Measured, data_bytes: usize) -> Option<Vec<Cell>> {
    let algorithm = measured.spot.kind.algorithm;
    let pieces = data_bytes.div_ceil(rsa_piece_bytes(algorithm.modulus_bytes())) as f64;
    let data_per_s = |contender| Some(measured.requests_per_s(contender)? / pieces);
    let speed = |contender| Some(data_per_s(contender)? * data_bytes as f64 / 1e6);
    let (uncapped, oracle) = (Contender::Uncapped, Contender::Oracle);
    Some(vec![
        text(algorithm.name()),
        Cell::Number(data_bytes as f64),
        Cell::Number(pieces),
        number(Some(data_per_s(uncapped)?)),
        number(data_per_s(oracle)),
        number(speed(uncapped)),
        number(speed(oracle)),
        number(measured.notifications_per_s(uncapped)),
    ])
}

/// How the oracle was found.
fn scouted(config: &Config, results: &Results) -> Option<Table> {
    let rows = results.spots.iter().filter_map(|measured| {
        let (oracle, rate) = measured.scouted.first()?;
        let again = measured.requests_per_s(Contender::Oracle);
        let rest = measured.scouted.iter().skip(1).take(3);
        let rest: Vec<_> = rest
            .map(|(arm, other)| format!("{} {:.2}", label(arm), other / rate))
            .collect();
        let last = measured.scouted.last()?;
        Some(vec![
            text(measured.spot.label()),
            text(label(oracle)),
            number(Some(*rate)),
            number(again),
            text(rest.join("; ")),
            text(format!("{} {:.2}", label(&last.0), last.1 / rate)),
        ])
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: "How the oracle was found".to_owned(),
        note: "Short trials of every fixed setting, the best four again: only to choose. What is best of many by chance is less when measured again; only that second figure is compared with anything.".to_owned(),
        columns: vec![
            column("place", ""),
            column("best setting", ""),
            column("when scouted", "requests/s"),
            column("measured again", "requests/s"),
            column("next, share of it", ""),
            column("worst", ""),
        ],
        rows,
        command: command(&config.table),
    })
}
