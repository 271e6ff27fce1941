use std::collections::BTreeMap;
use std::time::Duration;

use kit::rehearsal::{Script, rehearse};
use kit::testing::{assert_refused, findings, section};
use trial::{Dimension, Event, Target};

use super::*;

#[test]
fn figures_of_the_paper_are_in_the_grid() {
    let own: VcmGuest = section("").unwrap();
    let grid = own.grid();
    let tasks: Vec<_> = grid
        .iter()
        .map(|place| place.tasks)
        .filter(|tasks| *tasks > 1)
        .collect();
    assert_eq!(tasks, [2, 4, 8]);
    assert!(
        grid.iter()
            .all(|place| place.tasks == 1 || place.block_bytes == TASKS_BYTES)
    );
    assert_refused::<VcmGuest>(&[
        ("cpu = '-x'", "cpu", "CPU model"),
        ("sizes_bytes = [20]", "sizes_bytes", "16"),
    ]);
}

/// What is told and judged where the controller adaptive has that much of everything.
fn told(speed: fn(&BTreeMap<String, Dimension>) -> f64) -> (String, String, Vec<Target>) {
    let script = Script {
        budget: Duration::from_secs(86_400),
        speed,
        ..Script::default()
    };
    let run = rehearse::<VcmGuest>(&toml::Table::new(), &script).unwrap();
    let targets = run.events.iter().filter_map(|event| match event {
        Event::Comparison(one) if one.metric == PER_CPU_S.name => one.target,
        _ => None,
    });
    let targets = targets.collect();
    let of = |weight| findings(&run.events, weight);
    (of(Weight::Headline), of(Weight::Note), targets)
}

fn with_adaptive(value: f64, point: &BTreeMap<String, Dimension>) -> f64 {
    match point.get("arm") {
        Some(arm) if *arm == "adaptive".into() => value,
        _ => 1.0,
    }
}

/// The CPU time that a request takes the device decides whether the target is met.
#[test]
fn what_a_device_saves_is_told_and_judged() {
    let (headline, notes, targets) = told(|point| with_adaptive(2.0, point));
    for device in ["512 B", "4 KiB", "16 KiB", "64 KiB"] {
        let said = format!(" {device} at depth 16 2.00× (2.00 to 2.00)");
        assert_eq!(headline.matches(&said).count(), 2, "{headline}");
    }
    assert!(notes.contains("the guest 2.00 times a request"), "{notes}");
    let wanted = |met| {
        let at_least = DEVICE_TARGET;
        vec![Target { at_least, met }; 4]
    };
    assert_eq!(targets, wanted(true));
    let (headline, _, targets) = told(|point| with_adaptive(1.2, point));
    assert!(headline.contains("512 B at depth 16 1.20×"), "{headline}");
    assert_eq!(targets, wanted(false));
}
