//! What only this section promises: the rest is in `tests/conformance.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use kit::rehearsal::{Rehearsal, Script, rehearse};
use policy::controllers::NAMES;
use trial::{Event, Point};

use super::Shifting;

const TINY: &str = "phases = [{ block_bytes = 1024, depth = 8, tenants = 1 }, { block_bytes = 64, depth = 1, tenants = 2 }, { block_bytes = 4096, depth = 4, tenants = 3 }]\ncontrollers = ['speed-monitor-prose', 'adaptive']\nbackend = 'aws-lc'\ninterval_ms = 10.0\npairs = 2\nphase_seconds = 0.06\nwindow_ms = 10.0";

/// Points of a real run, by arm and phase.
fn points() -> BTreeMap<(String, String), Point> {
    let point = |event| match event {
        Event::Point(point) => {
            let value = |name: &str| point.dimensions[name].to_string();
            Some(((value("arm"), value("phase")), point))
        }
        _ => None,
    };
    kit::testing::run::<Shifting>(TINY)
        .into_iter()
        .filter_map(point)
        .collect()
}

/// Every round is one course of every arm: all phases, and their mean.
#[test]
fn a_course_gives_its_phases_and_their_mean() {
    testing::alone(|| {
        let points = points();
        assert_eq!(points.len(), 5 * (3 + 1), "five arms, three phases and all");
        for ((arm, phase), point) in &points {
            let value = |name| point.metric(name).map(|metric| metric.value);
            let speeds = |phase: &str| {
                let own = &points[&(arm.clone(), phase.to_owned())];
                own.metric("speed_mb_per_s").expect(arm).samples.clone()
            };
            if phase == "all" {
                let parts = ["1", "2", "3"].map(speeds);
                for (round, mean) in speeds("all").into_iter().enumerate() {
                    let product: f64 = parts.iter().map(|own| own[round]).product();
                    assert!((mean / product.cbrt() - 1.0).abs() < 1e-9, "{arm}");
                }
                continue;
            }
            assert_eq!(speeds(phase).len(), 2, "a speed a round");
            assert_eq!(value("held_alone"), Some(0.0), "{arm}, {phase}");
            let is_controlled = NAMES.contains(&arm.as_str());
            assert_eq!(value("recovery_ms").is_some(), is_controlled, "{arm}");
            let oracle = point.dimensions.contains_key("oracle");
            assert_eq!(oracle, arm == "oracle");
        }
    });
}

/// The paper's controller and ours first, then all.
#[test]
fn more_time_is_more_rounds_and_then_every_controller() {
    let planned = |text: &str, budget_s| -> Rehearsal {
        let script = Script {
            budget: Duration::from_secs(budget_s),
            ..Script::default()
        };
        rehearse::<Shifting>(&text.parse().expect("toml"), &script).expect("it fits")
    };
    let all = 3 + NAMES.len();
    for (budget_s, arms, rounds) in [(8, 2, 1), (24, 5, 1), (150, 5, 9), (600, all, 9)] {
        let own = planned("", budget_s);
        let wanted = (arms, arms * rounds);
        assert_eq!((own.subjects, own.trials), wanted, "{budget_s} s");
    }
    let chosen = "controllers = ['dim']\npairs = 2\nphase_seconds = 0.25";
    let chosen = planned(chosen, 60);
    assert_eq!((chosen.subjects, chosen.trials), (4, 8));
    assert!(chosen.planned_s < 20.0, "no longer than asked for");
}

#[test]
fn phases_are_tables_or_flags_and_may_come_again() {
    let own = kit::testing::section::<Shifting>;
    let table = "{ tenants = 2, block_bytes = 4096, depth = 16 }";
    let tables = own(&format!("phases = [{table}, '64x4x1', {table}]")).unwrap();
    let flags = own("phases = ['4KiBx16x2', '64x4x1', '4kx16x2']").unwrap();
    assert_eq!(tables.config, flags.config);
    let command = "lockgate run vcm-shifting --phases 4096x16x2,64x4x1,4096x16x2";
    assert_eq!(kit::section::command(&tables), command);
    kit::testing::assert_refused::<Shifting>(&[
        ("phases = ['64x4x1']", "phases", "1 is outside 2 to 64"),
        (
            "phases = [{ block_bytes = 64, tenant = 1 }]",
            "phases",
            "is no phase",
        ),
        (
            "phases = ['64x0x1', '64x1x1']",
            "phases",
            "0 is outside 1 to 1024",
        ),
        ("phases = ['17x1x1', '64x1x1']", "phases", "multiples of 16"),
        (
            "phases = ['1MiBx1024x16', '64x1x1']",
            "phases",
            "the limit is",
        ),
        ("algorithm = 'rsa-2048'", "algorithm", "cipher or a hash"),
        (
            "phase_seconds = 0.5\nseconds = 0.5",
            "phase_seconds",
            "one of them",
        ),
    ]);
}
