//! The pictures: one row an algorithm, one mark an arm.

use trial::stats::median_interval;
use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::grid::Peers;
use crate::speed::peers::invocation::invocation;
use crate::speed::peers::measure::{Results, RowResult};
use crate::speed::peers::points::verdict;
use kit::words::what;

/// Every algorithm at the largest block it was measured at, then the sizes
/// below.
pub(super) fn charts(config: &Config, peers: &Peers, results: &Results) -> Vec<Chart> {
    let measured = || {
        let rows = results.rows.iter();
        rows.filter(|row| row.arm(Arm::Engine).is_some())
    };
    let is_largest = |row: &&RowResult| {
        !measured()
            .any(|other| other.kind() == row.kind() && other.block_bytes() > row.block_bytes())
    };
    let (largest, smaller): (Vec<_>, Vec<_>) = measured().partition(is_largest);
    let block = largest
        .iter()
        .filter(|row| !row.kind().algorithm.is_public_key())
        .map(|row| kit::words::size(row.block_bytes()))
        .next();
    let blocks = block.map_or_else(String::new, |size| {
        format!("Ciphers and hashes at {size}, public keys one operation a request. ")
    });
    // The same in both, so that an arm has one look.
    let arms: Vec<_> = Arm::ALL
        .into_iter()
        .filter(|&arm| measured().any(|row| row.arm(arm).is_some()))
        .collect();
    let main = picture(
        (config, peers),
        (
            "Every algorithm against its peers and the ceiling, on one core",
            &format!("{blocks}{NOTE}"),
        ),
        &arms,
        &largest,
        |row| what(row.kind()),
    );
    let small = picture(
        (config, peers),
        ("Smaller blocks against the peers, on one core", NOTE),
        &arms,
        &smaller,
        |row| row.row.name(),
    );
    main.into_iter().chain(small).collect()
}

const NOTE: &str = "Client and worker on cores of their own, in place, in flight no more than half of L2. DPDK works on the 8192 buffers that are its default. The ceiling is AES rounds on registers alone. A mark without a whisker is one round.";

fn picture(
    (config, peers): (&Config, &Peers),
    (title, note): (&str, &str),
    arms: &[Arm],
    rows: &[&RowResult],
    name: impl Fn(&RowResult) -> String,
) -> Option<Chart> {
    let series = |arm: Arm| {
        let dots: Vec<_> = rows
            .iter()
            .enumerate()
            .filter_map(|(place, row)| dot(peers, place, row, arm))
            .collect();
        let kind = if arm == Arm::Engine {
            SeriesKind::Measured
        } else {
            SeriesKind::Reference
        };
        Series {
            name: arm.label().to_owned(),
            kind,
            dots,
        }
    };
    let mut series: Vec<_> = arms.iter().map(|&arm| series(arm)).collect();
    // Those at the end change no other's look.
    while series.last().is_some_and(|last| last.dots.is_empty()) {
        series.pop();
    }
    (!rows.is_empty() && !series.is_empty()).then(|| Chart {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis {
            label: "algorithm".to_owned(),
            unit: String::new(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: "speed".to_owned(),
            unit: "requests/s".to_owned(),
            scale: Scale::Log10,
        },
        places: rows.iter().map(|row| name(row)).collect(),
        series,
        command: invocation(&config.table, config.table.pairs),
    })
}

fn dot(peers: &Peers, place: usize, row: &RowResult, arm: Arm) -> Option<Dot> {
    let series = row.arm(arm)?;
    let values = series.values(|sample| sample.requests_per_s);
    let interval = median_interval(&values).ok()?;
    let is_spread = values.len() > 1;
    Some(Dot {
        x: place as f64,
        y: interval.estimate,
        low: is_spread.then_some(interval.low),
        high: is_spread.then_some(interval.high),
        valid: verdict(peers, row, arm, series).is_valid(),
    })
}
