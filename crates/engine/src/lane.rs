//! A lane: what both ends share, and how it is made.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use atomic_waker::AtomicWaker;
use crypto::Status;
use policy::Moderation;
use sys::event::Event;
use sys::ring::{Consumer, Producer, ring};
use sys::wake::WakeIndex;

use crate::client::Lane;
use crate::counters::LaneTally;
use crate::pool::Control;
use crate::tickets::Tickets;

/// Most requests in flight on one lane.
pub const DEPTH_MAX: usize = 4096;

/// In which order a lane's completions come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// As submitted.
    Fifo,
    /// As done: lets the worker group by kind without holding anything back.
    Any,
}

/// How a lane behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    /// Most requests in flight: 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// When a completion becomes a notification.
    pub moderation: Moderation,
    /// Completion order.
    pub order: Order,
    /// Whether client and worker share one core: whoever polls then gives
    /// the core up between looks.
    pub is_core_shared: bool,
}

impl Default for LaneConfig {
    fn default() -> Self {
        Self {
            depth: 64,
            moderation: Moderation::Armed,
            order: Order::Any,
            is_core_shared: false,
        }
    }
}

/// Why a lane cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    /// Depth out of range.
    #[error("lane depth {depth} must be from 1 to {DEPTH_MAX}")]
    Depth {
        /// What was asked.
        depth: usize,
    },
    /// No such worker.
    #[error("worker {worker} does not exist; this engine has {workers}, numbered from 0")]
    Worker {
        /// What was asked.
        worker: usize,
        /// How many there are.
        workers: usize,
    },
    /// The worker has ended.
    #[error("worker {worker} has ended ({closed:?}); start a new engine")]
    WorkerEnded {
        /// Which.
        worker: usize,
        /// How.
        closed: Closed,
    },
    /// No eventfd or no memory.
    #[error(
        "cannot make the lane's notifier or memory; raise the limit of open files or free memory"
    )]
    Resources(#[from] io::Error),
}

/// How a lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Closed {
    /// The engine was shut down.
    #[error("the engine was shut down")]
    Shutdown = 1,
    /// The worker panicked; requests it held end as `WorkerFailed`.
    #[error("the worker panicked")]
    WorkerFailed = 2,
}

/// A request on its way in, on cache lines of its own: one that straddles two
/// costs another trip between the cores.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Entry<R> {
    pub(crate) ticket: u32,
    pub(crate) request: R,
}

const _: () = assert!(
    size_of::<Entry<crate::CryptoRequest>>() == 64,
    "a crypto request and its ticket fill one cache line"
);

/// A completion on its way out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) ticket: u32,
    pub(crate) status: Status,
}

/// Something a lane keeps alive while its requests may point into it.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

#[derive(Debug)]
pub(crate) struct Shared<R> {
    pub(crate) config: LaneConfig,
    /// The client sleeps until this completion.
    pub(crate) wake: WakeIndex,
    pub(crate) event: Event,
    pub(crate) waker: AtomicWaker,
    pub(crate) tally: LaneTally,
    pub(crate) is_client_gone: AtomicBool,
    closed: AtomicU8,
    /// The worker's end of the submission ring, back after the worker's end:
    /// whatever is still in it was never taken. A lock, but only then.
    returned: Mutex<Option<Consumer<Entry<R>>>>,
    /// Regions, sessions and tables that requests in flight point into. A
    /// lock, but only when one is added.
    pub(crate) owners: Mutex<Vec<Owner>>,
}

impl<R> Shared<R> {
    pub(crate) fn closed(&self) -> Option<Closed> {
        match self.closed.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Closed::Shutdown),
            _ => Some(Closed::WorkerFailed),
        }
    }

    /// Wakes the client: its task if it awaits, else its thread.
    pub(crate) fn notify(&self) {
        self.tally.notifications.add(1);
        self.signal();
    }

    fn signal(&self) {
        match self.waker.take() {
            // A task's waker is its executor's code: its panic is not to end
            // the worker and all other clients with it.
            Some(waker) => drop(catch_unwind(AssertUnwindSafe(|| waker.wake()))),
            None => self.event.signal(),
        }
    }

    pub(crate) fn take_returned(&self) -> Option<Consumer<Entry<R>>> {
        self.returned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn close(&self, requests: Consumer<Entry<R>>, how: Closed) {
        *self.returned.lock().unwrap_or_else(PoisonError::into_inner) = Some(requests);
        self.closed.store(how as u8, Ordering::Release);
        // Both, since a sleeper may be either; a spurious signal is harmless.
        self.signal();
        self.event.signal();
    }
}

/// The worker's end of a lane.
#[derive(Debug)]
pub(crate) struct WorkerLane<R> {
    pub(crate) shared: Arc<Shared<R>>,
    pub(crate) requests: Consumer<Entry<R>>,
    pub(crate) completions: Producer<Done>,
    /// Of the batch in hand: this lane's next request to complete in order,
    /// and where its requests end.
    pub(crate) next: usize,
    pub(crate) end: usize,
    /// Completions staged and not yet published.
    pub(crate) staged: u32,
}

impl<R: Copy + Send> WorkerLane<R> {
    /// Hands the lane back: what is staged is published, what was never
    /// taken goes back to the client.
    pub(crate) fn close(mut self, how: Closed) {
        self.completions.publish();
        self.shared.close(self.requests, how);
    }
}

/// Makes both ends.
pub(crate) fn lane<R: Copy + Send>(
    config: LaneConfig,
    control: Arc<Control<R>>,
) -> Result<(Lane<R>, WorkerLane<R>), LaneError> {
    if !(1..=DEPTH_MAX).contains(&config.depth) {
        return Err(LaneError::Depth {
            depth: config.depth,
        });
    }
    let shared = Arc::new(Shared {
        config,
        wake: WakeIndex::default(),
        event: Event::new()?,
        waker: AtomicWaker::new(),
        tally: LaneTally::default(),
        is_client_gone: AtomicBool::new(false),
        closed: AtomicU8::new(0),
        returned: Mutex::new(None),
        owners: Mutex::new(Vec::new()),
    });
    let slots = config.depth.next_power_of_two();
    let (submit, requests) = ring(slots * 2);
    let (completions, reap) = ring(slots * 2);
    let depth = u32::try_from(config.depth).expect("at most DEPTH_MAX");
    let worker = WorkerLane {
        shared: Arc::clone(&shared),
        requests,
        completions,
        next: 0,
        end: 0,
        staged: 0,
    };
    Ok((
        Lane::new(shared, control, submit, reap, Tickets::new(depth)),
        worker,
    ))
}
