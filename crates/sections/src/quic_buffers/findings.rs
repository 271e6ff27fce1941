//! What the numbers mean, beside the source's figure 9.

use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::transfers::{Congestion, Stack};
use kit::words::{file_size, joined, listed};
use trial::{Cell, Table};

use super::grid::{Buffer, Place, Way};
use super::{OF_TCP, QuicBuffers};

/// Who takes more than so much of TCP's bandwidth pushes it aside.
const UNFAIR: f64 = 2.0;

type Measured<'a, 'b> = &'b Results<'a, QuicBuffers>;

/// The source's figure 9: bytes, and QUIC's bandwidth over TCP's.
const SOURCE: [(usize, f64); 3] = [(13_000, 3.0), (30_000, 1.5), (60_000, 1.0)];

fn places(results: Measured<'_, '_>, buffer: Buffer) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (subject, _) in results.measured() {
        if subject.place.buffer == buffer && !places.contains(&subject.place) {
            places.push(subject.place);
        }
    }
    places
}

/// What a way gets at each size that is valid: `0.40 (13 kB), 0.55 (30 kB)`.
fn by_size(results: Measured<'_, '_>, buffer: Buffer, way: Way) -> Option<String> {
    let places = places(results, buffer).into_iter();
    let all = places.filter_map(|place| {
        let value = results.valid_median(&place, &way, OF_TCP)?;
        Some(format!("{value:.2} ({})", file_size(place.bytes)))
    });
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| listed(&all, all.len()))
}

/// By the queue, by congestion control, and by the window.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let cubic = Way::cubic(Stack::Stock);
    let bbr = Way {
        congestion: Congestion::Bbr,
        ..cubic
    };
    let span = |way| {
        let places = places(results, Buffer::Queue).into_iter();
        let all = places.filter_map(|place| results.valid_median(&place, &way, OF_TCP));
        let all: Vec<_> = all.collect();
        let least = all.iter().copied().min_by(f64::total_cmp)?;
        let most = all.iter().copied().max_by(f64::total_cmp)?;
        Some((format!("{least:.2} to {most:.2}"), most))
    };
    let (of_cubic, of_bbr) = (span(cubic), span(bbr));
    let named = [("cubic", &of_cubic), ("BBR", &of_bbr)];
    let told = named.into_iter().filter_map(|(name, span)| {
        let (words, _) = span.as_ref()?;
        Some(format!("quinn's {name} gets {words} times its bandwidth"))
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() {
        return None;
    }
    // The first sentence is the one that a first page has.
    let mut said = format!(
        "Beside a TCP flow {}, by the queue before the link.",
        joined(told.iter().map(String::as_str), ", ")
    );
    let each = [
        (Buffer::Queue, Way::TCP, "A second TCP gets"),
        (Buffer::Queue, cubic, "By the queue cubic gets"),
        (Buffer::Queue, bbr, "BBR gets"),
        (Buffer::Window, cubic, "By QUIC's own window cubic gets"),
        (Buffer::Window, bbr, "BBR gets"),
    ];
    for (buffer, way, words) in each {
        if let Some(values) = by_size(results, buffer, way) {
            said += &format!(" {words} {values}.");
        }
    }
    said += " The source: 3.0, 1.5, 1.0.";
    let is_unfair = |span: Option<(String, f64)>| span.is_some_and(|(_, most)| most > UNFAIR);
    let remedy = match (is_unfair(of_cubic), is_unfair(of_bbr)) {
        (false, true) => {
            "Keep quinn's cubic where TCP shares the link: its BBR pushes TCP aside. Or bound what is under way (receive_window) to what the link holds."
        }
        (true, _) => "Bound what is under way (receive_window) to what the link holds.",
        (false, false) => "",
    };
    Some(Answer::new(said, remedy))
}

pub(super) fn figure_9(results: Measured<'_, '_>) -> Option<Table> {
    let ways = [Stack::Stock, Stack::Together]
        .into_iter()
        .flat_map(|stack| Congestion::ALL.map(|congestion| Way { stack, congestion }));
    let ways: Vec<_> = std::iter::once(Way::TCP).chain(ways).collect();
    let heads = [("buffer", ""), ("size", "")].into_iter();
    let words: Vec<_> = ways.iter().map(|way| way.words()).collect();
    let columns = heads.chain(words.iter().map(|words| (words.as_str(), "")));
    let columns: Vec<_> = columns.chain([("source", "")]).collect();
    let mut rows = Vec::new();
    for buffer in Buffer::ALL {
        for place in places(results, buffer) {
            let source = SOURCE.iter().find(|(bytes, _)| *bytes == place.bytes);
            let mut row = vec![text(buffer.name()), text(file_size(place.bytes))];
            row.extend(
                ways.iter()
                    .map(|way| number(results.valid_median(&place, way, OF_TCP))),
            );
            row.push(source.map_or(Cell::Empty, |(_, value)| number(Some(*value))));
            rows.push(row);
        }
    }
    let title = "Bandwidth of a file over that of a TCP flow, as figure 9 of the source";
    let note = "The source speaks of the protocol's buffer and of over-buffering the link: here the queue before the link and QUIC's window are apart.";
    results.table(title, note, columns, rows)
}
