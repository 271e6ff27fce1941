//! The sections `vcm-*`, run once and tiny, so that they do not rot. No time
//! is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::time::Duration;

use lockgate_sections as registry;
use trial::{Event, Probe, RunError, Section};

use kit::testing::Collector;

fn section(name: &str, text: &str) -> Box<dyn Section> {
    let kind = registry::section(name).expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
}

fn run(
    name: &str,
    text: &str,
    interrupt_after: Option<usize>,
) -> (Vec<Event>, Result<(), RunError>) {
    let (section, probe) = (section(name, text), Probe::default());
    let plan = section
        .plan(&probe, Duration::from_secs(60))
        .expect("fits a minute");
    let mut sink = Collector {
        interrupt_after,
        ..Collector::default()
    };
    let result = section.run(&probe, &plan, &mut sink);
    (sink.events, result)
}

/// What a whole run yields.
fn ran(name: &str, text: &str) -> Vec<Event> {
    let (events, result) = run(name, text, None);
    result.expect("it runs");
    check(&events);
    events
}

fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => point.dimensions.get(dimension),
        _ => None,
    });
    points.map(ToString::to_string).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn count(events: &[Event], is_such: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_such(event)).count()
}

/// What every section's results must hold to.
fn check(events: &[Event]) {
    for event in events {
        match event {
            Event::Table(table) => {
                let columns = table.columns.len();
                assert!(table.rows.iter().all(|row| row.len() == columns));
            }
            Event::Point(point) => {
                assert!(!point.metrics.is_empty() && !point.command.is_empty());
                assert!(point.metrics.iter().all(|metric| metric.value.is_finite()));
            }
            Event::Finding(finding) => assert!(!finding.text.is_empty()),
            _ => {}
        }
    }
}

const BLOCKS: &str = "sizes_bytes = [512, 4096]\nalgorithms = ['aes-128-cbc']\nplacements = ['shared']\ndepth = 16\npairs = 5\nseconds = 0.03\nbackend = 'aws-lc'";

fn ratios(events: &[Event]) -> usize {
    count(events, |event| matches!(event, Event::Comparison(_)))
}

fn charts(events: &[Event]) -> usize {
    count(events, |event| matches!(event, Event::Chart(_)))
}

/// In how many rounds a notification had a price.
fn prices(events: &[Event]) -> usize {
    let price = events.iter().find_map(|event| match event {
        Event::Point(point) => point.metric("notification_ns"),
        _ => None,
    });
    price.map_or(0, |price| price.samples.len())
}

#[test]
fn every_block_size_is_measured_under_every_policy() {
    testing::alone(|| {
        let events = ran("vcm-block-size", BLOCKS);
        let found = [ratios(&events), charts(&events), prices(&events)];
        assert_eq!(found, [2, 2, 5]);
        assert_eq!(values(&events, "block_bytes"), set(&["512", "4096"]));
        assert_eq!(values(&events, "policy"), set(&["armed", "each", "polled"]));
        // The figures, the paper's beside ours, the price by block size.
        assert_eq!(count(&events, |event| matches!(event, Event::Table(_))), 3);
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::alone(|| {
        let (events, result) = run("vcm-block-size", BLOCKS, Some(12));
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        check(&events);
        assert!(count(&events, |event| matches!(event, Event::Point(_))) > 0);
    });
}

const TASKS: &str = "tasks = [1, 3]\ndepth = 8\nblock_bytes = 1024\npairs = 5\nplacements = ['shared']\nseconds = 0.03\nbackend = 'aws-lc'";

#[test]
fn every_number_of_tasks_is_measured() {
    testing::alone(|| {
        // The sum under either policy, and the gain at either number of tasks.
        let events = ran("vcm-tasks", TASKS);
        assert_eq!([ratios(&events), charts(&events)], [4, 2]);
        assert_eq!(values(&events, "tasks"), set(&["1", "3"]));
        assert_eq!(values(&events, "policy"), set(&["armed", "each"]));
        assert_eq!(count(&events, |event| matches!(event, Event::Table(_))), 1);
        let findings = count(&events, |event| matches!(event, Event::Finding(_)));
        assert!(findings >= 1, "the paper's figure beside ours");
    });
}

const CONTROLLERS: &str = "algorithms = ['aes-128-cbc', 'rsa-2048']\noperations = ['encrypt']\nsizes_bytes = [512, 1024]\ndepth = 8\ncontrollers = ['speed-monitor-prose', 'dim']\nbackend = 'aws-lc'\ninterval_ms = 5.0\npairs = 2\nseconds = 0.02\nsettle_seconds = 0.04";

#[test]
fn every_contender_is_measured_at_every_place() {
    testing::alone(|| {
        let events = ran("vcm-controllers", CONTROLLERS);
        // Of three places: oracle and armed, and each controller twice. Shares,
        // and speed and notifications of AES by its size.
        assert_eq!([ratios(&events), charts(&events)], [3 * (2 + 2 * 2), 3]);
        let arms = ["armed", "dim", "oracle", "speed-monitor-prose", "uncapped"];
        assert_eq!(values(&events, "arm"), set(&arms));
        assert_eq!(values(&events, "algorithm").len(), 2);
        assert!(!values(&events, "oracle").is_empty(), "which setting it is");
        // Everyone, the paper's figures 8 and 10, and how the oracle was found.
        assert_eq!(count(&events, |event| matches!(event, Event::Table(_))), 4);
        let is_held = |event: &Event| matches!(event, Event::Point(point) if point.metric("held_alone").is_none_or(|alone| alone.value != 0.0));
        assert_eq!(count(&events, is_held), 0, "nothing alone is held back");
    });
}

#[test]
fn an_interrupt_keeps_what_controllers_were_measured() {
    testing::alone(|| {
        for (after, points) in [(5, false), (45, true)] {
            let (events, result) = run("vcm-controllers", CONTROLLERS, Some(after));
            assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
            check(&events);
            let is_point = |event: &Event| matches!(event, Event::Point(_));
            assert_eq!(count(&events, is_point) > 0, points);
            let told = |event: &Event| matches!(event, Event::Finding(finding) if finding.text.contains("Interrupted"));
            assert_eq!(count(&events, told), 1);
            let scouted = |event: &Event| matches!(event, Event::Table(table) if table.title.contains("oracle was found"));
            assert_eq!(count(&events, scouted), 1, "of the places it came to");
        }
    });
}

#[test]
fn unknown_keys_are_refused_by_name() {
    for name in ["vcm-block-size", "vcm-tasks", "vcm-controllers"] {
        let kind = registry::section(name).expect("it is registered");
        let error = (kind.parse)("speeed = 1".parse().expect("toml")).err();
        assert!(error.is_some_and(|error| error.to_string().contains("'speeed'")));
    }
}

#[test]
fn short_of_time_there_are_fewer_places_not_fewer_rounds() {
    for name in ["vcm-block-size", "vcm-tasks", "vcm-controllers"] {
        let section = section(name, "backend = 'aws-lc'");
        let (least, most) = section.appetite();
        let steps = |budget| {
            let plan = section.plan(&Probe::default(), budget);
            let plan = plan.expect("between the least and the most");
            assert!(plan.seconds <= budget.as_secs_f64(), "{name}");
            plan.steps.join("\n")
        };
        let (few, all) = (steps(least), steps(most));
        assert!(few.starts_with("9 rounds"), "{few}");
        assert!(few.contains("no time for"), "{few}");
        assert!(all.starts_with("9 rounds"), "{all}");
        assert!(!all.contains("no time for"), "{all}");
    }
}
