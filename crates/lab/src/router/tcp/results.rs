//! Points, the source's table 3 beside ours, comparisons and findings.

use forward::bench::{Directions, Offer};
use trial::stats::{Arms, compare};
use trial::{Cell as Entry, Comparison, Direction, Event, Finding, Outcome, Point, Table, Weight};

use super::config::Config;
use super::subject::{Subject, together};
use crate::router::end::End;
use crate::router::metrics::{dimensions, direction};
use crate::router::source::TCP;
use crate::router::throughput::tables::judged;
use crate::router::way::Way;
use crate::speed::comparisons::without_evidence;
use crate::speed::findings::finding;
use crate::speed::points::metric;
use crate::vcm::drawing::{column, number, text};

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) subjects: &'a [Subject],
    pub(super) command: &'a str,
}

impl<'a> Context<'a> {
    fn subject(&self, way: Way, directions: Directions) -> Option<&'a Subject> {
        self.subjects.iter().find(|subject| {
            subject.way == way && subject.directions == directions && !subject.rounds.is_empty()
        })
    }
}

pub(super) fn points(context: &Context<'_>) -> Vec<Point> {
    let tried = |subject: &&Subject| !subject.rounds.is_empty() || subject.failure.is_some();
    let subjects = context.subjects.iter().filter(tried);
    subjects.map(|subject| point(context, subject)).collect()
}

fn point(context: &Context<'_>, subject: &Subject) -> Point {
    let offer = Offer {
        directions: subject.directions,
        ..Offer::default()
    };
    let mut dimensions = dimensions(&subject.setup, &offer, "tcp");
    // TCP chooses its own, and packet ports take no part.
    for own in ["frame", "destinations", "ports"] {
        dimensions.remove(own);
    }
    let higher = Direction::Higher;
    let way = |index: usize| subject.values(move |one| one.received_mbit_per_s.get(index).copied());
    let again = subject.values(|one| Some(one.retransmits.iter().sum::<u64>() as f64));
    let metrics = [
        metric(
            "received_mbit_per_s",
            "Mbit/s",
            higher,
            subject.values(|one| Some(together(one))),
        ),
        metric("forth_mbit_per_s", "Mbit/s", higher, way(0)),
        metric("back_mbit_per_s", "Mbit/s", higher, way(1)),
        metric("retransmits", "segments", Direction::Lower, again),
    ];
    Point {
        dimensions,
        metrics: metrics.into_iter().flatten().collect(),
        verdict: subject.verdict(),
        command: context.command.to_owned(),
        histogram: String::new(),
    }
}

pub(super) fn events(context: &Context<'_>, end: &End) -> Vec<Event> {
    let comparisons = comparisons(context);
    let mut findings: Vec<_> = headline(context, &comparisons).into_iter().collect();
    findings.extend(missing(context));
    findings.extend(end.finding());
    (points(context).into_iter().map(Event::Point))
        .chain(findings.into_iter().map(Event::Finding))
        .chain(table_3(context).map(Event::Table))
        .chain(comparisons.into_iter().map(Event::Comparison))
        .collect()
}

/// Each path against kernel routing, in the same direction.
fn comparisons(context: &Context<'_>) -> Vec<Comparison> {
    let others = context
        .subjects
        .iter()
        .filter(|subject| subject.way != Way::KERNEL);
    others
        .filter_map(|subject| {
            let reference = context.subject(Way::KERNEL, subject.directions)?;
            let arms = Arms {
                subject: format!("TCP, {}", direction(subject.directions)),
                arm: subject.way.what(),
                reference: Way::KERNEL.what(),
                metric: "received_mbit_per_s".to_owned(),
                command: context.command.to_owned(),
            };
            let (pairs, seed) = (subject.pairs(reference), context.config.seed);
            let ratio = compare(arms, Direction::Higher, pairs, seed).ok()?;
            let is_valid = subject.verdict().is_valid() && reference.verdict().is_valid();
            Some(if is_valid {
                ratio
            } else {
                without_evidence(ratio)
            })
        })
        .collect()
}

/// The source's rows, then ours.
fn table_3(context: &Context<'_>) -> Option<Table> {
    let own: Vec<_> = (context.config.ways.iter())
        .filter_map(|way| row(context, *way))
        .collect();
    if own.is_empty() {
        return None;
    }
    let source = TCP.iter().map(|row| {
        vec![
            text(format!("source: {}", row.router)),
            number(Some(row.one_way_mbit_per_s)),
            number(Some(row.both_ways_mbit_per_s.0)),
            number(Some(row.both_ways_mbit_per_s.1)),
            Entry::Empty,
        ]
    });
    let columns = [
        ("router", ""),
        ("one way", "Mbit/s"),
        ("both ways, forth", "Mbit/s"),
        ("both ways, back", "Mbit/s"),
        ("verdict", ""),
    ];
    Some(Table {
        title: "TCP through a router, as table 3 of the source".to_owned(),
        note: "iperf3, one connection each way. The source: KVM guests on links of 1 Gbit/s. Here segments cross veth pairs as pointers, several to a packet where a path takes them so: not what a wire could carry.".to_owned(),
        columns: columns.map(|(label, unit)| column(label, unit)).to_vec(),
        rows: source.chain(own).collect(),
        command: context.command.to_owned(),
    })
}

fn row(context: &Context<'_>, way: Way) -> Option<Vec<Entry>> {
    let one = context.subject(way, Directions::OneWay);
    let both = context.subject(way, Directions::TwoWay);
    let either = one.or(both)?;
    Some(vec![
        text(way.what()),
        number(one.and_then(|subject| subject.rate(0))),
        number(both.and_then(|subject| subject.rate(0))),
        number(both.and_then(|subject| subject.rate(1))),
        judged(&either.verdict()),
    ])
}

fn headline(context: &Context<'_>, comparisons: &[Comparison]) -> Option<Finding> {
    let kernel = context
        .subject(Way::KERNEL, Directions::OneWay)
        .filter(|subject| subject.verdict().is_valid())?;
    let told: Vec<_> = (comparisons.iter())
        .filter(|one| one.subject == format!("TCP, {}", direction(Directions::OneWay)))
        .map(|one| {
            format!(
                "{} {:.2}× ({:.2} to {:.2})",
                one.arm, one.ratio, one.low, one.high
            )
        })
        .collect();
    let others = match told.is_empty() {
        true => String::new(),
        false => format!(" Of that: {}.", told.join("; ")),
    };
    let text = format!(
        "TCP through kernel routing: {:.0} Mbit/s one way.{others}",
        kernel.rate(0)?
    );
    let slow = comparisons
        .iter()
        .any(|one| one.outcome == Outcome::Slower && one.arm.contains("XDP"));
    let remedy = match slow {
        true => {
            "Forward bulk TCP by the kernel where its large segments stay whole: XDP sees them one by one."
        }
        false => "",
    };
    Some(finding(Weight::Headline, text, remedy))
}

fn missing(context: &Context<'_>) -> Vec<Finding> {
    let failed = context.subjects.iter().filter_map(|subject| {
        let failure = subject.failure.as_ref()?;
        let is_first = subject.directions == Directions::OneWay;
        is_first.then(|| {
            let text = format!("Not measured: {}. {}.", subject.way.what(), failure.reason);
            finding(Weight::Warning, text, failure.remedy.as_str())
        })
    });
    failed.collect()
}
