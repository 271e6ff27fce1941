//! What tests of sections share, inside this crate and outside.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::time::Duration;

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

/// What `measure` gives in a time in which the machine let it work: a host of
/// which other guests take the CPUs away may do nothing for long. It is asked
/// with `time`, with eight times, and with 64 times that.
///
/// # Panics
/// With the last complaint, when none of them was enough.
pub fn given_time<T>(time: Duration, mut measure: impl FnMut(Duration) -> Result<T, String>) -> T {
    let mut complaint = String::new();
    for factor in [1, 8, 64] {
        match measure(time * factor) {
            Ok(measured) => return measured,
            Err(what) => complaint = what,
        }
        println!("in {:?}: {complaint}", time * factor);
    }
    panic!("nor in {:?}: {complaint}", time * 64);
}
