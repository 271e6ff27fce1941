//! Both sections without a host: routers of known speed.

use forward::bench::Setup;
use forward::topology::Cpus;
use std::time::Duration;
use trial::{Dimension, Event, Outcome, Point, Table, Weight};

use crate::router::native::Native;
use crate::router::os_level::OsLevel;
use crate::router::throughput::config::{self, Config};
use crate::router::throughput::context::Conditions;
use crate::router::throughput::schedule::Schedule;
use crate::router::throughput::section::{Kind, measure};
use kit::routers::end::End;
use kit::routers::testing::{Collector, Fake, headline};

fn config<K: Kind>(text: &str) -> Config {
    let table = kit::config::from_table::<config::Table<K>>(text.parse().expect("toml"));
    Config::try_from(&table.expect("a table")).expect("a configuration")
}

fn measured<K: Kind>(text: &str, host: &Fake, sink: &mut Collector) -> End {
    let config = config::<K>(text);
    let schedule = Schedule::within(&config, Duration::from_secs(86_400)).expect("it fits");
    let cpus = Cpus::among(&[0, 1]);
    let conditions = Conditions {
        config: &config,
        schedule: &schedule,
        cpus: &cpus,
        command: "lockgate run",
    };
    let build = |setups: &[Setup]| host.build(setups);
    measure::<K>(conditions, &build, sink)
}

fn run<K: Kind>(text: &str, host: &Fake) -> Vec<Event> {
    let mut sink = Collector::default();
    let end = measured::<K>(text, host, &mut sink);
    assert!(matches!(end, End::Complete), "{end:?}");
    sink.events
}

/// The last point of each place.
fn points(events: &[Event]) -> Vec<&Point> {
    let mut kept: Vec<&Point> = Vec::new();
    for event in events {
        if let Event::Point(point) = event {
            kept.retain(|own| own.dimensions != point.dimensions);
            kept.push(point);
        }
    }
    kept
}

fn of<'a>(events: &'a [Event], procedure: &str, frame: u64) -> Vec<&'a Point> {
    let mut points = points(events);
    points.retain(|point| {
        point.dimensions["procedure"] == Dimension::from(procedure)
            && point.dimensions["frame"] == Dimension::from(frame)
    });
    points
}

fn tables(events: &[Event]) -> Vec<&Table> {
    let tables: Vec<_> = (events.iter())
        .filter_map(|event| match event {
            Event::Table(table) => Some(table),
            _ => None,
        })
        .collect();
    for table in &tables {
        let columns = table.columns.len();
        assert!(table.rows.iter().all(|row| row.len() == columns));
    }
    tables
}

fn said(events: &[Event], weight: Weight) -> Vec<&str> {
    (events.iter())
        .filter_map(|event| match event {
            Event::Finding(finding) if finding.weight == weight => Some(&*finding.text),
            _ => None,
        })
        .collect()
}

#[test]
fn native_finds_the_rate_and_the_full_links() {
    let events = run::<Native>("pairs = 3\nseconds = 0.2", &Fake::default());
    let small = of(&events, "throughput", 64);
    let rate = small[0].metric("throughput_pps").expect("a rate");
    // The router carries 900,000 / 1.0064.
    assert!((870_000.0..=901_000.0).contains(&rate.value), "{rate:?}");
    assert_eq!(rate.samples.len(), 3);
    let large = of(&events, "throughput", 1518);
    let share = large[0].metric("throughput_percent").expect("a share");
    assert!((share.value - 100.0).abs() < 1e-9, "{share:?}");
    assert_eq!(of(&events, "latency", 64).len(), 4);
    let tables = tables(&events);
    let beside = &tables[0];
    assert!(beside.title.contains("table 2"), "{}", beside.title);
    assert_eq!(beside.rows.len(), 3);
    assert!(beside.note.contains("L5420") && beside.note.contains("60 s"));
    let said_first = &headline(&events).text;
    for part in ["512 B, 1518 B", "the source's Linux: 26%", "offered more"] {
        assert!(said_first.contains(part), "{said_first}");
    }
    let notes = said(&events, Weight::Note).join(" ");
    assert!(notes.contains("64 B 26% there"), "{notes}");
}

#[test]
fn every_extra_is_measured_both_ways() {
    let text = "pairs = 1\nseconds = 0.2\nframes = [64]\ntwo_way = true\nextras = ['latency', 'frame-loss', 'back-to-back']";
    let events = run::<Native>(text, &Fake::default());
    assert!(of(&events, "frame-loss", 64).len() > 3);
    let bursts = of(&events, "back-to-back", 64);
    assert!(bursts[0].metric("burst_frames").is_some());
    assert_eq!(tables(&events).len(), 5);
    let charts = events
        .iter()
        .filter(|event| matches!(event, Event::Chart(_)));
    assert_eq!(charts.count(), 2);
    let rate = of(&events, "throughput", 64)[0]
        .metric("throughput_pps")
        .expect("both directions together")
        .value;
    assert!((870_000.0..=901_000.0).contains(&rate), "{rate}");
}

#[test]
fn os_level_is_compared_with_native() {
    let host = Fake {
        missing_homes: vec!["lxc"],
        ..Fake::default()
    };
    let events = run::<OsLevel>("pairs = 9\nseconds = 0.2\nframes = [64, 1518]", &host);
    let comparisons: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Comparison(comparison) => Some(comparison),
            _ => None,
        })
        .collect();
    let runc = comparisons
        .iter()
        .find(|one| one.arm.starts_with("runc") && one.metric == "received_pps")
        .expect("both were measured");
    assert!((0.94..0.96).contains(&runc.ratio), "{runc:?}");
    assert_eq!(runc.outcome, Outcome::Slower);
    let warnings = said(&events, Weight::Warning).join(" ");
    assert!(warnings.contains("LXC, bridged"), "{warnings}");
    let shares = tables(&events)[0];
    assert!(shares.title.contains("figure 3"), "{}", shares.title);
    assert_eq!(shares.rows.len(), 3, "LXC is missing");
    let said_first = headline(&events);
    assert!(
        said_first.text.contains("12 of 14 results"),
        "{}",
        said_first.text
    );
}

#[test]
fn what_is_not_valid_is_no_throughput() {
    let host = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let events = run::<Native>("pairs = 1\nframes = [64]", &host);
    let open = headline(&events);
    assert!(open.text.contains("is not known"), "{}", open.text);
    assert!(
        open.text.contains("noisy: 1 of 1 rounds: a pause"),
        "{}",
        open.text
    );
    assert!(open.text.contains("table 2"), "{}", open.text);
    assert_eq!(open.remedy, "a quiet host");
    let point = of(&events, "throughput", 64)[0];
    assert!(!point.verdict.is_valid());
    assert!(said(&events, Weight::Warning)[0].contains("a pause"));
}

#[test]
fn an_interrupt_and_a_failure_keep_what_was_measured() {
    let text = "pairs = 3\nseconds = 0.2";
    let mut sink = Collector {
        interrupt_after: Some(9),
        ..Collector::default()
    };
    let end = measured::<Native>(text, &Fake::default(), &mut sink);
    assert!(matches!(end, End::Interrupted), "{end:?}");
    headline(&sink.events);
    assert!(!points(&sink.events).is_empty());
    let host = Fake {
        breaks_at: Some(40),
        ..Fake::default()
    };
    let mut sink = Collector::default();
    let end = measured::<Native>(text, &host, &mut sink);
    assert!(matches!(end, End::Failed { .. }), "{end:?}");
    assert!(!tables(&sink.events).is_empty());
    let whole = points(&sink.events)
        .into_iter()
        .filter(|point| point.dimensions["procedure"] == Dimension::from("throughput"))
        .filter(|point| {
            let rate = point.metric("throughput_pps");
            rate.is_some_and(|rate| rate.samples.len() == 3)
        });
    assert_eq!(whole.count(), 2, "the two other sizes go on");
}

#[test]
fn homes_are_told_of_whatever_the_rounds_gave() {
    let text = |pairs: usize| format!("pairs = {pairs}\nframes = [64]");
    let few = run::<OsLevel>(&text(2), &Fake::default());
    let few = headline(&few);
    assert!(few.text.contains("LXC, bridged 8"), "{}", few.text);
    assert!(few.text.contains("so few rounds"), "{}", few.text);
    let noisy = Fake {
        noisy: vec!["kernel"],
        ..Fake::default()
    };
    let open = run::<OsLevel>(&text(9), &noisy);
    let open = headline(&open);
    assert!(open.text.contains("figures 3 and 6"), "{}", open.text);
}

#[test]
fn schedules_keep_within_any_budget_and_their_own_seconds_give_them_again() {
    let config = config::<Native>("");
    let (least, most) = Schedule::appetite(&config);
    assert!(Schedule::within(&config, least / 2).is_err());
    for tenths in 10..=40 {
        let budget = least * tenths / 10;
        let schedule = Schedule::within(&config, budget).expect("it fits");
        assert!(schedule.seconds <= budget.as_secs_f64());
        let again = Duration::from_secs_f64(schedule.seconds + 0.001);
        let again = Schedule::within(&config, again).expect("it fits");
        assert!(again.slice.abs_diff(schedule.slice) < Duration::from_millis(1));
    }
    let rich = Schedule::within(&config, most * 2).expect("it fits");
    assert!(rich.seconds <= most.as_secs_f64());
}

#[test]
fn short_of_time_the_throughput_is_found_and_the_rest_left_out() {
    let config = config::<Native>("");
    assert!(!config.extras.is_empty());
    let (least, _) = Schedule::appetite(&config);
    for (budget, extras) in [(least, config.extras.len()), (least * 9 / 10, 0)] {
        let (chosen, schedule) = Schedule::choose(&config, budget).expect("it fits");
        assert_eq!(chosen.extras.len(), extras);
        let again = Duration::from_secs_f64(schedule.seconds + 0.001);
        let (again, _) = Schedule::choose(&config, again).expect("it fits");
        assert_eq!(again.extras, chosen.extras);
    }
    let (alone, _) = Schedule::appetite(&config.without_extras());
    assert!(Schedule::choose(&config, alone / 2).is_err());
}
