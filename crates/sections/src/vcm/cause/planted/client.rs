//! The client: keeps its lane full for a while, then takes back the rest.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::{Lane, SubmitError, WaitError};
use sys::affinity::{PinError, pin_to};
use sys::clock::{now_ns, thread_cpu};

use crate::vcm::cause::planted::device::{Common, Work};
use crate::vcm::cause::planted::plant::Plant;
use crate::vcm::cause::planted::spend_ns;

/// No wait is longer.
const STUCK: Duration = Duration::from_secs(10);

/// Why it ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("it could not be placed")]
    Pin(#[from] PinError),
    #[error("the lane gave no completion")]
    Wait(#[from] WaitError),
    #[error("the lane took no request")]
    Submit(#[from] SubmitError),
}

/// What one client does in one trial.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) plant: Plant,
    pub(super) bytes: usize,
    pub(super) depth: usize,
    pub(super) lane: Lane<Work>,
    pub(super) common: Arc<Common>,
}

/// What a client did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) requests: u64,
    pub(super) notifications: u64,
    /// Its CPU time.
    pub(super) cpu: Duration,
    /// From the first request to the last completion.
    pub(super) elapsed: Duration,
    /// Mean in flight, when the worker looked.
    pub(super) in_flight: f64,
}

impl Client {
    /// Runs on that CPU for about `length`.
    pub(super) fn run(mut self, cpu: usize, length: Duration) -> Result<Done, ClientError> {
        pin_to(cpu)?;
        let (begin, cpu_before) = (Instant::now(), thread_cpu());
        let mut done = Done::default();
        while begin.elapsed() < length {
            self.fill()?;
            self.take(&mut done)?;
        }
        while self.lane.in_flight() > 0 {
            self.take(&mut done)?;
        }
        // Those sent while the last ones were handled.
        self.handle(&mut done);
        done.in_flight = self.lane.watch().counters().depth();
        done.cpu = thread_cpu() - cpu_before;
        done.elapsed = begin.elapsed();
        Ok(done)
    }

    fn fill(&mut self) -> Result<(), ClientError> {
        while self.lane.in_flight() < self.depth {
            self.prepare();
            let bytes = self.bytes;
            let in_flight = &self.common.in_flight_bytes;
            in_flight.fetch_add(bytes as u64, Ordering::Relaxed);
            let sent_ns = now_ns();
            self.lane.submit(Work { bytes, sent_ns }, 0)?;
        }
        Ok(())
    }

    fn prepare(&self) {
        let ns = self.plant.prepare_ns(self.bytes);
        if ns > 0.0 {
            spend_ns(ns);
        }
    }

    fn take(&mut self, done: &mut Done) -> Result<(), ClientError> {
        self.lane.wait_to_refill(STUCK)?;
        self.handle(done);
        let taken = self.lane.reap(usize::MAX, |_| {}) as u64;
        done.requests += taken;
        let in_flight = &self.common.in_flight_bytes;
        in_flight.fetch_sub(taken * self.bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Spends what the notifications since the last look cost.
    fn handle(&self, done: &mut Done) {
        let notifications = self.lane.counters().notifications;
        let new = notifications - std::mem::replace(&mut done.notifications, notifications);
        let ns = new as f64 * self.plant.notification_ns(self.bytes);
        if ns > 0.0 {
            spend_ns(ns);
        }
    }
}

/// Requests that the client alone makes in about `length`, and how long that
/// took.
pub(super) fn generate(plant: Plant, bytes: usize, length: Duration) -> (u64, Duration) {
    let (begin, cpu_before) = (Instant::now(), thread_cpu());
    let mut requests = 0;
    while begin.elapsed() < length {
        spend_ns(plant.prepare_ns(bytes));
        requests += 1;
    }
    (requests, thread_cpu() - cpu_before)
}
