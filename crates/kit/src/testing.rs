//! What tests of sections share, inside this crate and outside.

use trial::{Comparison, Event, Point, Sink, Table, Weight};

/// Keeps events, in the order in which they came.
#[derive(Default)]
pub struct Collector {
    pub events: Vec<Event>,
}

impl Sink for Collector {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        false
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
