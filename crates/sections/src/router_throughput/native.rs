//! `router-native`: what this host forwards without virtualisation, beside
//! table 2 of source 004.

use forward::tester::stream::FrameSize;
use kit::drawing::{number, text};
use kit::experiment::Results;
use kit::headline::{Answer, Question, first_reason, sentence};
use kit::judged::judged;
use kit::routers::metrics::RECEIVED_PPS;
use kit::routers::options::Home;
use kit::routers::source::{LINK_MBIT_PER_S, PORTS, TEST_BED, native};
use kit::routers::trial::size_name;
use kit::routers::way::Way;
use kit::words::finding;
use trial::{Cell, Event, Finding, Table, Weight};

use super::options::Extra;
use super::{Item, Kind, Procedure, Rfc2544, Router, SHARE, THROUGHPUT};

/// So much of the links is all of it: what the search can resolve.
const ALL_PERCENT: f64 = 99.0;
/// Beyond this many times, frames in flight wait in a queue.
const QUEUED: f64 = 5.0;
/// The router that the source had.
const KERNEL: Router = Router {
    home: Home::NATIVE,
    way: Way::KERNEL,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Native;

type Found<'a> = Results<'a, Rfc2544<Native>>;

impl Kind for Native {
    const NAME: &'static str = "router-native";
    const TITLE: &'static str = "Routing without virtualisation: RFC 2544 throughput by frame size";
    const QUESTION: Question = Question {
        what: "What this host forwards without virtualisation",
        against: "the source's table 2 (26% of the links at 64 B, all at 512 and 1518 B)",
    };
    const HOMES: &'static [&'static str] = &["namespace"];
    const EXTRAS: &'static [Extra] = &Extra::ALL;
    const RATES: (&'static str, &'static str) = ("Throughput by router and frame size", "");

    /// What the smallest frames reach of which anything is valid.
    fn answer(results: &Found<'_>) -> Option<Answer> {
        let mut sizes = sizes(results).into_iter();
        sizes.find_map(|size| of_size(results, size))
    }

    fn findings(results: &Found<'_>) -> Vec<Finding> {
        wait(results).into_iter().collect()
    }

    fn more(results: &Found<'_>) -> Vec<Event> {
        table_2(results).map(Event::Table).into_iter().collect()
    }
}

/// What is said of this host is said of kernel routing, or, where that was not
/// asked for, of the first router.
fn router(results: &Found<'_>) -> Option<Router> {
    let mut routers = results.experiment.options().routers();
    let first = routers.next()?;
    let has_kernel = first == KERNEL || routers.any(|router| router == KERNEL);
    Some(if has_kernel { KERNEL } else { first })
}

/// The smallest first.
fn sizes(results: &Found<'_>) -> Vec<FrameSize> {
    let mut sizes: Vec<_> = results.experiment.options().sizes().collect();
    sizes.sort_by(|a, b| a.mean_bytes().total_cmp(&b.mean_bytes()));
    sizes
}

fn of_size(results: &Found<'_>, size: FrameSize) -> Option<Answer> {
    let router = router(results)?;
    let valid = |procedure, measure| {
        let item = Item { router, procedure };
        results.valid_median(&size, &item, measure)
    };
    let overload = valid(Procedure::Overload, RECEIVED_PPS);
    let (what, frames) = (sentence(&router.way.what()), size_name(size));
    let procedure = Procedure::Throughput;
    let found = valid(procedure, THROUGHPUT).zip(valid(procedure, SHARE));
    let Some((throughput, share)) = found else {
        let doubt = results.verdict(&size, &Item { router, procedure })?;
        let text = format!(
            "{what} passes {:.0} frames/s of {frames} when it is offered more than it can carry. What it carries without loss{} is not known: {}.",
            overload?,
            beside(router, size),
            first_reason(&doubt)
        );
        return Some(Answer::new(text, doubt.remedy));
    };
    let more = overload.map(|rate| format!("; offered more, it still passes {rate:.0}"));
    let options = results.experiment.options();
    let mbit = options.link_mbit_per_s.get();
    let links = match options.two_way {
        false => format!("a link of {mbit} Mbit/s"),
        true => format!("two links of {mbit} Mbit/s"),
    };
    let text = format!(
        "{what} forwards {throughput:.0} frames/s of {frames} without loss, {share:.0}% of {links}{}{}.{}",
        beside(router, size),
        more.unwrap_or_default(),
        full(results, router)
    );
    let remedy = match share < ALL_PERCENT {
        true => {
            "See router-paths for what XDP and AF_XDP gain: small frames are a matter of CPU time a frame."
        }
        false => "",
    };
    Some(Answer::new(text, remedy))
}

/// What the source's Linux did at that size.
fn beside(router: Router, size: FrameSize) -> String {
    let theirs = match size {
        FrameSize::Fixed(bytes) if router == KERNEL => native(bytes),
        _ => None,
    };
    let told = theirs.map(|row| format!(" (the source's Linux: {:.0}%)", row.share_percent));
    told.unwrap_or_default()
}

/// The sizes at which the links are full.
fn full(results: &Found<'_>, router: Router) -> String {
    let procedure = Procedure::Throughput;
    let is_full = |size: &FrameSize| {
        let share = results.valid_median(size, &Item { router, procedure }, SHARE);
        share.is_some_and(|share| share >= ALL_PERCENT)
    };
    let full = sizes(results).into_iter().filter(is_full);
    let names: Vec<_> = full.map(size_name).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" The links are full at {}.", names.join(", ")),
    }
}

/// What the last part of the throughput costs in latency.
fn wait(results: &Found<'_>) -> Option<Finding> {
    let router = router(results)?;
    let p99_us = |size: FrameSize, percent: u32| {
        let procedure = Procedure::Latency(percent);
        let item = Item { router, procedure };
        let latency = results.series(&size, &item)?.latency();
        let p99_ns = latency.quantile_ns(0.99).filter(|_| !latency.is_empty())?;
        results
            .is_valid(&size, &item)
            .then_some(p99_ns as f64 / 1e3)
    };
    let both = |size| Some((size, p99_us(size, 50)?, p99_us(size, 100)?));
    let (size, half, all) = sizes(results).into_iter().find_map(both)?;
    let text = format!(
        "At the full throughput 1% of the frames ({}) wait longer than {all:.0} µs, at half of it {half:.0} µs: they stand in a queue.",
        size_name(size)
    );
    let remedy = "Plan for half of the throughput where latency matters.";
    (all >= QUEUED * half).then(|| finding(Weight::Advice, text, remedy))
}

/// The source's table 2 beside ours; sizes that the source has not are in the
/// table of all.
fn table_2(results: &Found<'_>) -> Option<Table> {
    let router = router(results)?;
    let row = |size: FrameSize| {
        let FrameSize::Fixed(bytes) = size else {
            return None;
        };
        let (theirs, procedure) = (native(bytes)?, Procedure::Throughput);
        let item = Item { router, procedure };
        let ours = |measure| number(results.median(&size, &item, measure));
        let verdict = results.verdict(&size, &item);
        Some(vec![
            text(size_name(size)),
            number(Some(theirs.frames_per_s)),
            number(Some(theirs.share_percent)),
            ours(THROUGHPUT),
            ours(SHARE),
            verdict.map_or(Cell::Empty, |verdict| judged(&verdict)),
        ])
    };
    let rows: Vec<_> = sizes(results).into_iter().filter_map(row).collect();
    let columns = [
        ("frame", ""),
        ("source: throughput", "frames/s"),
        ("source: of the links", "%"),
        ("here: throughput", "frames/s"),
        ("here: of the links", "%"),
        ("verdict", ""),
    ];
    let note = format!(
        "The source: {TEST_BED}; its percentages are of {PORTS} links of {LINK_MBIT_PER_S:.0} Mbit/s. Here {}: {}",
        router.way.what(),
        results.experiment.note()
    );
    let title = "The source's table 2 beside this host: throughput without virtualisation";
    results.table(title, note, columns, rows)
}
