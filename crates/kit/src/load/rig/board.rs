//! What one task shares with the thread that runs the bench.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use engine::{CryptoLane, RegionId, SessionId};
use sys::clock::CpuClock;

use crate::load::rig::error::ClientError;
use crate::load::rig::latency::Latencies;

/// A lane with what its client needs to use it.
#[derive(Debug)]
pub struct Channel {
    pub lane: CryptoLane,
    /// One a workload.
    pub sessions: Vec<SessionId>,
    /// The task's memory.
    pub region: RegionId,
}

/// Written by the task, read by the bench; lanes go the other way.
#[derive(Debug)]
pub struct Board {
    /// The lane to use from the next orders on; or none any more.
    lane: Mutex<Option<Option<Channel>>>,
    pub submitted: AtomicU64,
    /// Of an open loop: submitted, or due and kept waiting by a full lane.
    pub attended: AtomicU64,
    pub reaped: AtomicU64,
    pub doorbells: AtomicU64,
    pub latency: Latencies,
    clock: OnceLock<CpuClock>,
    /// The task parked under the orders of that number.
    parked: AtomicU64,
    failure: Mutex<Option<ClientError>>,
}

/// Of a task that has not parked yet.
const NEVER: u64 = u64::MAX;

impl Board {
    pub fn new() -> Self {
        Self {
            lane: Mutex::new(None),
            submitted: AtomicU64::new(0),
            attended: AtomicU64::new(0),
            reaped: AtomicU64::new(0),
            doorbells: AtomicU64::new(0),
            latency: Latencies::new(),
            clock: OnceLock::new(),
            parked: AtomicU64::new(NEVER),
            failure: Mutex::new(None),
        }
    }

    pub fn give(&self, channel: Option<Channel>) {
        *lock(&self.lane) = Some(channel);
    }

    /// Task, with nothing in flight: the lane instead of the one it has.
    pub fn take(&self) -> Option<Option<Channel>> {
        lock(&self.lane).take()
    }

    /// Task: this thread is it.
    pub fn sign_in(&self) {
        let _ = self.clock.set(CpuClock::of_this_thread());
    }

    pub fn cpu_time(&self) -> Duration {
        self.clock
            .get()
            .and_then(|clock| clock.read())
            .unwrap_or_default()
    }

    /// Task: nothing is in flight, and nothing will be under those orders.
    pub fn park(&self, number: u64) {
        self.parked.store(number, Ordering::Release);
    }

    /// Whether the task has parked under those orders or later ones.
    pub fn has_parked(&self, number: u64) -> bool {
        let parked = self.parked.load(Ordering::Acquire);
        parked != NEVER && parked >= number
    }

    pub fn fail(&self, error: ClientError) {
        *lock(&self.failure) = Some(error);
    }

    pub fn failure(&self) -> Option<ClientError> {
        lock(&self.failure).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
