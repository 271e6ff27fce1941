//! Arithmetic of the arms, and every planted fault through real lanes.

use std::collections::BTreeSet;

use kit::testing::{assert_refused, run, section};

use super::arm::{AT_FALL, fall};
use super::*;

fn ratios(events: &[Event]) -> usize {
    let is_ratio = |event: &&Event| matches!(event, Event::Comparison(_));
    events.iter().filter(is_ratio).count()
}

#[test]
fn every_wrong_value_is_named() {
    assert_refused::<Causes>(&[
        ("algorithms = ['rsa-2048']", "algorithms", "no block sizes"),
        ("algorithms = []\nplanted = []", "algorithms", "nothing"),
        ("sizes_bytes = [1024]", "sizes_bytes", "two sizes"),
        ("sizes_bytes = [17, 32]", "sizes_bytes", "multiples of 16"),
        ("depth = 2048\nsizes_bytes = [16, '1m']", "depth", "lower"),
    ]);
    assert!(section::<Causes>("planted = []").is_ok());
}

#[test]
fn a_fall_is_from_the_peak_to_the_lowest_beyond() {
    assert_eq!(fall(&[1.0, 5.0, 2.0, 3.0]), Some((1, 2)));
    assert_eq!(fall(&[9.0, 2.0]), Some((0, 1)));
    // None: then it is to be shown that there is none.
    assert_eq!(fall(&[1.0, 3.0, 2.0, 4.0]), Some((1, 3)));
}

#[test]
fn each_change_keeps_what_it_does_not_change() {
    let own = section::<Causes>("").expect("the usual one");
    let place = own.all(&Host::with_cpus([0, 1]))[0];
    let both = (place.setting(4096), place.setting(65_536));
    for (arm, ..) in AT_FALL {
        let setting = arm.setting(both);
        let (bytes, depth) = match arm {
            Arm::Peak | Arm::PolledPeak | Arm::MovedPeak | Arm::AlonePeak => (4096, 64),
            Arm::Footprint => (65_536, 4),
            Arm::Deeper => (65_536, 128),
            Arm::Split => (4096, 1024),
            _ => (65_536, 64),
        };
        let found = (setting.block_bytes, setting.depth);
        assert_eq!(found, (bytes, depth), "{arm:?}");
        let is_polled = matches!(arm, Arm::Polled | Arm::PolledPeak);
        assert_eq!(setting.policy == Policy::POLLED, is_polled, "{arm:?}");
        let is_moved = matches!(arm, Arm::Moved | Arm::MovedPeak);
        assert_eq!(setting.placement == Placement::Split, is_moved, "{arm:?}");
    }
}

#[test]
fn every_planted_fault_is_named() {
    testing::alone(|| {
        let events = run::<Causes>("algorithms = []\nbackend = 'aws-lc'");
        let told = events.iter().find_map(|event| match event {
            Event::Finding(one) => Some(one.text.as_str()),
            _ => None,
        });
        let right = "The diagnosis named 6 of 6 planted cases right.";
        assert_eq!(told, Some(right));
        assert_eq!(ratios(&events), 0, "what is planted is no result");
    });
}

#[test]
fn a_load_is_examined_at_its_fall() {
    testing::timed(|| {
        let text = "algorithms = ['aes-128-gcm']\nsizes_bytes = [512, 4096, 65536]\ndepth = 8\nplacements = ['shared']\nplanted = []\nseconds = 0.01\npairs = 6\nbackend = 'aws-lc'";
        let events = run::<Causes>(text);
        let can_move = Host::of(None).cpus.len() > 1;
        // All but the peak and the client alone.
        assert_eq!(ratios(&events), if can_move { 8 } else { 6 });
        let mut seen = BTreeSet::new();
        for event in &events {
            if let Event::Point(point) = event {
                let all = ["experiment", "block_bytes", "depth", "placement"];
                let [name, rest @ ..] = all.map(|name| point.dimensions[name].to_string());
                let is_alone = name.starts_with("generator");
                assert_eq!(point.metrics.len(), if is_alone { 1 } else { 4 }, "{name}");
                seen.insert((name, rest));
            }
        }
        assert_eq!(seen.len(), if can_move { 14 } else { 12 }, "{seen:?}");
    });
}
