//! What the prices mean.

use kit::crossing::{Crossing, Where};
use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::subject::Subject;
use kit::words::{finding, time};
use trial::{Finding, Outcome, Price, Table, Weight};

use super::{Crossings, Item, PRICE, SIZES_BYTES};

/// Sending a request to a sleeping worker and being woken by it.
const CROSSINGS_A_REQUEST: f64 = 2.0;

/// What says most is left out last.
pub(super) fn rank(crossing: Crossing) -> u8 {
    match crossing {
        Crossing::SystemCall | Crossing::Notification => 0,
        Crossing::HypervisorExit | Crossing::CacheLine | Crossing::PageFault => 1,
        Crossing::Futex(_) | Crossing::CopyByte | Crossing::UdpSend => 2,
        _ => 3,
    }
}

/// The median of what is valid, ns.
fn price_ns(results: &Results<'_, Crossings>, item: Item) -> Option<f64> {
    let price = results.median(&(), &item, PRICE)?;
    results.is_valid(&(), &item).then_some(price)
}

fn crossing_ns(results: &Results<'_, Crossings>, crossing: Crossing) -> Option<f64> {
    price_ns(results, Item::Crossing(crossing))
}

/// What a request costs, ns, and each of its bytes: c and t of the algorithm.
fn crypto_ns(results: &Results<'_, Crossings>) -> Option<(f64, f64)> {
    let [small, large] = SIZES_BYTES;
    let (cheap, dear) = (
        price_ns(results, Item::Crypto(small))?,
        price_ns(results, Item::Crypto(large))?,
    );
    let byte_ns = (dear - cheap) / (large - small) as f64;
    (byte_ns > 0.0).then(|| ((cheap - byte_ns * small as f64).max(0.0), byte_ns))
}

/// A notification and a system call, and how much crypto they are worth.
pub(super) fn answer(results: &Results<'_, Crossings>) -> Option<Answer> {
    let call = crossing_ns(results, Crossing::SystemCall);
    let notification = crossing_ns(results, Crossing::Notification);
    let call = call.map(|ns| format!("A system call costs {} here.", time(ns)));
    let woken = notification.map(|ns| {
        let worth = crypto_ns(results).map_or_else(String::new, |(request_ns, byte_ns)| {
            let kib = ((ns - request_ns).max(0.0) / byte_ns / 1024.0).round();
            let name = results.experiment.kind().algorithm.name();
            format!(", in which one core encrypts {kib:.0} KiB by {name}")
        });
        format!(
            "Waking a client that sleeps on another core takes {}{worth}.",
            time(ns)
        )
    });
    let text: Vec<_> = call.into_iter().chain(woken).collect();
    (!text.is_empty()).then(|| Answer {
        text: text.join(" "),
        remedy: "Let requests gather, so that one wake-up serves many (policy `armed`).".to_owned(),
    })
}

pub(super) fn findings(results: &Results<'_, Crossings>) -> Vec<Finding> {
    let findings = [other_core(results), exits(results)];
    findings.into_iter().flatten().collect()
}

/// What the way to another core adds.
fn other_core(results: &Results<'_, Crossings>) -> Option<Finding> {
    let [far, near] = [Where::OtherCore, Where::SameCore].map(Crossing::Futex);
    let [far, near] = [far, near].map(Item::Crossing);
    let ratio = results.ratio((&(), &far), (&(), &near), PRICE)?;
    let text = format!(
        "Waking a thread on another core is dearer than on the same: {}.",
        ratio.words()
    );
    let remedy = "Where requests are small, let client and worker share a core, or let the client look before it sleeps (policy `hybrid`).";
    (ratio.comparison.outcome == Outcome::Slower).then(|| finding(Weight::Advice, text, remedy))
}

/// The price list: every crossing that is valid, and the large request beside
/// them.
pub(super) fn prices(results: &Results<'_, Crossings>) -> Vec<Price> {
    let is_told = |item: &Item| !matches!(item, Item::Crypto(bytes) if *bytes == SIZES_BYTES[0]);
    let price = |subject: &Subject<(), Item>| {
        let item = &subject.arm;
        let is_valid = is_told(item) && results.is_valid(&(), item);
        let rounds_ns = results
            .series(&(), item)
            .filter(|_| is_valid)?
            .values(PRICE);
        Price::of_rounds(subject.spot.words(), &rounds_ns)
    };
    results.subjects.iter().filter_map(price).collect()
}

/// What leaving the guest costs, and what that means for a wake-up.
fn exits(results: &Results<'_, Crossings>) -> Option<Finding> {
    let exit = crossing_ns(results, Crossing::HypervisorExit)?;
    let text = format!(
        "This host is a guest: each exit to its hypervisor costs {}. A wake-up of a core that idles takes one on each side.",
        time(exit)
    );
    Some(finding(Weight::Note, text, ""))
}

/// The equation's prices side by side: T of each wake-up, c and t of crypto,
/// and the size from which on a request outweighs its crossings.
pub(super) fn equation(results: &Results<'_, Crossings>) -> Option<Table> {
    let (request_ns, byte_ns) = crypto_ns(results)?;
    let wakers = [
        Crossing::Notification,
        Crossing::Eventfd(Where::OtherCore),
        Crossing::Eventfd(Where::SameCore),
        Crossing::Futex(Where::OtherCore),
        Crossing::Futex(Where::SameCore),
        Crossing::HypervisorExit,
        Crossing::SystemCall,
    ];
    let row = |crossing: Crossing| {
        let price = crossing_ns(results, crossing)?;
        let even_bytes = (CROSSINGS_A_REQUEST * price - request_ns).max(0.0) / byte_ns;
        Some(vec![
            text(crossing.words()),
            number(Some(price)),
            number(Some(request_ns)),
            number(Some(byte_ns)),
            number(Some(even_bytes.round())),
        ])
    };
    let rows: Vec<_> = wakers.into_iter().filter_map(row).collect();
    let name = results.experiment.kind().algorithm.name();
    let columns = [
        ("crossing", ""),
        ("T", "ns"),
        ("c", "ns"),
        ("t", "ns/byte"),
        ("breaks even at", "bytes"),
    ];
    let title = format!("T, c and t of T·I + c·N + t·V ≤ 1, with {name}");
    let note = "T is the price of a crossing, c that of a request, t that of a byte, on one core. A request of the size in the last column costs as much as two such crossings: smaller ones pay more for the way than for the work.";
    results.table(title, note, columns, rows)
}

#[cfg(test)]
mod tests {
    use kit::rehearsal::{Script, rehearse};
    use trial::{Cell, Event};

    use super::super::Crossings;

    /// c and t follow from the prices of two sizes, and the break-even from both.
    #[test]
    fn planted_prices_give_c_and_t_and_where_a_request_breaks_even() {
        let script = Script {
            speed: |point| match point.get("block_bytes") {
                Some(&trial::Dimension::Number(bytes)) => 40.0 + 0.1 * bytes as f64,
                _ => 10_000.0,
            },
            ..Script::default()
        };
        let run = rehearse::<Crossings>(&toml::Table::new(), &script).expect("a run");
        let table = run.events.iter().find_map(|event| match event {
            Event::Table(table) if table.title.starts_with("T, c and t") => Some(table),
            _ => None,
        });
        let row = &table.expect("it is told").rows[0];
        for (cell, wanted) in row[1..].iter().zip([10_000.0, 40.0, 0.1, 199_600.0]) {
            assert!(
                matches!(cell, Cell::Number(own) if (own / wanted - 1.0).abs() < 1e-3),
                "{cell:?}, not {wanted}"
            );
        }
    }
}
