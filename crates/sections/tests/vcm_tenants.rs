//! The section `vcm-tenants`, run once and tiny, so that it does not rot. No
//! speed is asserted: only what must be there and what is counted.

use std::time::Duration;

use lockgate_sections as registry;
use trial::{Event, Plan, PlanError, Probe, RunError, Section};

use kit::testing::Collector;

fn section(text: &str) -> Box<dyn Section> {
    let kind = registry::section("vcm-tenants").expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
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

fn count(events: &[Event], is_such: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_such(event)).count()
}

#[test]
fn every_case_is_measured_and_limits_are_kept() {
    testing::alone(|| {
        let text =
            "tenants = [1, 3]\nweights = [1, 2]\npairs = 2\nseconds = 0.05\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, None) else {
            return;
        };
        result.expect("it runs");
        let ratios = count(&events, |event| matches!(event, Event::Comparison(_)));
        assert!((1..=6).contains(&ratios), "{ratios}");
        assert_eq!(count(&events, |event| matches!(event, Event::Chart(_))), 2);
        let mut cases = std::collections::BTreeSet::new();
        for event in &events {
            match event {
                Event::Table(table) => {
                    let columns = table.columns.len();
                    assert!(table.rows.iter().all(|row| row.len() == columns));
                }
                Event::Point(point) => {
                    assert!(!point.metrics.is_empty() && !point.command.is_empty());
                    assert!(point.metrics.iter().all(|metric| metric.value.is_finite()));
                    cases.insert(point.dimensions["case"].to_string());
                }
                Event::Finding(finding) => {
                    assert!(!finding.text.contains("was broken"), "{}", finding.text);
                }
                _ => {}
            }
        }
        let all = [
            "cap", "equal-1", "equal-3", "flood", "mute", "polite", "quota", "signer", "weighted",
        ];
        assert_eq!(cases.into_iter().collect::<Vec<_>>(), all);
        assert_eq!(count(&events, |event| matches!(event, Event::Table(_))), 3);
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::alone(|| {
        let text = "tenants = [2]\nhostile = []\nseconds = 0.02\npairs = 3\nbackend = 'aws-lc'";
        let Some((events, result)) = run(text, Some(3)) else {
            return;
        };
        assert!(matches!(result, Err(RunError::Interrupted)), "{result:?}");
        assert!(count(&events, |event| matches!(event, Event::Point(_))) > 0);
    });
}

#[test]
fn a_budget_too_small_says_what_it_needs() {
    let section = section("");
    if plan(section.as_ref()).is_none() {
        return;
    }
    let plan = |millis| section.plan(&Probe::default(), Duration::from_millis(millis));
    let error = plan(300).expect_err("far too little");
    assert!(
        matches!(error, PlanError::Budget { needed_s, .. } if needed_s > 1.0),
        "{error}"
    );
    for seconds in [8, 20] {
        let plan = plan(seconds * 1000).expect("it fits");
        assert!(plan.seconds <= seconds as f64, "{seconds}");
    }
}
