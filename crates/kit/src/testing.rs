//! What tests of sections share, inside this crate and outside.

use trial::{Event, Sink};

/// Keeps events; interrupts after so many of them.
#[derive(Default)]
pub struct Collector {
    /// In the order in which they came.
    pub events: Vec<Event>,
    /// So many events are enough.
    pub interrupt_after: Option<usize>,
}

impl Sink for Collector {
    fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt_after
            .is_some_and(|most| self.events.len() >= most)
    }
}
