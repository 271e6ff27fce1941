//! The section `vcm-cause`, run once and tiny, so that it does not rot. No
//! time is asserted: only what must be there and what must hold.

use std::time::Duration;

use lockgate_sections as registry;
use trial::{Event, PlanError, Probe, RunError, Section};

use kit::testing::Collector;

fn section(text: &str) -> Box<dyn Section> {
    let kind = registry::section("vcm-cause").expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
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

fn count(events: &[Event], is_such: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is_such(event)).count()
}

#[test]
fn loads_and_planted_faults_are_examined() {
    testing::timed(|| {
        let text = "algorithms = ['aes-128-gcm']\nsizes_bytes = [512, 4096, 65536]\ndepth = 8\nplacements = ['shared']\nplanted = ['fragments']\nseconds = 0.01\npairs = 2\nbackend = 'aws-lc'";
        let (events, result) = run(text, None);
        result.expect("it runs");
        let mut loads = 0;
        for event in &events {
            match event {
                Event::Table(table) => {
                    let columns = table.columns.len();
                    assert!(table.rows.iter().all(|row| row.len() == columns));
                }
                Event::Point(point) => {
                    assert!(!point.metrics.is_empty() && !point.command.is_empty());
                    assert!(point.metrics.iter().all(|metric| metric.value.is_finite()));
                    let subject = point.dimensions["subject"].to_string();
                    loads += usize::from(subject.starts_with("aes-128-gcm"));
                }
                Event::Comparison(comparison) => assert!(comparison.target.is_none()),
                _ => {}
            }
        }
        assert!(loads >= 3, "every size is a point");
        assert_eq!(count(&events, |event| matches!(event, Event::Chart(_))), 2);
        assert!(count(&events, |event| matches!(event, Event::Table(_))) >= 2);
        assert!(count(&events, |event| matches!(event, Event::Finding(_))) >= 1);
    });
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    testing::timed(|| {
        let text = "algorithms = []\nplanted = ['fragments', 'shallow']\nseconds = 0.01\npairs = 2\nbackend = 'aws-lc'";
        let (events, result) = run(text, Some(4));
        assert!(matches!(result, Err(RunError::Interrupted)));
        assert!(count(&events, |event| matches!(event, Event::Point(_))) > 0);
    });
}

#[test]
fn a_budget_too_small_says_what_it_needs() {
    let section = section("");
    let plan = |millis| section.plan(&Probe::default(), Duration::from_millis(millis));
    let error = plan(300).expect_err("far too little");
    assert!(
        matches!(error, PlanError::Budget { needed_s, .. } if needed_s > 1.0),
        "{error}"
    );
    for seconds in [20, 60] {
        let plan = plan(seconds * 1000).expect("it fits");
        assert!(plan.seconds <= seconds as f64, "{seconds}");
    }
}
