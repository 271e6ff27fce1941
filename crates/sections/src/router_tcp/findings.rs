//! What the numbers mean, and the source's table 3 beside ours.

use forward::bench::Directions;
use forward::router::path::Path;
use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::judged::judged;
use kit::ratio::Ratio;
use kit::routers::metrics::RECEIVED_MBIT;
use kit::routers::source::TCP;
use kit::routers::way::Way;
use kit::subject::Measure;
use trial::{Cell, Outcome, Table};

use super::{BACK, FORTH, Tcp};

const ONE_WAY: Directions = Directions::OneWay;

/// Kernel routing one way and the others beside it; without it, whatever is
/// valid.
pub(super) fn answer(results: &Results<'_, Tcp>) -> Option<Answer> {
    let ways = || results.experiment.0.paths.iter().map(|name| name.0);
    let first = std::iter::once(Way::KERNEL)
        .chain(ways())
        .find(|way| results.is_valid(&ONE_WAY, way))?;
    let ratio = |way: Way| {
        let own = results.ratio((&ONE_WAY, &way), (&ONE_WAY, &Way::KERNEL), RECEIVED_MBIT);
        own.filter(|ratio| ratio.is_believed && first == Way::KERNEL)
            .map(|ratio| (way, ratio))
    };
    let beside: Vec<_> = ways().filter_map(ratio).collect();
    let told: Vec<_> = beside
        .iter()
        .map(|(way, ratio)| format!("{} {}", way.what(), ratio.words()))
        .collect();
    let others = match told.is_empty() {
        true => String::new(),
        false => format!(" Beside it: {}.", told.join("; ")),
    };
    let text = format!(
        "TCP through {}: {:.0} Mbit/s one way (the source: 210 to 749 through KVM guests on links of 1 Gbit/s; here no link limits it).{others}",
        first.what(),
        results.median(&ONE_WAY, &first, FORTH)?
    );
    let is_slow = |(way, ratio): &(Way, &Ratio)| {
        takes_segments_apart(*way) && ratio.comparison.outcome == Outcome::Slower
    };
    let remedy = match beside.iter().any(is_slow) {
        true => {
            "Forward bulk TCP by the kernel where its large segments stay whole: XDP sees them one by one."
        }
        false => "",
    };
    Some(Answer::new(text, remedy))
}

/// Whether an XDP program sees every frame first.
fn takes_segments_apart(way: Way) -> bool {
    !matches!(way.path, Path::Kernel | Path::Bridge)
}

/// The source's rows, then ours.
pub(super) fn table_3(results: &Results<'_, Tcp>) -> Option<Table> {
    let ways = results.experiment.0.paths.iter();
    let own: Vec<_> = ways.filter_map(|way| row(results, way.0)).collect();
    if own.is_empty() {
        return None;
    }
    let source = TCP.iter().map(|row| {
        let (forth, back) = row.both_ways_mbit_per_s;
        vec![
            text(format!("source: {}", row.router)),
            number(Some(row.one_way_mbit_per_s)),
            number(Some(forth)),
            number(Some(back)),
            Cell::Empty,
        ]
    });
    let columns = [
        ("router", ""),
        ("one way", "Mbit/s"),
        ("both ways, forth", "Mbit/s"),
        ("both ways, back", "Mbit/s"),
        ("verdict", ""),
    ];
    let title = "TCP through a router, as table 3 of the source";
    let note = "iperf3, one connection each way. The source: KVM guests on links of 1 Gbit/s. Here segments cross veth pairs as pointers, several to a packet where a path takes them so: not what a wire could carry.";
    results.table(title, note, columns, source.chain(own).collect())
}

/// With the first doubt of either.
fn row(results: &Results<'_, Tcp>, way: Way) -> Option<Vec<Cell>> {
    let both = [ONE_WAY, Directions::TwoWay];
    let verdicts = both.map(|directions| results.verdict(&directions, &way));
    let verdicts = || verdicts.iter().flatten();
    let doubt = verdicts().find(|verdict| !verdict.is_valid());
    let verdict = doubt.or(verdicts().next())?;
    let rate = |directions, measure: Measure| number(results.median(&directions, &way, measure));
    Some(vec![
        text(way.what()),
        rate(ONE_WAY, FORTH),
        rate(Directions::TwoWay, FORTH),
        rate(Directions::TwoWay, BACK),
        judged(verdict),
    ])
}
