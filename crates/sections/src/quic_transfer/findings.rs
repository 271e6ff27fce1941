//! What the numbers mean, in plain words, and the source's figure 7 beside ours.

use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::targets::{Targets, slower};
use kit::transfers::{Stack, Start};
use kit::words::{finding, time};
use trial::{Cell, Finding, Table, Weight};

use super::grid::Place;
use super::{BUFFER, CPU, QuicTransfer, RATE, SENDER, TOGETHER, WORK};

type Measured<'a, 'b> = &'b Results<'a, QuicTransfer>;

/// Places named in one finding; the table has all.
const NAMED_MAX: usize = 6;

fn places(results: Measured<'_, '_>) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (subject, _) in results.measured() {
        if !places.contains(&subject.place) {
            places.push(subject.place);
        }
    }
    places
}

fn cpu(results: Measured<'_, '_>, place: &Place, stack: Stack) -> Option<f64> {
    results.valid_median(place, &stack, CPU)
}

/// Of what taking all crypto away would save, how much is saved: in hundredths.
fn captured(results: Measured<'_, '_>, place: &Place) -> Option<f64> {
    let of = |stack| cpu(results, place, stack);
    let (before, after) = (of(Stack::Coalesced)?, of(Stack::Together)?);
    let least = of(Stack::Ceiling)?;
    (before > least).then(|| 100.0 * (before - after) / (before - least))
}

/// Stock and offloaded QUIC where claims rest on it, what each step gave, and TCP.
pub(super) fn answer(results: Measured<'_, '_>) -> Option<Answer> {
    let mut places = places(results);
    places.sort_by_key(|place| place.rank());
    let place = places
        .into_iter()
        .find(|place| cpu(results, place, Stack::Stock).is_some())?;
    let of = |stack| cpu(results, &place, stack);
    let stock = of(Stack::Stock)?;
    let pair = ((&place, &Stack::Together), (&place, &Stack::Stock));
    let gain = results
        .ratio(pair.0, pair.1, WORK)
        .filter(|ratio| ratio.is_believed);
    let size = place.size();
    // The first sentence is the one that a first page has.
    let mut said = match (gain, of(Stack::Together)) {
        (Some(gain), Some(offloaded)) => format!(
            "lockgate-offload lets quinn carry {} the bytes of stock quinn by CPU second: \
             {offloaded:.2} CPU s/GB instead of {stock:.2}, in transfers of {size}.",
            gain.words()
        ),
        _ => format!("A transfer of {size} by stock quinn costs {stock:.2} CPU s/GB."),
    };
    let others = [(Stack::TcpTls, "TCP with TLS"), (Stack::Tcp, "TCP")];
    let others = others.map(|(stack, words)| Some(format!("{words} costs {:.2}", of(stack)?)));
    let others: Vec<_> = others.into_iter().flatten().collect();
    if !others.is_empty() {
        said += &format!(" {}.", others.join(", "));
    }
    if let Some(coalesced) = of(Stack::Coalesced) {
        let share = |now: f64, before: f64| 100.0 * (1.0 - now / before);
        let mut steps = vec![format!(
            "sending more by one call saves {:.0}%",
            share(coalesced, stock)
        )];
        if let Some(inline) = of(Stack::Inline) {
            steps.push(format!(
                "our crypto {:.0}% of the rest",
                share(inline, coalesced)
            ));
            if let Some(offloaded) = of(Stack::Together) {
                steps.push(format!(
                    "doing many together {:.0}%",
                    share(offloaded, inline)
                ));
            }
        }
        said += &format!(" By itself {}.", steps.join(", "));
    }
    if let Some(captured) = captured(results, &place) {
        said += &format!(" That is {captured:.0}% of what no crypto at all would save.");
    }
    let sender = |stack| results.valid_median(&place, &stack, SENDER);
    if let (Some(stock), Some(spared)) = (sender(Stack::Stock), sender(Stack::Worker)) {
        said += &format!(
            " With a worker the sending thread spends {} a packet instead of {}.",
            time(spared),
            time(stock)
        );
    }
    let gains = gain.is_some_and(|gain| gain.value() > 1.02);
    let remedy = match gains {
        true => "Make quinn's endpoints with lockgate-offload: peers and quinn stay as they are.",
        false => "",
    };
    Some(Answer::new(said, remedy))
}

/// Where offloading loses, targets, and buffers that are too small.
pub(super) fn findings(results: Measured<'_, '_>) -> Vec<Finding> {
    let what = "Offloading costs more than it gives";
    let lost = slower(results, what, NAMED_MAX, |told| {
        told.pair.arm.1 == Stack::Together
    });
    let targets = Targets::of(results).finding("");
    let short = results
        .measured()
        .filter_map(|(subject, _)| results.median(&subject.place, &subject.arm, BUFFER))
        .min_by(f64::total_cmp);
    let short = short.map(|bytes| {
        let text = format!(
            "Sockets buffer {:.0} KiB only: what arrives in a burst may be lost.",
            bytes / 1024.0
        );
        let remedy = "Raise net.core.rmem_max and net.core.wmem_max to 4 MiB, or run as root.";
        finding(Weight::Note, text, remedy)
    });
    let worker = worker(results);
    lost.into_iter()
        .chain(targets)
        .chain(worker)
        .chain(short)
        .collect()
}

/// When a second core loses: where handing a message to it costs more than it spares.
fn worker(results: Measured<'_, '_>) -> Option<Finding> {
    let mut places = places(results);
    places.sort_by_key(|place| place.rank());
    let told = |place: &Place| {
        let of = |stack, measure| results.valid_median(place, &stack, measure);
        let spared_ns = of(Stack::Together, SENDER)? - of(Stack::Worker, SENDER)?;
        let message = of(Stack::Worker, TOGETHER)?;
        let costs = of(Stack::Worker, CPU)? / of(Stack::Together, CPU)?;
        Some((spared_ns * message, costs))
    };
    let (spared_ns, costs) = places.iter().find_map(told)?;
    let text = if spared_ns > 0.0 {
        format!(
            "A worker takes {} of a message off the sending thread, and all threads together spend {costs:.2} times as much: it loses where a wake-up on another core costs more than that, or no core is idle.",
            time(spared_ns)
        )
    } else {
        format!(
            "A worker takes nothing off the sending thread here, and all threads together spend {costs:.2} times as much."
        )
    };
    let remedy = "`lockgate run crossings` says what a wake-up on another core costs here.";
    Some(finding(Weight::Note, text, remedy))
}

/// The source's figure 7: speed relative to TCP, by size. It tells three of its values.
pub(super) fn figure_7(results: Measured<'_, '_>) -> Option<Table> {
    let columns = [
        ("size", ""),
        ("start", ""),
        ("stock", "of TCP"),
        ("offloaded", "of TCP"),
        ("offloaded ÷ stock", ""),
        ("source: offloaded ÷ not", ""),
    ];
    let mut rows = Vec::new();
    for place in places(results) {
        let of = |stack| results.valid_median(&place, &stack, RATE);
        let of_tcp = |stack| Some(of(stack)? / of(Stack::Tcp)?);
        let gain = || Some(of(Stack::Together)? / of(Stack::Stock)?);
        let source = match place.bytes {
            500_000 => Some(1.06),
            10_000_000 => Some(1.13),
            _ => None,
        };
        if of_tcp(Stack::Stock).is_none() {
            continue;
        }
        let start = match place.start {
            Start::Cold => "cold",
            Start::ZeroRtt => "0-RTT",
        };
        rows.push(vec![
            text(place.size()),
            text(start),
            number(of_tcp(Stack::Stock)),
            number(of_tcp(Stack::Together)),
            number(gain()),
            source.map_or(Cell::Empty, |value| number(Some(value))),
        ]);
    }
    let title = "Speed of QUIC relative to TCP, as figure 7 of the source";
    let note = "The source: a patched stack on a link of 1 Gbit/s, its crypto taken to another board; TCP without TLS. Here loopback carries whole segments of TCP of up to 64 KiB, which no wire does.";
    results.table(title, note, columns, rows)
}
