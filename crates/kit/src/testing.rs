//! What tests of sections share, inside this crate and outside.

use trial::{Event, Sink};

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
