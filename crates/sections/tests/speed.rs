//! The section `crypto-speed`, run once and tiny, so that it does not rot.
//! No time is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::time::Duration;

use lockgate_sections::speed::parse;

use trial::{Event, Plan, PlanError, Probe, RunError, Section, Validity, Weight};

use kit::testing::Collector;

fn section(text: &str) -> Box<dyn Section> {
    parse(text.parse().expect("toml")).expect("a valid table")
}

fn run(text: &str, interrupt_after: Option<usize>) -> (Vec<Event>, Result<(), RunError>) {
    let (section, probe) = (section(text), Probe::default());
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

fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => point.dimensions.get(dimension),
        _ => None,
    });
    points.map(ToString::to_string).collect()
}

const TINY: &str = "sizes_bytes = [64, 1024]\nalgorithms = ['aes-128-gcm', 'sha256', 'rsa-2048']\nseconds = 0.01\npairs = 1\npeers = false";

#[test]
fn every_mode_is_measured_and_every_figure_is_finite() {
    testing::timed(|| {
        let (events, result) = run(TINY, None);
        result.expect("it runs");
        for mode in ["sync", "batch", "async"] {
            assert!(values(&events, "mode").contains(mode), "{mode}");
        }
        assert!(values(&events, "algorithm").contains("rsa-2048"));
        let mut kinds = [0; 4];
        for event in &events {
            match event {
                Event::Point(point) if point.verdict.validity != Validity::NotSupported => {
                    assert!(!point.metrics.is_empty(), "{point:?}");
                    assert!(
                        point
                            .metrics
                            .iter()
                            .all(|metric| metric.value.is_finite() && metric.value >= 0.0),
                        "{point:?}"
                    );
                    let rate = point
                        .metric("requests_per_s")
                        .expect("every arm has a rate");
                    // A busy machine may leave a trial this short nothing: then it says so.
                    let is_told = point.verdict.validity == Validity::TooFewSamples;
                    assert!(rate.value > 0.0 || is_told, "{point:?}");
                    assert!(
                        point.command.starts_with("lockgate speed --"),
                        "{}",
                        point.command
                    );
                    kinds[0] += 1;
                }
                Event::Chart(chart) => {
                    assert!(
                        chart
                            .series
                            .iter()
                            .all(|series| series.dots.iter().all(|dot| dot.y.is_finite()))
                    );
                    kinds[1] += 1;
                }
                Event::Table(table) => {
                    assert!(
                        table
                            .rows
                            .iter()
                            .all(|row| row.len() == table.columns.len()),
                        "{}",
                        table.title
                    );
                    kinds[2] += 1;
                }
                // Trials this short on a busy machine may carry no headline: then it says so.
                Event::Finding(finding)
                    if finding.weight == Weight::Headline || finding.text.contains("headline") =>
                {
                    kinds[3] += 1;
                }
                _ => {}
            }
        }
        assert!(
            kinds.iter().all(|&count| count > 0),
            "points, charts, tables, headlines: {kinds:?}"
        );
    });
}

#[test]
fn open_loops_shared_cores_many_lanes_and_every_policy_run() {
    testing::timed(|| {
        let text = "sizes_bytes = [256]\nalgorithms = ['aes-256-xts']\noperations = ['decrypt']\nmodes = ['async']\ndepths = [4]\nlanes = [3]\nworkers = [2]\npolicies = ['each', 'armed', 'polled']\nplacements = ['shared']\nrate_per_s = 5000.0\nseconds = 0.02\npairs = 1\npeers = false";
        let (events, result) = run(text, None);
        result.expect("it runs");
        assert_eq!(values(&events, "policy").len(), 3);
        assert!(values(&events, "mode").contains("open-loop"));
        assert_eq!(values(&events, "lanes"), BTreeSet::from(["3".to_owned()]));
    });
}

#[test]
fn a_lane_too_slow_for_the_rate_is_not_the_generators_fault() {
    testing::alone(|| {
        let text = "algorithms = ['rsa-2048']\noperations = ['sign']\nmodes = ['async']\ndepths = [2]\nplacements = ['shared']\nrate_per_s = 1e6\nseconds = 0.05\npairs = 1\npeers = false";
        let (events, result) = run(text, None);
        result.expect("it runs");
        let is_open_loop = |event: &&Event| matches!(event, Event::Point(point) if point.dimensions["mode"].to_string() == "open-loop");
        let Some(Event::Point(point)) = events.iter().rfind(is_open_loop) else {
            panic!("an open loop is measured");
        };
        let rate = point.metric("requests_per_s").expect("it has a rate");
        testing::certainly!(rate.value < 1e5, "no core signs a million times a second");
        assert_ne!(point.verdict.validity, Validity::GeneratorBound);
    });
}

#[test]
fn the_portable_back_end_is_measured_the_same_way() {
    testing::timed(|| {
        let (events, result) = run(
            "sizes_bytes = [64]\nalgorithms = ['aes-256-gcm']\noperations = ['decrypt']\nbackend = 'portable'\nseconds = 0.01\npairs = 1\npeers = false",
            None,
        );
        result.expect("it runs");
        assert_eq!(
            values(&events, "backend"),
            BTreeSet::from(["portable".to_owned()])
        );
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::timed(|| {
        let (events, result) = run(TINY, Some(3));
        assert!(matches!(result, Err(RunError::Interrupted)));
        let measured = events
            .iter()
            .filter(|event| matches!(event, Event::Point(point) if !point.metrics.is_empty()));
        assert!(
            measured.count() > 0,
            "two cells were measured before the third was announced"
        );
        assert!(events.iter().any(
            |event| matches!(event, Event::Finding(finding) if finding.text.contains("Interrupted"))
        ));
    });
}

#[test]
fn a_budget_too_small_says_what_it_needs() {
    let error = section("")
        .plan(&Probe::default(), Duration::from_millis(300))
        .expect_err("far too little");
    assert!(
        matches!(error, PlanError::Budget { needed_s, .. } if needed_s > 1.0),
        "{error}"
    );
    let Plan { seconds, .. } = section("")
        .plan(&Probe::default(), Duration::from_secs(180))
        .expect("the default");
    assert!(seconds <= 180.0);
}
