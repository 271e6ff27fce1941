//! A service simple enough to know what must come out.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod crypto_lane;
pub mod instead;
pub mod random;
pub mod slots;
pub mod works;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crypto::Status;
use engine::{Batch, FunctionConfig, LaneConfig, Outcomes, Service};
use lockgate_engine as engine;
use policy::{Moderation, Quota, Settings};

pub use works::{LONG, WORKER, until};

/// A lane whose client shares the worker's core.
pub fn lane_config(depth: usize, moderation: Moderation) -> LaneConfig {
    LaneConfig {
        depth,
        moderation,
        is_core_shared: true,
        ..LaneConfig::default()
    }
}

/// What a job is said to work on.
pub const JOB_BYTES: usize = 100;

pub fn with_quota(quota: Quota) -> FunctionConfig {
    FunctionConfig {
        quota,
        ..FunctionConfig::default()
    }
}

/// Of notifications a second.
pub fn with_cap(per_s: u32) -> FunctionConfig {
    FunctionConfig {
        settings: Settings::cap(per_s).unwrap(),
        ..FunctionConfig::default()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub cell: usize,
    pub panics: bool,
}

/// Counts each request in its cell; completes a batch backwards, so that
/// order is never right by accident.
pub struct Tally {
    cells: Arc<[AtomicU64]>,
    delay: Duration,
    gate: Arc<Mutex<()>>,
}

impl Tally {
    pub fn new(cells: &Arc<[AtomicU64]>) -> Self {
        Self {
            cells: Arc::clone(cells),
            delay: Duration::ZERO,
            gate: Arc::default(),
        }
    }

    pub fn delayed(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    pub fn behind(self, gate: &Arc<Mutex<()>>) -> Self {
        let gate = Arc::clone(gate);
        Self { gate, ..self }
    }
}

pub fn cells(count: usize) -> Arc<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl Service for Tally {
    type Request = Job;

    fn bytes(_: &Job) -> usize {
        JOB_BYTES
    }

    fn process(&mut self, requests: Batch<'_, Job>, outcomes: &mut Outcomes<'_, Job>) {
        std::thread::sleep(self.delay);
        drop(self.gate.lock());
        for (index, job) in requests.iter().enumerate().rev() {
            assert!(!job.panics, "told to");
            self.cells[job.cell].fetch_add(1, Ordering::Relaxed);
            outcomes.complete(index, Status::Ok);
            if index.is_multiple_of(3) {
                outcomes.publish();
            }
        }
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    let deadline = std::time::Instant::now() + LONG;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        assert!(std::time::Instant::now() < deadline, "a wake-up was lost");
        std::thread::park_timeout(LONG);
    }
}

pub fn cases(usual: u32) -> u32 {
    if testing::is_thorough() {
        usual * 50
    } else {
        usual
    }
}
