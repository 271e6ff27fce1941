//! The section, run once and tiny, so that it does not rot. No speed is
//! asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::time::Duration;

use trial::{Event, Plan, Probe, RunError};

use crate::vcm::controllers::parse;
use kit::testing::Collector;

fn run(text: &str, interrupt_after: Option<usize>) -> (Plan, Vec<Event>, Result<(), RunError>) {
    let section = parse(text.parse().expect("toml")).expect("a valid table");
    let probe = Probe::default();
    let plan = section
        .plan(&probe, Duration::from_secs(60))
        .expect("fits a minute");
    let mut sink = Collector {
        interrupt_after,
        ..Collector::default()
    };
    let result = section.run(&probe, &plan, &mut sink);
    (plan, sink.events, result)
}

const TINY: &str = "algorithms = ['aes-128-cbc', 'rsa-2048']\noperations = ['encrypt']\nsizes_bytes = [512, 1024]\ndepth = 8\ncontrollers = ['speed-monitor-prose', 'dim']\nbackend = 'aws-lc'\ninterval_ms = 5.0\npairs = 2\nseconds = 0.02\nsettle_seconds = 0.04";

/// Every point's value of a dimension.
pub(crate) fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => point.dimensions.get(dimension),
        _ => None,
    });
    points.map(ToString::to_string).collect()
}

/// That everything is finite and every row as long as its columns; how many
/// points, comparisons, charts, tables and findings there are.
pub(crate) fn checked(events: &[Event]) -> [usize; 5] {
    let mut counts = [0; 5];
    for event in events {
        let kind = match event {
            Event::Point(point) => {
                assert!(!point.metrics.is_empty(), "{point:?}");
                let is_sane = |value: f64| value.is_finite() && value >= 0.0;
                assert!(point.metrics.iter().all(|metric| is_sane(metric.value)));
                let alone = point.metric("held_alone").expect("it is counted");
                assert_eq!(alone.value, 0.0, "{point:?}");
                0
            }
            Event::Comparison(_) => 1,
            Event::Chart(chart) => {
                let dots = || chart.series.iter().flat_map(|series| &series.dots);
                assert!(dots().count() > 0, "{}", chart.title);
                assert!(dots().all(|dot| dot.y.is_finite()), "{}", chart.title);
                2
            }
            Event::Table(table) => {
                let is_whole = |row: &Vec<_>| row.len() == table.columns.len();
                assert!(table.rows.iter().all(is_whole), "{}", table.title);
                3
            }
            Event::Finding(_) => 4,
            Event::Progress(..) => continue,
        };
        counts[kind] += 1;
    }
    counts
}

#[test]
fn every_contender_is_measured_at_every_place() {
    testing::alone(|| {
        // Of three places: oracle and armed, and each controller twice.
        let comparisons = 3 * (2 + 2 * 2);
        let (plan, events, result) = run(TINY, None);
        result.expect("it runs");
        let counts = checked(&events);
        assert!(
            plan.steps
                .iter()
                .any(|step| step.contains("2 rounds of 5 trials"))
        );
        let arms = values(&events, "arm");
        for arm in ["uncapped", "armed", "oracle", "dim", "speed-monitor-prose"] {
            assert!(arms.contains(arm), "{arms:?}");
        }
        assert_eq!(values(&events, "algorithm").len(), 2);
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        assert_eq!(counts[1], comparisons);
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::alone(|| {
        let (_, events, result) = run(TINY, Some(20));
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        let told = |event: &Event| matches!(event, Event::Finding(finding) if finding.text.contains("Interrupted"));
        assert!(events.iter().any(told));
    });
}

#[test]
fn every_wrong_value_is_named_with_its_limit() {
    for (text, key, part) in [
        ("algorithms = ['des']", "algorithms", "des"),
        ("algorithms = []", "algorithms", "at least one"),
        ("operations = ['derive']", "operations", "at least one"),
        ("sizes_bytes = [17]", "sizes_bytes", "multiples of 16"),
        ("depth = 0", "depth", "1 to"),
        ("placements = ['near']", "placements", "split, shared"),
        (
            "controllers = ['best']",
            "controllers",
            "speed-monitor-prose",
        ),
        ("interval_ms = 0.01", "interval_ms", "10000"),
        ("settle_seconds = -1.0", "settle_seconds", "-1"),
        ("backend = 'qat'", "backend", "aws-lc"),
        ("pairs = 100000", "pairs", "100000"),
        ("deep = 4", "deep", "depth"),
    ] {
        let Err(error) = parse(text.parse().unwrap()) else {
            panic!("{text} was taken")
        };
        assert_eq!(error.key(), key, "{error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}
