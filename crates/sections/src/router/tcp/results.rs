//! Points, the source's table 3 beside ours, comparisons and findings.

use forward::bench::{Directions, Offer};
use trial::stats::Arms;
use trial::{Cell as Entry, Direction, Event, Finding, Outcome, Point, Table};

use crate::router::tcp::config::Config;
use crate::router::tcp::subject::Subject;
use kit::drawing::{column, number, text};
use kit::headline::{Answer, Question};
use kit::judged::judged;
use kit::metric::metric;
use kit::ratio::{Ratio, words};
use kit::routers::end::End;
use kit::routers::metrics::{dimensions, direction};
use kit::routers::series::Measured;
use kit::routers::source::TCP;
use kit::routers::way::Way;
use kit::told::{Tried, told};

/// The results with their conditions.
pub(super) struct Context<'a> {
    pub(super) config: &'a Config,
    pub(super) subjects: &'a [Subject],
    pub(super) command: &'a str,
}

impl<'a> Context<'a> {
    fn subject(&self, way: Way, directions: Directions) -> Option<&'a Subject> {
        let own = |subject: &&Subject| subject.way == way && subject.directions == directions;
        let subject = self.subjects.iter().find(own);
        subject.filter(|subject| !subject.series.trials.is_empty())
    }
}

pub(super) fn points(context: &Context<'_>) -> Vec<Point> {
    let subjects = context.subjects.iter();
    let tried = subjects.filter(|subject| subject.series.is_tried());
    tried.map(|subject| point(context, subject)).collect()
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
    let series = &subject.series;
    let way = |index: usize| series.values(move |one| one.received_mbit_per_s.get(index).copied());
    let again = series.values(|one| Some(one.retransmits.iter().sum::<u64>() as f64));
    let metrics = [
        metric(
            "received_mbit_per_s",
            "Mbit/s",
            higher,
            series.values(|one| Some(one.rate())),
        ),
        metric("forth_mbit_per_s", "Mbit/s", higher, way(0)),
        metric("back_mbit_per_s", "Mbit/s", higher, way(1)),
        metric("retransmits", "segments", Direction::Lower, again),
    ];
    Point {
        dimensions,
        metrics: metrics.into_iter().flatten().collect(),
        verdict: series.verdict(),
        command: context.command.to_owned(),
        histogram: String::new(),
    }
}

pub(super) fn events(context: &Context<'_>, end: &End) -> Vec<Event> {
    let ratios = ratios(context);
    let findings = findings(context, &ratios, end);
    (points(context).into_iter().map(Event::Point))
        .chain(findings.into_iter().map(Event::Finding))
        .chain(table_3(context).map(Event::Table))
        .chain(
            ratios
                .into_iter()
                .map(|one| Event::Comparison(one.comparison)),
        )
        .collect()
}

/// Each path against kernel routing, in the same direction.
fn ratios(context: &Context<'_>) -> Vec<Ratio> {
    let measured = context.subjects.iter();
    let others = measured.filter(|subject| subject.way != Way::KERNEL);
    let ratio = |subject: &Subject| {
        let reference = context.subject(Way::KERNEL, subject.directions)?;
        let arms = Arms {
            subject: format!("TCP, {}", direction(subject.directions)),
            arm: subject.way.what(),
            reference: Way::KERNEL.what(),
            metric: "received_mbit_per_s".to_owned(),
            command: context.command.to_owned(),
        };
        let series = (&subject.series, &reference.series);
        Ratio::of(series, arms, |one| Some(one.rate()), context.config.seed)
    };
    others.filter_map(ratio).collect()
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
        judged(&either.series.verdict()),
    ])
}

const QUESTION: Question = Question {
    what: "What TCP gets through each path",
    against: "the source's table 3 (210 to 749 Mbit/s one way through KVM guests)",
};

fn findings(context: &Context<'_>, ratios: &[Ratio], end: &End) -> Vec<Finding> {
    let tried: Vec<Tried> = (context.subjects.iter())
        .filter_map(Subject::tried)
        .collect();
    let mut findings = vec![QUESTION.headline(answer(context, ratios), &tried)];
    findings.extend(told(&tried));
    findings.extend(end.finding());
    findings
}

/// Kernel routing one way and the others beside it; without it, whatever may
/// be believed.
fn answer(context: &Context<'_>, ratios: &[Ratio]) -> Option<Answer> {
    let one_way = |subject: &&Subject| subject.directions == Directions::OneWay;
    let believed = |subject: &&Subject| subject.series.is_valid();
    let mut subjects = context.subjects.iter().filter(one_way).filter(believed);
    let first = (subjects.clone())
        .find(|subject| subject.way == Way::KERNEL)
        .or_else(|| subjects.next())?;
    let beside: Vec<_> = (ratios.iter())
        .filter(|one| one.is_believed && first.way == Way::KERNEL)
        .map(|one| &one.comparison)
        .filter(|one| one.subject == format!("TCP, {}", direction(Directions::OneWay)))
        .collect();
    let told: Vec<_> = (beside.iter())
        .map(|one| format!("{} {}", one.arm, words(one)))
        .collect();
    let others = match told.is_empty() {
        true => String::new(),
        false => format!(" Of that: {}.", told.join("; ")),
    };
    let text = format!(
        "TCP through {}: {:.0} Mbit/s one way (the source: 210 to 749 through KVM guests on links of 1 Gbit/s; here no link limits it).{others}",
        first.way.what(),
        first.rate(0)?
    );
    let is_slow = |one: &&trial::Comparison| one.outcome == Outcome::Slower;
    let slow = beside.into_iter().filter(is_slow);
    let remedy = match slow.into_iter().any(|one| one.arm.contains("XDP")) {
        true => {
            "Forward bulk TCP by the kernel where its large segments stay whole: XDP sees them one by one."
        }
        false => "",
    };
    Some(Answer {
        text,
        remedy: remedy.to_owned(),
    })
}
