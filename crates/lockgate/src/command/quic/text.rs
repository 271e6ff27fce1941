//! What came of a capture, on one page.

use std::fmt::Write;

use quic::trace::{ConnectionSummary, Side, StreamDigest, Traced};

/// Rows of any one list.
const ROWS_MAX: usize = 12;

/// The answer first: how many are open, and why the others are not.
pub(super) fn text(traced: &Traced) -> String {
    let summary = &traced.summary;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} QUIC packets: {} opened, {} without protection, {} not opened",
        summary.packets, summary.opened, summary.unprotected, summary.not_opened
    );
    for (kind, count) in &summary.kinds {
        let opened = match kind.is_protected() {
            true => format!("{} opened", count.opened),
            false => "nothing to open".to_owned(),
        };
        let _ = writeln!(text, "  {:<20} {:>8}  {opened}", kind.name(), count.packets);
    }
    if summary.not_opened > 0 {
        text.push_str("Not opened:\n");
        for (reason, count) in &summary.reasons {
            let _ = writeln!(text, "  {count:>8}  {reason}");
        }
    }
    let mut list = |name: &str, rows: Vec<String>| {
        let left = rows.len().saturating_sub(ROWS_MAX);
        if rows.is_empty() {
            return;
        }
        let _ = writeln!(text, "{name}:");
        for row in rows.iter().take(ROWS_MAX) {
            let _ = writeln!(text, "  {row}");
        }
        if left > 0 {
            let _ = writeln!(text, "  and {left} more: --export json=PATH has them");
        }
    };
    list(
        "Connections",
        summary.connections.iter().map(connection).collect(),
    );
    let streams = summary.connections.iter().flat_map(|own| &own.streams);
    list(
        "Streams, and the SHA-256 of what they carried",
        streams.map(stream).collect(),
    );
    list(
        "Frames of the capture that are no UDP datagrams",
        traced
            .skipped
            .counts()
            .map(|(why, count)| format!("{count:>8}  {why}"))
            .collect(),
    );
    text
}

fn connection(own: &ConnectionSummary) -> String {
    let suite = own.suite.map_or("suite not known", |suite| suite.name());
    let mut text = format!(
        "{}  {} to {}, {}, {suite}: {} packets, {} opened",
        own.id,
        own.client,
        own.server,
        own.version.name(),
        own.packets,
        own.opened
    );
    for (side, count) in Side::ALL.into_iter().zip(own.key_updates) {
        if count > 0 {
            let _ = write!(text, ", {count} key updates by the {}", side.name());
        }
    }
    text
}

fn stream(own: &StreamDigest) -> String {
    let state = match (own.is_whole, own.is_reset) {
        (true, _) => "",
        (false, true) => ", given up by its sender",
        (false, false) => ", incomplete",
    };
    format!(
        "{:>6}  {}  {} bytes from the {}{state}",
        own.id,
        own.sha256,
        own.bytes,
        own.from.name()
    )
}
