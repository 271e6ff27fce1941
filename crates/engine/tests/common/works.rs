//! A service whose requests say what they cost: work is counted, not done.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::TryRecvError;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crypto::Status;
use lockgate_engine::{
    Batch, Completion, Engine, Lane, Outcomes, Service, SubmitError, WorkerConfig,
};

pub const LONG: Duration = Duration::from_secs(20);

/// A worker whose clients share its core.
pub const WORKER: WorkerConfig = WorkerConfig {
    nice: 0,
    stand_ins: 0,
    cpu: None,
    idle_spin: None,
    is_core_shared: true,
};

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// What a request is said to work on.
pub const WORK_BYTES: usize = 100;

#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub who: usize,
    /// What it is charged, ns.
    pub work_ns: u64,
}

pub struct Works {
    cells: Arc<[AtomicU64]>,
    /// One message a batch, if batches are to wait for one.
    steps: Option<Arc<Mutex<mpsc::Receiver<()>>>>,
    is_free: Arc<AtomicBool>,
}

impl Service for Works {
    type Request = Work;

    fn bytes(_: &Work) -> usize {
        WORK_BYTES
    }

    fn work_ns(&self, request: &Work) -> u64 {
        request.work_ns
    }

    fn process(&mut self, requests: Batch<'_, Work>, outcomes: &mut Outcomes<'_, Work>) {
        if let Some(steps) = &self.steps
            && !self.is_free.load(Ordering::Acquire)
        {
            // One that slept would be taken for one that memory holds up, and be charged.
            let steps = steps.lock().unwrap();
            let begin = Instant::now();
            while steps.try_recv() == Err(TryRecvError::Empty) && begin.elapsed() < LONG {
                std::thread::yield_now();
            }
        }
        for (index, work) in requests.iter().enumerate() {
            self.cells[work.who].fetch_add(work.work_ns, Ordering::Relaxed);
            outcomes.complete(index, Status::Ok);
        }
    }
}

/// An engine of one worker, and what it did for whom.
pub struct Rig {
    pub engine: Engine<Works>,
    pub cells: Arc<[AtomicU64]>,
    step: Option<mpsc::Sender<()>>,
    is_free: Arc<AtomicBool>,
}

impl Rig {
    /// Lets the worker process one batch, and waits until it asks for the
    /// next or has none.
    pub fn step(&self) {
        let before = self.engine.counters(0);
        if let Some(step) = &self.step {
            step.send(()).unwrap();
        }
        until("the worker stands", || {
            self.engine.counters(0).batches != before.batches
        });
    }

    pub fn totals(&self) -> Vec<u64> {
        let value = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        self.cells.iter().map(value).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.is_free.store(true, Ordering::Release);
        self.step = None;
    }
}

fn rig(count: usize, is_stepped: bool) -> Rig {
    let cells: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let (step, steps) = mpsc::channel();
    let steps = is_stepped.then(|| Arc::new(Mutex::new(steps)));
    let is_free = Arc::new(AtomicBool::new(false));
    let service = {
        let (cells, is_free) = (Arc::clone(&cells), Arc::clone(&is_free));
        move |_| Works {
            cells: Arc::clone(&cells),
            steps: steps.clone(),
            is_free: Arc::clone(&is_free),
        }
    };
    Rig {
        engine: Engine::start(&[WORKER], service).unwrap(),
        cells,
        step: is_stepped.then_some(step),
        is_free,
    }
}

/// One that processes a batch a [`Rig::step`].
pub fn engine(count: usize) -> Rig {
    rig(count, true)
}

pub fn free_running(count: usize) -> Rig {
    rig(count, false)
}

pub struct Client {
    pub lane: Lane<Work>,
    pub work: Work,
    pub never_reaps: bool,
    pub accepted: u64,
    pub completed: u64,
    pub cancelled: u64,
}

impl Client {
    pub fn new(lane: Lane<Work>, who: usize, work_ns: u64) -> Self {
        Self {
            lane,
            work: Work { who, work_ns },
            never_reaps: false,
            accepted: 0,
            completed: 0,
            cancelled: 0,
        }
    }

    pub fn reap(&mut self) {
        self.reap_but(0);
    }

    pub fn reap_but(&mut self, left: usize) {
        let (mut completed, mut cancelled) = (0, 0);
        let most = self.lane.in_flight().saturating_sub(left);
        self.lane
            .reap(most, |Completion { status, .. }| match status {
                Status::Ok => completed += 1,
                Status::Cancelled => cancelled += 1,
                other => panic!("{other:?}"),
            });
        self.completed += completed;
        self.cancelled += cancelled;
    }

    pub fn turn(&mut self) {
        if !self.never_reaps {
            self.reap();
        }
        self.fill();
    }

    pub fn fill(&mut self) {
        while self.lane.room() > 0 {
            match self.lane.enqueue(self.work, 0) {
                Ok(()) => self.accepted += 1,
                Err(SubmitError::Draining | SubmitError::Closed(_)) => break,
                Err(error) => panic!("{error}"),
            }
        }
        self.lane.kick();
    }

    pub fn drain(&mut self) {
        while self.lane.in_flight() > 0 {
            self.lane.wait(1, LONG).unwrap();
            self.reap();
        }
    }
}
