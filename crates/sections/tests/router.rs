//! The sections `router-*`, run once and tiny, so that they do not rot. No rate
//! is asserted, nor that a trial is valid: only what must be there.

use std::time::Duration;

use lockgate_sections as registry;
use trial::{Event, PlanError, Probe, RunError, Section, Validity, Weight};

use kit::testing::Collector;

fn section(name: &str, text: &str) -> Box<dyn Section> {
    let kind = registry::section(name).expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
}

/// What a tiny run yields; none, visibly, where the host cannot.
fn run(name: &str, text: &str) -> Option<Vec<Event>> {
    let (section, probe) = (section(name, text), Probe::default());
    let plan = match section.plan(&probe, Duration::from_secs(3600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, remedy }) => {
            testing::skipped(format!("{reason}; {remedy}"));
            return None;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    assert!(!plan.privileges.is_empty() && !plan.creates.is_empty());
    let mut sink = Collector::default();
    match section.run(&probe, &plan, &mut sink) {
        // A host so slow that not all was measured shows all the same.
        Ok(()) | Err(RunError::Interrupted) => {}
        Err(error) => panic!("{name}: {error:?}"),
    }
    let first = sink.events.iter().find_map(|event| match event {
        Event::Finding(finding) => Some(finding),
        _ => None,
    });
    // Whatever is valid of so short a run: it says so first.
    let first = first.expect("a section says something");
    assert_eq!(first.weight, Weight::Headline, "{name}: {first:?}");
    for event in &sink.events {
        if let Event::Table(table) = event {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|row| row.len() == columns));
        }
    }
    Some(sink.events)
}

fn points(events: &[Event]) -> usize {
    let is_point = |event: &&Event| matches!(event, Event::Point(_));
    events.iter().filter(is_point).count()
}

fn has_table(events: &[Event], title: &str) -> bool {
    let is_it = |event: &Event| matches!(event, Event::Table(table) if table.title.contains(title));
    events.iter().any(is_it)
}

/// Whether a place has a point with figures, or one that says, visibly, what
/// this host lacks for it.
fn is_measured_or_told(events: &[Event], dimension: &str, value: &str) -> bool {
    let at = events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    });
    let mut at = at.filter(|point| point.dimensions[dimension].to_string() == value);
    at.any(|point| {
        let lacks = point.verdict.validity == Validity::NotSupported;
        if lacks {
            let verdict = &point.verdict;
            testing::left_out(format!("{value}: {}; {}", verdict.reason, verdict.remedy));
        }
        lacks || !point.metrics.is_empty()
    })
}

#[test]
fn native_yields_the_source_s_table() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.1\nframes = [512]\nextras = []\nloss_percent = 0.0\nresolution_percent = 10.0";
        let Some(events) = run("router-native", text) else {
            return;
        };
        assert!(points(&events) >= 2);
        assert!(has_table(&events, "table 2"));
    });
}

#[test]
fn routers_over_taps_are_told_from_those_over_veth_pairs() {
    testing::timed(|| {
        let text = "ports = 'tap'\npairs = 1\nseconds = 0.1\nframes = [512]\nextras = []\nloss_percent = 0.0\nresolution_percent = 10.0";
        let Some(events) = run("router-native", text) else {
            return;
        };
        assert!(is_measured_or_told(&events, "wires", "tap"));
    });
}

#[test]
fn homes_are_measured_beside_a_native_router() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.1\nframes = [512]\nloss_percent = 0.0\nresolution_percent = 10.0";
        let Some(events) = run("router-os-level", text) else {
            return;
        };
        assert!(has_table(&events, "figure 3"));
        for home in ["namespace", "lxc", "runc"] {
            assert!(is_measured_or_told(&events, "home", home), "{home}");
        }
    });
}

#[test]
fn tcp_is_measured_one_way_and_both() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.2\npaths = ['kernel', 'xdp-fib']";
        let Some(events) = run("router-tcp", text) else {
            return;
        };
        for way in ["one-way", "two-way"] {
            assert!(is_measured_or_told(&events, "direction", way), "{way}");
        }
    });
}

#[test]
fn paths_carry_ipv6_both_ways() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.1\npaths = ['kernel', 'xdp-fib', 'af-xdp:interrupt:32']\nframe = 128\nipv6 = true\ntwo_way = true\ndestinations = [1]\nroutes = []";
        let Some(events) = run("router-paths", text) else {
            return;
        };
        assert!(is_measured_or_told(&events, "protocol", "ipv6"));
        assert!(is_measured_or_told(&events, "direction", "two-way"));
    });
}

#[test]
fn paths_are_measured_beside_each_other() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.1\npaths = ['kernel', 'xdp-devmap', 'xdp-fib-cached']\ndestinations = [1]\nroutes = []";
        let Some(events) = run("router-paths", text) else {
            return;
        };
        assert!(points(&events) >= 3);
    });
}

#[test]
fn routers_stand_side_by_side() {
    testing::timed(|| {
        let text = "pairs = 1\nseconds = 0.1\nrouters = [1, 2]\nbeside = 2";
        let Some(events) = run("router-scaling", text) else {
            return;
        };
        assert!(points(&events) >= 5);
    });
}
