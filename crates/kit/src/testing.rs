//! What tests of sections share, inside this crate and outside.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use trial::{Comparison, Event, Point, Probe, Sink, Table, Weight};

use crate::ConfigError;
use crate::config::keys;
use crate::experiment::Experiment;

/// Keeps events, in the order in which they came.
#[derive(Default)]
pub struct Collector {
    pub events: Vec<Event>,
    /// Whoever else has it may interrupt.
    pub interrupted: Rc<Cell<bool>>,
}

impl Sink for Collector {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.get()
    }
}

/// The last point of each place.
pub fn points(events: &[Event]) -> Vec<&Point> {
    let mut kept: Vec<&Point> = Vec::new();
    for event in events {
        if let Event::Point(point) = event {
            kept.retain(|own| own.dimensions != point.dimensions);
            kept.push(point);
        }
    }
    kept
}

pub fn comparisons(events: &[Event]) -> Vec<&Comparison> {
    let all = events.iter().filter_map(|event| match event {
        Event::Comparison(one) => Some(one),
        _ => None,
    });
    all.collect()
}

pub fn tables(events: &[Event]) -> Vec<&Table> {
    let all = events.iter().filter_map(|event| match event {
        Event::Table(table) => Some(table),
        _ => None,
    });
    all.collect()
}

/// Findings of that weight with their remedies, a line each.
pub fn findings(events: &[Event], weight: Weight) -> String {
    let all = events.iter().filter_map(|event| match event {
        Event::Finding(finding) if finding.weight == weight => {
            Some(format!("{} {}\n", finding.text, finding.remedy))
        }
        _ => None,
    });
    all.collect()
}

/// Whether a text has all of them.
///
/// # Panics
/// Where it lacks one, with the text.
pub fn assert_has<'a>(text: &str, parts: impl IntoIterator<Item = &'a str>) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

/// A section with the options of a scenario's table.
pub fn section<E: Experiment>(table: &str) -> Result<E, ConfigError> {
    E::new(keys::parse(&table.parse().expect("toml"))?)
}

/// Asserts that each table is refused at its key, in words with its part.
pub fn assert_refused<E: Experiment>(tables: &[(&str, &str, &str)]) {
    for (table, key, part) in tables {
        let error = section::<E>(table).err().expect(table);
        assert_eq!(error.key(), *key, "{table}: {error}");
        assert!(error.to_string().contains(part), "{table}: {error}");
    }
}

/// What a section tells when it runs on this host.
///
/// # Panics
/// Where a minute is too short for it, or it fails.
pub fn run<E: Experiment>(table: &str) -> Vec<Event> {
    let parsed = crate::section::parse::<E>(table.parse().expect("toml"));
    let (section, probe) = (parsed.expect("a valid table"), Probe::default());
    let plan = section.plan(&probe, Duration::from_secs(60));
    let mut sink = Collector::default();
    let result = section.run(&probe, &plan.expect("it fits a minute"), &mut sink);
    result.expect("it runs");
    sink.events
}
