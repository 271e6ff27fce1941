//! The sections `router-*`, run once and tiny, so that they do not rot. No rate
//! is asserted, nor that a trial may be believed: only what must be there.

use std::time::Duration;

use lockgate_lab::registry;
use trial::{Event, PlanError, Probe, RunError, Section, Sink};

#[derive(Default)]
struct Collector {
    events: Vec<Event>,
}

impl Sink for Collector {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

fn section(name: &str, text: &str) -> Box<dyn Section> {
    let kind = registry::section(name).expect("it is registered");
    (kind.parse)(text.parse().expect("toml")).expect("a valid table")
}

/// What a tiny run yields; none, visibly, where the host cannot.
fn run(name: &str, text: &str) -> Option<Vec<Event>> {
    let (section, probe) = (section(name, text), Probe::default());
    let plan = match section.plan(&probe, Duration::from_secs(3600)) {
        Ok(plan) => plan,
        Err(PlanError::NotSupported { reason, remedy }) => {
            println!("skipped: {reason}; {remedy}");
            return None;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    assert!(!plan.privileges.is_empty() && !plan.creates.is_empty());
    let mut sink = Collector::default();
    match section.run(&probe, &plan, &mut sink) {
        // A host so slow that not all was measured shows all the same.
        Ok(()) | Err(RunError::Interrupted) => {}
        Err(error) => panic!("{name}: {error:?}"),
    }
    for event in &sink.events {
        if let Event::Table(table) = event {
            let columns = table.columns.len();
            assert!(table.rows.iter().all(|row| row.len() == columns));
        }
    }
    Some(sink.events)
}

fn points(events: &[Event]) -> usize {
    let is_point = |event: &&Event| matches!(event, Event::Point(_));
    events.iter().filter(is_point).count()
}

#[test]
fn native_yields_the_source_s_table() {
    let text = "pairs = 1\nseconds = 0.1\nframes = [512]\nextras = []\nloss_percent = 0.0\nresolution_percent = 10.0";
    let Some(events) = run("router-native", text) else {
        return;
    };
    assert!(points(&events) >= 2);
    let has_table =
        |event: &Event| matches!(event, Event::Table(table) if table.title.contains("table 2"));
    assert!(events.iter().any(has_table));
}

#[test]
fn paths_are_measured_beside_each_other() {
    let text = "pairs = 1\nseconds = 0.1\npaths = ['kernel', 'xdp-devmap', 'xdp-fib-cached']\ndestinations = [1]\nroutes = []";
    let Some(events) = run("router-paths", text) else {
        return;
    };
    assert!(points(&events) >= 3);
}

#[test]
fn routers_stand_side_by_side() {
    let text = "pairs = 1\nseconds = 0.1\nrouters = [1, 2]\nbeside = 2";
    let Some(events) = run("router-scaling", text) else {
        return;
    };
    assert!(points(&events) >= 5);
}
