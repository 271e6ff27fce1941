//! The section `crypto-peers`, run once and tiny, so that it does not rot.
//! No time is asserted: only what must be there and what must hold.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use kit::testing::Collector;
use lockgate_sections::section;
use trial::{Event, PlanError, Point, Probe};

/// What a run gives; `None`, said aloud, on a machine with one CPU.
fn run(text: &str) -> Option<Vec<Event>> {
    let table = text.parse().expect("toml");
    let own = (section("crypto-peers").expect("it is registered").parse)(table);
    let own = own.expect("a valid table");
    let plan = match own.plan(&Probe::default(), Duration::from_secs(600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, .. }) => {
            testing::skipped(reason);
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut sink = Collector::default();
    own.run(&Probe::default(), &plan, &mut sink)
        .expect("it runs");
    Some(sink.events)
}

fn points(events: &[Event]) -> impl Iterator<Item = &Point> {
    events.iter().filter_map(|event| match event {
        Event::Point(point) => Some(point),
        _ => None,
    })
}

fn arms(events: &[Event]) -> BTreeSet<String> {
    let arms = points(events).map(|point| point.dimensions["arm"].to_string());
    arms.collect()
}

#[test]
fn every_algorithm_is_measured_beside_what_is_ours() {
    testing::timed(|| {
        let text = "sizes_bytes = [1024]\npairs = 1\nseconds = 0.01\npeers = ['ring', 'ceiling']\nbackend = 'aws-lc'";
        let Some(events) = run(text) else {
            return;
        };
        let own = ["engine", "own-loop", "ring"].map(str::to_owned);
        assert!(arms(&events).is_superset(&BTreeSet::from(own)));
        for point in points(&events) {
            let rate = point.metric("requests_per_s").expect("a rate").value;
            assert!(rate.is_finite() && rate >= 0.0, "{point:?}");
            let is_public_key = !matches!(
                point.dimensions["operation"].to_string().as_str(),
                "encrypt" | "hash"
            ) || point.dimensions["algorithm"].to_string().starts_with("rsa");
            let has_speed = point.metric("speed_mb_per_s").is_some();
            assert_eq!(has_speed, !is_public_key, "{point:?}");
        }
    });
}

/// A wrong word makes a program end without a figure.
#[test]
fn programs_that_are_installed_give_a_figure_for_all_they_are_asked_for() {
    testing::timed(|| {
        let text = "algorithms = ['sha1', 'sha256', 'sha384', 'sha512', 'hmac-sha256', 'aes-128-ecb', 'aes-128-cbc', 'chacha20-poly1305', 'ecdsa-p256']\nsizes_bytes = [64]\nseconds = 0.01\npairs = 1\npeers = ['openssl', 'dpdk-32']\nbackend = 'aws-lc'";
        let Some(events) = run(text) else {
            return;
        };
        for (program, arm) in [("openssl", "openssl"), ("dpdk-test-crypto-perf", "dpdk-32")] {
            if Command::new(program).arg("version").output().is_err() {
                testing::left_out(format!("{program} is not installed"));
                continue;
            }
            assert!(arms(&events).contains(arm), "{arm}: {:?}", arms(&events));
        }
        for event in &events {
            match event {
                Event::Finding(finding) => {
                    assert!(!finding.text.contains("no figure"), "{}", finding.text);
                }
                Event::Comparison(one) => {
                    assert!(one.target.is_none_or(|target| !target.met), "one pair");
                }
                _ => {}
            }
        }
    });
}
