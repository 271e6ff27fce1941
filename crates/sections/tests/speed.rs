//! The section `crypto-speed`, run once and tiny, so that it does not rot.
//! No time is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::time::Duration;

use kit::place::usable_cpus;
use kit::testing::Collector;
use lockgate_sections::section;
use trial::{Event, Point, Probe, Validity};

fn run(text: &str) -> Vec<Event> {
    let kind = section("crypto-speed").expect("it is registered");
    let section = (kind.parse)(text.parse().expect("toml")).expect("a valid table");
    let probe = Probe::default();
    let plan = section.plan(&probe, Duration::from_secs(60));
    let mut sink = Collector::default();
    let result = section.run(&probe, &plan.expect("fits a minute"), &mut sink);
    result.expect("it runs");
    sink.events
}

fn points(events: &[Event]) -> Vec<&Point> {
    let points = events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    });
    points.collect()
}

fn values(events: &[Event], dimension: &str) -> BTreeSet<String> {
    let points = points(events).into_iter();
    let own = points.filter_map(|point| point.dimensions.get(dimension));
    own.map(ToString::to_string).collect()
}

#[test]
fn every_mode_is_measured_and_every_figure_is_finite() {
    testing::timed(|| {
        let events = run(
            "sizes_bytes = [64, 1024]\nalgorithms = ['aes-128-gcm', 'sha256', 'rsa-2048']\nseconds = 0.01\npairs = 1\npeers = false",
        );
        for mode in ["sync", "batch", "async"] {
            assert!(values(&events, "mode").contains(mode), "{mode}");
        }
        assert!(values(&events, "algorithm").contains("rsa-2048"));
        for point in points(&events) {
            let is_sane = |value: f64| value.is_finite() && value >= 0.0;
            assert!(
                point.metrics.iter().all(|metric| is_sane(metric.value)),
                "{point:?}"
            );
            let rate = point.metric("requests_per_s").expect("every arm has one");
            // A busy machine may leave a trial this short nothing: then it says so.
            let is_told = point.verdict.validity == Validity::TooFewSamples;
            assert!(rate.value > 0.0 || is_told, "{point:?}");
        }
        let is_of_wake_ups = |event: &&Event| matches!(event, Event::Comparison(one) if one.metric == "latency_p50_us");
        let has_two_cpus = usable_cpus().is_ok_and(|cpus| cpus.len() > 1);
        let ratios = events.iter().filter(is_of_wake_ups).count();
        assert_eq!(ratios, if has_two_cpus { 2 } else { 0 });
    });
}

#[test]
fn open_loops_shared_cores_many_lanes_and_every_policy_run() {
    testing::timed(|| {
        let events = run(
            "sizes_bytes = [256]\nalgorithms = ['aes-256-xts']\noperations = ['decrypt']\nmodes = ['async']\ndepths = [4]\nlanes = [3]\nworkers = [2]\npolicies = ['each', 'armed', 'polled']\nplacements = ['shared']\nrate_per_s = 5000.0\nseconds = 0.02\npairs = 1\npeers = false",
        );
        assert_eq!(values(&events, "policy").len(), 3);
        assert!(values(&events, "mode").contains("open-loop"));
        assert_eq!(values(&events, "lanes"), BTreeSet::from(["3".to_owned()]));
    });
}

#[test]
fn a_lane_too_slow_for_the_rate_is_not_the_generators_fault() {
    testing::alone(|| {
        let events = run(
            "algorithms = ['rsa-2048']\noperations = ['sign']\nmodes = ['async']\ndepths = [2]\nplacements = ['shared']\nrate_per_s = 1e6\nseconds = 0.05\npairs = 1\npeers = false",
        );
        let points = points(&events).into_iter();
        let mut paced = points.filter(|point| point.dimensions["mode"].to_string() == "open-loop");
        let point = paced.next_back().expect("an open loop is measured");
        let rate = point.metric("requests_per_s").expect("it has a rate");
        testing::certainly!(rate.value < 1e5, "no core signs a million times a second");
        assert_ne!(point.verdict.validity, Validity::GeneratorBound);
    });
}
