//! The device: a service that spends what its plant says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crypto::Status;
use engine::{Batch, Outcomes, Service};
use sys::clock::now_ns;

use crate::vcm::cause::planted::plant::Plant;
use crate::vcm::cause::planted::spend_ns;

/// A request: nothing but its size and when it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) bytes: usize,
    pub(super) sent_ns: u64,
}

/// What a device and its client both know.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// Bytes sent and not taken back.
    pub(super) in_flight_bytes: AtomicU64,
}

/// A planted device.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) plant: Plant,
    pub(super) common: Arc<Common>,
}

impl Device {
    /// A distant device answers a while after it was asked, whatever else it
    /// was asked meanwhile.
    fn wait(&self, work: &Work) {
        if let Some(distance_ns) = self.plant.distance_ns(work.bytes) {
            let due_ns = work.sent_ns + distance_ns as u64;
            thread::sleep(Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        }
    }
}

impl Service for Device {
    type Request = Work;

    fn bytes(request: &Work) -> usize {
        request.bytes
    }

    fn process(&mut self, requests: Batch<'_, Work>, outcomes: &mut Outcomes<'_, Work>) {
        for (index, work) in requests.iter().enumerate() {
            self.wait(work);
            let in_flight_bytes = self.common.in_flight_bytes.load(Ordering::Relaxed);
            spend_ns(self.plant.device_ns(work.bytes, in_flight_bytes));
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}
