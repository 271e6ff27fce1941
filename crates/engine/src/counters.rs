//! What is counted, without a lock: each counter has one writer.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with one writer and any number of readers.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        // One writer, so load and store need not be one step.
        self.0
            .store(self.0.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The worker's counters of one lane; on lines of their own, since the
/// client never writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct LaneTally {
    pub(crate) completed: Counter,
    pub(crate) bytes: Counter,
    pub(crate) notifications: Counter,
    pub(crate) held: Counter,
    pub(crate) held_ns: Counter,
    pub(crate) held_alone: Counter,
    pub(crate) in_flight: Counter,
    pub(crate) looks: Counter,
    /// When it last notified a client that learns, and what that took, ns.
    pub(crate) notified_ns: Counter,
    pub(crate) signal_ns: Counter,
}

/// The client's, which a controller sees; on a line of their own, too.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ClientTally {
    pub(crate) spun_ns: Counter,
}

#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerTally {
    pub(crate) batches: Counter,
    pub(crate) requests: Counter,
    pub(crate) sleeps: Counter,
    pub(crate) looks: Counter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCounters {
    pub submitted: u64,
    pub refused: u64,
    pub reaped: u64,
    pub completed: u64,
    pub bytes: u64,
    pub notifications: u64,
    pub held: u64,
    /// For how long together, ns.
    pub held_ns: u64,
    /// Those that were held back although only one request was in flight:
    /// none, by every policy.
    pub held_alone: u64,
    pub doorbells: u64,
    pub sleeps: u64,
    /// Time that it looked where it could have slept (`hybrid`), ns, about.
    pub spun_ns: u64,
    /// What it has learnt so (`hybrid`), ns: from a notification until it
    /// runs, and what notifying takes the worker.
    pub wake_ns: u64,
    pub signal_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    pub batches: u64,
    pub requests: u64,
    pub sleeps: u64,
    /// Lanes looked at for work, where there is more than one.
    pub looks: u64,
    /// Chunks of requests that ended as `BackendFailed` since the back-end panicked.
    pub panics: u64,
}
