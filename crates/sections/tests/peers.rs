//! The section `crypto-peers`, run once and tiny, so that it does not rot.
//! No time is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use lockgate_sections::speed::peers::parse;
use trial::{Chart, Event, Plan, PlanError, Probe, RunError, Section, Table};

use kit::testing::Collector;

fn section(text: &str) -> Box<dyn Section> {
    parse(text.parse().expect("toml")).expect("a valid table")
}

/// The plan within ten minutes; `None`, said aloud, on a machine with one CPU.
fn plan(section: &dyn Section) -> Option<Plan> {
    match section.plan(&Probe::default(), Duration::from_secs(600)) {
        Ok(plan) => Some(plan),
        Err(PlanError::NotSupported { reason, .. }) => {
            testing::skipped(reason);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn run(text: &str, interrupt_after: Option<usize>) -> Option<(Vec<Event>, Result<(), RunError>)> {
    let section = section(text);
    let plan = plan(section.as_ref())?;
    let mut sink = Collector {
        interrupt_after,
        ..Collector::default()
    };
    let result = section.run(&Probe::default(), &plan, &mut sink);
    Some((sink.events, result))
}

fn arms(events: &[Event]) -> BTreeSet<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => point.dimensions.get("arm"),
        _ => None,
    });
    points.map(ToString::to_string).collect()
}

fn charts(events: &[Event]) -> Vec<Chart> {
    let chart = |event: &'_ Event| match event {
        Event::Chart(chart) => Some(chart.clone()),
        _ => None,
    };
    events.iter().filter_map(chart).collect()
}

fn tables(events: &[Event]) -> Vec<Table> {
    let table = |event: &'_ Event| match event {
        Event::Table(table) => Some(table.clone()),
        _ => None,
    };
    events.iter().filter_map(table).collect()
}

/// Whether a program starts; where it does not, the test says what it skips.
fn is_installed(program: &str) -> bool {
    let starts = Command::new(program).arg("version").output().is_ok();
    if !starts {
        testing::left_out(format!(
            "{program} is not installed, its arm is not measured"
        ));
    }
    starts
}

#[test]
fn every_algorithm_has_its_row_in_the_first_chart() {
    testing::timed(|| {
        let text = "sizes_bytes = [1024]\npairs = 1\nseconds = 0.01\npeers = ['ring', 'ceiling']\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, None) else {
            return;
        };
        result.expect("it runs");
        let first = &charts(&events)[0];
        let (dots, places) = (first.series[0].dots.len(), first.places.len());
        assert!(dots > places / 2, "{dots} of {places}");
        let backend = crypto::by_name("aws-lc").expect("it is built in");
        for algorithm in crypto::Algorithm::ALL {
            let operation = algorithm.operations()[0];
            if !backend.supports(crypto::Kind {
                algorithm,
                operation,
            }) {
                continue;
            }
            let is_there = |place: &String| place.starts_with(algorithm.name());
            assert!(first.places.iter().any(is_there), "{algorithm}");
        }
        let engine = &first.series[0];
        assert_eq!(engine.name, "engine");
        assert!(engine.dots.iter().all(|dot| dot.y.is_finite()));
        assert!(arms(&events).is_superset(&BTreeSet::from(
            ["engine", "own-loop", "ring"].map(str::to_owned)
        )));
        for table in tables(&events) {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|row| row.len() == columns));
        }
        for event in &events {
            if let Event::Point(point) = event {
                let rate = point.metric("requests_per_s").expect("a rate").value;
                assert!(rate.is_finite() && rate >= 0.0, "{point:?}");
                assert!(point.command.starts_with("lockgate speed --"), "{point:?}");
            }
        }
    });
}

#[test]
fn peers_that_are_installed_are_measured_beside_us() {
    testing::timed(|| {
        let text = "algorithms = ['aes-128-cbc', 'ecdsa-p256']\nsizes_bytes = [64, 16384]\nseconds = 0.01\npairs = 1\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, None) else {
            return;
        };
        result.expect("it runs");
        let arms = arms(&events);
        for (program, arm) in [
            ("openssl", "openssl"),
            ("dpdk-test-crypto-perf", "dpdk-32"),
            ("dpdk-test-crypto-perf", "dpdk-1"),
        ] {
            if is_installed(program) {
                assert!(arms.contains(arm), "{arm}: {arms:?}");
            }
        }
        let is_ratio = |event: &&Event| matches!(event, Event::Comparison(_));
        assert!(events.iter().filter(is_ratio).count() >= 3);
        let no_claim = |event: &Event| match event {
            Event::Comparison(comparison) => comparison.target.is_none(),
            _ => true,
        };
        assert!(events.iter().all(no_claim), "one pair is no claim");
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::timed(|| {
        let text = "algorithms = ['sha256', 'aes-128-gcm']\nseconds = 0.01\npairs = 2\npeers = []\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, Some(2)) else {
            return;
        };
        assert!(matches!(result, Err(RunError::Interrupted)));
        assert!(!arms(&events).is_empty());
        assert!(events.iter().any(
            |event| matches!(event, Event::Finding(finding) if finding.text.contains("Interrupted"))
        ));
    });
}

/// A wrong word makes DPDK's program end without a figure.
#[test]
fn dpdk_gives_a_figure_for_each_hash_and_cipher_it_is_asked_for() {
    testing::timed(|| {
        if !is_installed("dpdk-test-crypto-perf") {
            return;
        }
        let text = "algorithms = ['sha1', 'sha256', 'sha384', 'sha512', 'hmac-sha256', 'aes-128-ecb', 'chacha20-poly1305']\nsizes_bytes = [64]\nseconds = 0.01\npairs = 1\npeers = ['dpdk-32']\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, None) else {
            return;
        };
        result.expect("it runs");
        for event in &events {
            if let Event::Finding(finding) = event {
                assert!(!finding.text.contains("No figure came"), "{}", finding.text);
            }
        }
        assert!(arms(&events).contains("dpdk-32"));
    });
}

#[test]
fn a_budget_too_small_says_what_it_needs() {
    let section = section("");
    if plan(section.as_ref()).is_none() {
        return;
    }
    let error = section
        .plan(&Probe::default(), Duration::from_millis(300))
        .expect_err("far too little");
    assert!(
        matches!(error, PlanError::Budget { needed_s, .. } if needed_s > 1.0),
        "{error}"
    );
    for seconds in [30, 80, 180] {
        let budget = Duration::from_secs(seconds);
        let plan = section.plan(&Probe::default(), budget).expect("it fits");
        assert!(plan.seconds <= seconds as f64, "{seconds}");
    }
}
