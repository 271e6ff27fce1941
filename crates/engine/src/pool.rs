//! The engine: worker threads, and how one reaches them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sys::affinity::{PinError, pin_to};
use sys::clock::CpuClock;
use sys::event::Event;
use sys::wake::WakeIndex;

use crate::client::Lane;
use crate::counters::{WorkerCounters, WorkerTally};
use crate::lane::{Closed, LaneConfig, LaneError, WorkerLane, lane};
use crate::service::Service;
use crate::worker::Worker;

/// How one worker behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerConfig {
    /// The CPU it is pinned to; `None` leaves it to the scheduler.
    pub cpu: Option<usize>,
    /// How long it looks for work before it sleeps. Zero where clients share
    /// its core.
    pub idle_spin: Duration,
    /// Whether clients share its core: a worker that may not sleep (`spin`)
    /// then gives the core up between looks.
    pub is_core_shared: bool,
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No workers asked for.
    #[error("an engine needs at least one worker")]
    NoWorkers,
    /// A worker could not be pinned.
    #[error("worker {worker} cannot run where it should")]
    Pin {
        /// Which.
        worker: usize,
        /// The cause.
        #[source]
        source: PinError,
    },
    /// The service could not be made.
    #[error("the service of worker {worker} panicked while it was made")]
    Service {
        /// Which.
        worker: usize,
    },
    /// No thread or no eventfd.
    #[error("cannot start worker {worker}; raise the limits of threads and open files")]
    Resources {
        /// Which.
        worker: usize,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// What the outside shares with a worker, besides lanes.
#[derive(Debug)]
pub(crate) struct Control<R> {
    doorbell: WakeIndex,
    event: Event,
    /// Something besides requests waits: a new lane, an abandoned one, the stop.
    is_called: AtomicBool,
    is_stopping: AtomicBool,
    /// Lanes the worker has not seen yet; or how it ended. A lock, but only
    /// when a lane is made.
    new_lanes: Mutex<Result<Vec<WorkerLane<R>>, Closed>>,
    pub(crate) tally: WorkerTally,
    cpu_clock: OnceLock<CpuClock>,
}

impl<R> Control<R> {
    fn new() -> io::Result<Self> {
        Ok(Self {
            doorbell: WakeIndex::default(),
            event: Event::new()?,
            is_called: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            new_lanes: Mutex::new(Ok(Vec::new())),
            tally: WorkerTally::default(),
            cpu_clock: OnceLock::new(),
        })
    }

    /// Client: wakes the worker if it sleeps; whether it did.
    pub(crate) fn ring_doorbell(&self) -> bool {
        WakeIndex::fence_after_publish();
        let must_ring = self.doorbell.claim(0, true);
        if must_ring {
            self.event.signal();
        }
        must_ring
    }

    /// Client: something besides requests waits.
    pub(crate) fn call(&self) {
        // A swap, so that of two callers the worker sees what both wrote.
        self.is_called.swap(true, Ordering::AcqRel);
        self.ring_doorbell();
    }

    pub(crate) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::Acquire)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    pub(crate) fn arm_doorbell(&self) {
        self.doorbell.arm(0);
    }

    pub(crate) fn disarm_doorbell(&self) {
        self.doorbell.disarm();
    }

    pub(crate) fn sleep(&self, at_most: Duration) {
        self.event.wait(at_most);
        self.doorbell.disarm();
    }

    fn lanes(&self) -> MutexGuard<'_, Result<Vec<WorkerLane<R>>, Closed>> {
        self.new_lanes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Worker: answers the call; the lanes made since the last one.
    pub(crate) fn take_new_lanes(&self) -> Vec<WorkerLane<R>> {
        // Before looking, so that a call after the look is not lost; a swap,
        // so that we see what the callers wrote before they called.
        self.is_called.swap(false, Ordering::AcqRel);
        self.lanes()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Worker: takes no more lanes; those it has not seen yet.
    pub(crate) fn end(&self, how: Closed) -> Vec<WorkerLane<R>> {
        std::mem::replace(&mut *self.lanes(), Err(how)).unwrap_or_default()
    }

    fn add(&self, lane: WorkerLane<R>) -> Result<(), Closed> {
        self.lanes().as_mut().map_err(|closed| *closed)?.push(lane);
        self.call();
        Ok(())
    }
}

#[derive(Debug)]
struct Handle<R> {
    control: Arc<Control<R>>,
    thread: Option<JoinHandle<()>>,
}

/// A pool of workers with one kind of service. Dropping it shuts it down:
/// what was submitted before is finished, and every lane is closed.
#[derive(Debug)]
pub struct Engine<S: Service> {
    workers: Vec<Handle<S::Request>>,
}

impl<S: Service> Engine<S> {
    /// Starts one worker for each configuration. Each worker makes its own
    /// service on its own CPU, so that its memory is near.
    ///
    /// # Errors
    /// [`StartError`]; workers started before are shut down again.
    pub fn start(
        configs: &[WorkerConfig],
        service: impl Fn(usize) -> S + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        if configs.is_empty() {
            return Err(StartError::NoWorkers);
        }
        let service: Arc<dyn Fn(usize) -> S + Send + Sync> = Arc::new(service);
        let mut engine = Self {
            workers: Vec::with_capacity(configs.len()),
        };
        for (worker, &config) in configs.iter().enumerate() {
            engine
                .workers
                .push(start_worker(worker, config, Arc::clone(&service))?);
        }
        Ok(engine)
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Makes a lane to that worker.
    ///
    /// # Errors
    /// [`LaneError`].
    pub fn lane(&self, worker: usize, config: LaneConfig) -> Result<Lane<S::Request>, LaneError> {
        let workers = self.workers.len();
        let handle = self
            .workers
            .get(worker)
            .ok_or(LaneError::Worker { worker, workers })?;
        let (client, end) = lane(config, Arc::clone(&handle.control))?;
        handle
            .control
            .add(end)
            .map_err(|closed| LaneError::WorkerEnded { worker, closed })?;
        Ok(client)
    }

    /// That worker's counters.
    ///
    /// # Panics
    /// When there is no such worker.
    #[must_use]
    pub fn counters(&self, worker: usize) -> WorkerCounters {
        let tally = &self.workers[worker].control.tally;
        WorkerCounters {
            batches: tally.batches.value(),
            requests: tally.requests.value(),
            sleeps: tally.sleeps.value(),
        }
    }

    /// CPU time that worker has used, or `None` if it has ended.
    ///
    /// # Panics
    /// When there is no such worker.
    #[must_use]
    pub fn cpu_time(&self, worker: usize) -> Option<Duration> {
        self.workers[worker].control.cpu_clock.get()?.read()
    }

    /// Finishes what was submitted, closes every lane, ends the workers.
    pub fn shutdown(self) {}
}

impl<S: Service> Drop for Engine<S> {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.control.is_stopping.store(true, Ordering::Release);
            worker.control.call();
        }
        for worker in &mut self.workers {
            // One that is dropped by its own worker (in a task's waker, say)
            // cannot wait for it: the worker ends by itself.
            let thread = worker.thread.take();
            let own = std::thread::current().id();
            if let Some(thread) = thread.filter(|thread| thread.thread().id() != own) {
                // A panic was reported to the lanes' clients already.
                let _ = thread.join();
            }
        }
    }
}

fn start_worker<S: Service>(
    worker: usize,
    config: WorkerConfig,
    service: Arc<dyn Fn(usize) -> S + Send + Sync>,
) -> Result<Handle<S::Request>, StartError> {
    let resources = |source| StartError::Resources { worker, source };
    let control = Arc::new(Control::new().map_err(resources)?);
    let (report, ready) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("lockgate-w{worker}"))
        .spawn({
            let control = Arc::clone(&control);
            move || {
                if let Err(error) = config.cpu.map_or(Ok(()), pin_to) {
                    let _ = report.send(Err(error));
                    return;
                }
                let _ = control.cpu_clock.set(CpuClock::of_this_thread());
                // Before the report: an engine that has started has services.
                let mine = Worker::new(service(worker), config, control);
                let _ = report.send(Ok(()));
                work(mine);
            }
        })
        .map_err(resources)?;
    // Nothing comes from a thread that panicked on its way.
    let pinned = ready.recv().map_err(|_| StartError::Service { worker })?;
    pinned.map_err(|source| StartError::Pin { worker, source })?;
    Ok(Handle {
        control,
        thread: Some(thread),
    })
}

/// Runs a worker to its end. A panic of the service ends this worker only;
/// its clients are told.
fn work<S: Service>(mut worker: Worker<S>) {
    let end = catch_unwind(AssertUnwindSafe(|| worker.run()));
    worker.close(if end.is_ok() {
        Closed::Shutdown
    } else {
        Closed::WorkerFailed
    });
}
