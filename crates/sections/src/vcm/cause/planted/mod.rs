//! Devices and clients whose fault is known, to test the diagnosis: they run
//! through real lanes and spend real CPU time, told by the clock, so that the
//! outcome depends little on the machine.
//!
//! ```text
//!  client: prepares (spends) ─► lane ─► device: works (spends)
//!          handles each notification (spends) ◄─┘
//! ```

mod client;
mod device;
mod plant;
mod subject;

pub(super) use plant::Plant;
pub(super) use subject::{Planted, SIZES};

use std::time::Duration;

use sys::clock::thread_cpu;

/// Keeps the calling thread busy for so long by its own CPU time: what other
/// programs take does not count.
fn spend_ns(ns: f64) {
    let end = thread_cpu() + Duration::from_nanos(ns as u64);
    while thread_cpu() < end {
        std::hint::spin_loop();
    }
}
