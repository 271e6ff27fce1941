//! What only this section promises: the rest is in `tests/conformance.rs`.

use std::time::Duration;

use kit::experiment::Experiment;
use kit::rehearsal::{Rehearsal, Script, known, rehearse};
use trial::{Cell, Comparison, Dimension, Event};

use super::{Config, Controllers};

fn rehearsed(text: &str, budget_s: u64) -> Rehearsal {
    let script = Script {
        budget: Duration::from_secs(budget_s),
        ..Script::default()
    };
    let table = text.parse().expect("toml");
    rehearse::<Controllers>(&table, &script).expect("it is allowed, and fits")
}

/// The paper's places first with the paper's controller and ours, then all.
#[test]
fn more_time_is_more_places_and_then_every_controller() {
    for (budget_s, places, arms) in [
        (5, 1, 5),
        (8, 1, 5),
        (25, 3, 5),
        (60, 4, 5),
        (180, 9, 10),
        (600, 22, 10),
    ] {
        assert_eq!(
            rehearsed("", budget_s).subjects,
            places * arms,
            "{budget_s} s"
        );
    }
    let chosen = "sizes_bytes = [64, 512]\nalgorithms = ['sha256']\ncontrollers = ['dim']\npairs = 2\nseconds = 0.05";
    assert_eq!(rehearsed(chosen, 20).subjects, 2 * 4);
    assert_eq!(rehearsed(chosen, 3).subjects, 4, "one place of two");
    let left = rehearsed(chosen, 3).left_out.expect("not all fits");
    assert!(left.contains("512 B"), "{left}");
}

#[test]
fn zero_and_none_mean_what_they_meant() {
    let of = |text: &str| {
        let config: Config = kit::config::keys::parse(&text.parse().unwrap()).unwrap();
        let own = Controllers::new(config).unwrap();
        (
            own.parameters.interval_ns() / 1_000_000,
            own.parameters.cpu_price(),
        )
    };
    assert_eq!(of(""), (100, None));
    assert_eq!(of("interval_ms = 0.0"), (1000, None));
    assert_eq!(of("interval_ms = 5\ncpu_price = 0"), (5, Some(0.0)));
    let config = kit::config::keys::parse(&"operations = ['derive']".parse().unwrap()).unwrap();
    let error = Controllers::new(config).err().expect("no algorithm has it");
    assert!(error.key() == "operations" && error.to_string().contains("at least one"));
}

/// Two places that differ in a word at the end only: a share is the place's own.
#[test]
fn a_share_is_that_of_its_own_place() {
    let text = "algorithms = ['aes-128-cbc']\nsizes_bytes = [1024]\nplacements = ['shared', 'split']\ncontrollers = ['adaptive']";
    let events = rehearsed(text, 600).events;
    let side = |one: &Comparison, name: &str| one.arm_point[name].to_string();
    let ratio = |placement: &str, arm: &str, reference: &str| {
        let own = events.iter().find_map(|event| match event {
            Event::Comparison(one)
                if side(one, "placement") == placement
                    && (one.arm.as_str(), one.reference.as_str()) == (arm, reference) =>
            {
                Some(one)
            }
            _ => None,
        });
        own.expect("it is told")
    };
    let mut shown = 0;
    for event in &events {
        if let Event::Table(table) = event
            && table.title == "Every contender at every place"
        {
            let at = |label: &str| table.columns.iter().position(|own| own.label == label);
            let cell = |row: &[Cell], label: &str| match &row[at(label).expect(label)] {
                Cell::Text(text) => text.clone(),
                _ => String::new(),
            };
            for row in table
                .rows
                .iter()
                .filter(|row| cell(row, "arm") == "adaptive")
            {
                let placement = match cell(row, "placement").as_str() {
                    "one shared core" => "shared",
                    _ => "split",
                };
                for (label, reference) in [("of the oracle", "oracle"), ("of uncapped", "uncapped")]
                {
                    let own = ratio(placement, "adaptive", reference);
                    assert_eq!(cell(row, label), kit::ratio::words(own));
                    shown += 1;
                }
            }
        }
        if let Event::Chart(chart) = event
            && chart.title.starts_with("Everyone's share")
        {
            assert_eq!(chart.places, ["one shared core", "a core each"]);
            let line = chart.series.iter().find(|series| series.name == "adaptive");
            for (dot, placement) in line
                .expect("it is there")
                .dots
                .iter()
                .zip(["shared", "split"])
            {
                let own = ratio(placement, "adaptive", "oracle");
                let sides = (known(&own.arm_point), known(&own.reference_point));
                assert_eq!(own.reference_point["placement"], Dimension::from(placement));
                assert!((dot.y / (sides.0 / sides.1) - 1.0).abs() < 1e-4);
                shown += 1;
            }
        }
    }
    assert_eq!(shown, 6);
}
