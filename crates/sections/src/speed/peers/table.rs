//! The table: every algorithm and size, every arm, and where we lose.

use trial::{Cell as Entry, Column, Table};

use crate::speed::peers::arm::Arm;
use crate::speed::peers::config::Config;
use crate::speed::peers::findings::{CEILING_TOLERANCE, best_peer, ceiling_share};
use crate::speed::peers::grid::Peers;
use crate::speed::peers::invocation::invocation;
use crate::speed::peers::measure::{Results, RowResult};
use crate::speed::peers::points::is_valid;
use crate::speed::peers::schedule::Schedule;
use kit::words::size;
use kit::words::what;

const NOTE: &str = "Medians: MB/s (10^6 bytes), of public keys requests/s. One worker core; what is in flight fits half of its L2. ÷ peer: the engine over the best peer; ÷ ceiling: the own loop over it. Pairs: rounds that have both the engine and the best peer; fewer than 9 are no claim. Figures in brackets are not valid.";

pub(super) fn tables(
    config: &Config,
    peers: &Peers,
    schedule: &Schedule,
    results: &Results,
) -> Vec<Table> {
    let left = schedule.left_out();
    let note = if left.is_empty() {
        NOTE.to_owned()
    } else {
        format!("{NOTE} No time for: {}.", left.join("; "))
    };
    let groups = [
        (
            false,
            "Every algorithm beside its peers and the ceiling, MB/s",
        ),
        (true, "Public keys beside their peers, requests/s"),
    ];
    let table = |(is_public_key, title): (bool, &str)| {
        let rows = || {
            let rows = results.rows.iter();
            rows.filter(move |row| row.kind().algorithm.is_public_key() == is_public_key)
        };
        let arms: Vec<_> = Arm::ALL
            .into_iter()
            .filter(|&arm| rows().any(|row| row.arm(arm).is_some()))
            .collect();
        let of = |row: &RowResult| entries(peers, row, &arms);
        let entries: Vec<_> = rows()
            .filter(|row| row.arm(Arm::Engine).is_some())
            .map(of)
            .collect();
        (!entries.is_empty()).then(|| Table {
            title: title.to_owned(),
            note: note.clone(),
            columns: columns(&arms),
            rows: entries,
            command: invocation(&config.table, config.table.pairs),
        })
    };
    groups.into_iter().filter_map(table).collect()
}

fn columns(arms: &[Arm]) -> Vec<Column> {
    let column = |label: &str, unit: &str| Column {
        label: label.to_owned(),
        unit: unit.to_owned(),
    };
    let mut columns = vec![column("algorithm", ""), column("block", "")];
    columns.extend(arms.iter().map(|arm| column(arm.name(), "")));
    columns.extend([
        column("÷ peer", ""),
        column("pairs", ""),
        column("÷ ceiling", ""),
        column("we lose to", ""),
    ]);
    columns
}

fn entries(peers: &Peers, row: &RowResult, arms: &[Arm]) -> Vec<Entry> {
    let is_public_key = row.kind().algorithm.is_public_key();
    let scale = if is_public_key {
        1.0
    } else {
        row.block_bytes() as f64 / 1e6
    };
    let text = |text: String| Entry::Text(text);
    let figure = |&arm: &Arm| match row.rate(arm).map(|rate| rate * scale) {
        None => Entry::Empty,
        Some(value) if is_valid(peers, row, arm) => Entry::Number(value),
        Some(value) => text(format!("({value:.0})")),
    };
    let best = best_peer(peers, row);
    let lost = best.filter(|(_, ratio)| *ratio < 1.0);
    let is_sound = [Arm::OwnLoop, Arm::Ceiling]
        .iter()
        .all(|&arm| is_valid(peers, row, arm));
    let share = match ceiling_share(row) {
        None => Entry::Empty,
        Some(share) if is_sound && share <= 1.0 + CEILING_TOLERANCE => Entry::Number(share),
        // Nothing is faster than the ceiling: what looks so is not valid.
        Some(share) => text(format!("({share:.2})")),
    };
    let block = if is_public_key {
        Entry::Empty
    } else {
        text(size(row.block_bytes()))
    };
    let mut entries = vec![text(what(row.kind())), block];
    entries.extend(arms.iter().map(figure));
    entries.extend([
        best.map_or(Entry::Empty, |(_, ratio)| Entry::Number(ratio)),
        best.map_or(Entry::Empty, |(arm, _)| {
            Entry::Number(pairs(row, arm) as f64)
        }),
        share,
        lost.map_or(Entry::Empty, |(arm, _)| text(arm.name().to_owned())),
    ]);
    entries
}

/// Rounds that have both.
fn pairs(row: &RowResult, arm: Arm) -> usize {
    let (Some(engine), Some(peer)) = (row.arm(Arm::Engine), row.arm(arm)) else {
        return 0;
    };
    let rounds = engine.samples.keys();
    rounds
        .filter(|round| peer.samples.contains_key(round))
        .count()
}
