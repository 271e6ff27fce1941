//! A lane: what both ends share, and how it is made.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use atomic_waker::AtomicWaker;
use crypto::Status;
use policy::{Counters, Moderation, Settings};
use sys::clock::now_ns;
use sys::event::Event;
use sys::limits::{is_too_many_files, raise_open_files};
use sys::ring::{Consumer, ring};
use sys::wake::WakeIndex;

use crate::client::Lane;
use crate::counters::{ClientTally, LaneTally};
use crate::function::{Function, LANES_MAX, Life};
use crate::pool::Control;
use crate::tickets::Tickets;
use crate::worker_lane::WorkerLane;

pub const DEPTH_MAX: usize = 4096;

/// Pieces of requests are a multiple of this many bytes.
pub const PIECE_BYTES_MIN: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    Fifo,
    /// As done: lets the worker group by kind without holding anything back.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneConfig {
    pub depth: usize,
    pub moderation: Moderation,
    /// How far notifications are held back at first; see
    /// [`Watch::set`](crate::Watch::set).
    pub settings: Settings,
    /// Requests longer than this are processed in pieces of this many bytes (the VCM
    /// paper's equation 9), so that others get their turn in between. A multiple of
    /// [`PIECE_BYTES_MIN`]. With `None`, and where a request cannot be cut
    /// ([`Service::split`](crate::Service::split)), it is processed in one go.
    pub piece_bytes: Option<usize>,
    pub order: Order,
    /// Whether client and worker share one core: a side that polls then yields the
    /// core between looks.
    pub is_core_shared: bool,
    /// For measurements: a woken client first waits this long, as on a host whose
    /// cores are far apart.
    #[doc(hidden)]
    pub wake_delay: Duration,
}

impl Default for LaneConfig {
    fn default() -> Self {
        Self {
            depth: 64,
            moderation: Moderation::Armed,
            settings: Settings::UNLIMITED,
            piece_bytes: None,
            order: Order::Any,
            is_core_shared: false,
            wake_delay: Duration::ZERO,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    #[error("lane depth {depth} must be from 1 to {DEPTH_MAX}")]
    Depth { depth: usize },
    #[error("pieces of {bytes} bytes: must be a multiple of {PIECE_BYTES_MIN}, or none")]
    Piece { bytes: usize },
    #[error("worker {worker} does not exist; this engine has {workers}, numbered from 0")]
    Worker { worker: usize, workers: usize },
    #[error("worker {worker} has ended ({closed:?}); start a new engine")]
    WorkerEnded { worker: usize, closed: Closed },
    #[error("worker {worker} has {LANES_MAX} lanes, which is the most; close some or use another")]
    TooMany { worker: usize },
    #[error(
        "the virtual function has {lanes} lanes, which is the most it was made for; close some"
    )]
    Share { lanes: usize },
    #[error(
        "the virtual function makes more than {per_s} lanes a second; use those that it has again"
    )]
    TooOften { per_s: u64 },
    #[error("the virtual function is {0}; make another")]
    Ended(Life),
    #[error(
        "{limit} files are open, which is the most; each lane needs one: raise the limit (`ulimit -Hn`, then `ulimit -n`)"
    )]
    Files { limit: u64 },
    #[error(
        "cannot make the lane's notifier or memory; raise the limit of open files (`ulimit -n`) or free memory"
    )]
    Resources(#[from] io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Closed {
    #[error("the engine was shut down")]
    Shutdown = 1,
    #[error("the worker panicked")]
    WorkerFailed = 2,
    #[error("its virtual function was removed")]
    Removed = 3,
}

/// Stored instead of how a lane ended: the lane is open, but takes no requests.
const DRAINING: u8 = 4;

/// What a client says of one request, so that moderation does not delay what
/// a client waits for (Tai et al., "Optimizing Storage Performance with
/// Calibrated Interrupts", OSDI 2021, §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hint {
    #[default]
    None,
    /// A thread waits for this one: its completion is notified of at once.
    Urgent,
    /// A thread waits for this one and all before it: the notification comes
    /// at once when all of them are complete.
    Barrier,
}

/// A ticket on its way carries the hint in bits that no ticket needs.
pub(crate) const URGENT: u32 = 1 << 31;
pub(crate) const BARRIER: u32 = 1 << 30;
pub(crate) const HINTS: u32 = URGENT | BARRIER;

impl Hint {
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Urgent => URGENT,
            Self::Barrier => BARRIER,
        }
    }
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
    pub(crate) slot: u32,
    pub(crate) settings: AtomicU64,
    pub(crate) wake: WakeIndex,
    pub(crate) event: Event,
    pub(crate) waker: AtomicWaker,
    pub(crate) tally: LaneTally,
    pub(crate) client_tally: ClientTally,
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
            0 | DRAINING => None,
            1 => Some(Closed::Shutdown),
            3 => Some(Closed::Removed),
            _ => Some(Closed::WorkerFailed),
        }
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.closed.load(Ordering::Acquire) == 0
    }

    /// Stops or resumes taking requests, unless the lane is closed.
    pub(crate) fn set_draining(&self, is_draining: bool) {
        let (from, to) = if is_draining {
            (0, DRAINING)
        } else {
            (DRAINING, 0)
        };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        // In any other state there is nothing to change.
        let _ = self.closed.compare_exchange(from, to, order.0, order.1);
    }

    pub(crate) fn counters(&self) -> Counters {
        let tally = &self.tally;
        Counters {
            requests: tally.completed.value(),
            bytes: tally.bytes.value(),
            notifications: tally.notifications.value(),
            held: tally.held.value(),
            held_ns: tally.held_ns.value(),
            in_flight: tally.in_flight.value(),
            looks: tally.looks.value(),
            spun_ns: self.client_tally.spun_ns.value(),
            busy_ns: 0,
        }
    }

    pub(crate) fn notify(&self) {
        if self.config.moderation != Moderation::Hybrid {
            return self.signal();
        }
        // What a wake-up costs, its client learns.
        let begin_ns = now_ns();
        self.tally.notified_ns.set(begin_ns);
        self.signal();
        self.tally.signal_ns.set(now_ns().saturating_sub(begin_ns));
    }

    fn signal(&self) {
        match self.waker.take() {
            // A task's waker is its executor's code: its panic is not to end
            // the worker and all other clients with it.
            Some(waker) => drop(catch_unwind(AssertUnwindSafe(|| waker.wake()))),
            None => self.event.signal(),
        }
    }

    /// Drops one hold on `owner`.
    pub(crate) fn let_go(&self, owner: &Owner) {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = owners.iter().position(|held| Arc::ptr_eq(held, owner)) {
            owners.swap_remove(index);
        }
    }

    pub(crate) fn take_returned(&self) -> Option<Consumer<Entry<R>>> {
        self.returned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    pub(crate) fn close(&self, requests: Consumer<Entry<R>>, how: Closed) {
        *self.returned.lock().unwrap_or_else(PoisonError::into_inner) = Some(requests);
        self.end(how);
    }

    pub(crate) fn end(&self, how: Closed) {
        self.closed.store(how as u8, Ordering::Release);
        // Both, since a sleeper may be either; a spurious signal is harmless.
        self.signal();
        self.event.signal();
    }
}

/// A notifier; where the process has as many files open as it may, the limit
/// is raised as far as it can be.
fn event() -> Result<Event, LaneError> {
    match Event::new() {
        Err(error) if is_too_many_files(&error) => match raise_open_files()? {
            (_, true) => Ok(Event::new()?),
            (limit, false) => Err(LaneError::Files { limit }),
        },
        other => Ok(other?),
    }
}

pub(crate) fn lane<R: Copy + Send>(
    config: LaneConfig,
    control: Arc<Control<R>>,
    slot: u32,
    function: Option<Arc<Function<R>>>,
) -> Result<(Lane<R>, WorkerLane<R>), LaneError> {
    if !(1..=DEPTH_MAX).contains(&config.depth) {
        return Err(LaneError::Depth {
            depth: config.depth,
        });
    }
    if let Some(bytes) = config.piece_bytes
        && (bytes == 0 || !bytes.is_multiple_of(PIECE_BYTES_MIN))
    {
        return Err(LaneError::Piece { bytes });
    }
    let shared = Arc::new(Shared {
        config,
        slot,
        settings: AtomicU64::new(config.settings.pack()),
        wake: WakeIndex::default(),
        event: event()?,
        waker: AtomicWaker::new(),
        tally: LaneTally::default(),
        client_tally: ClientTally::default(),
        is_client_gone: AtomicBool::new(false),
        closed: AtomicU8::new(0),
        returned: Mutex::new(None),
        owners: Mutex::new(Vec::new()),
    });
    let slots = config.depth.next_power_of_two();
    let (submit, requests) = ring(slots * 2);
    let (completions, reap) = ring(slots * 2);
    let depth = u32::try_from(config.depth).expect("at most DEPTH_MAX");
    let worker = WorkerLane::new(Arc::clone(&shared), requests, completions, function);
    Ok((
        Lane::new(shared, control, submit, reap, Tickets::new(depth)),
        worker,
    ))
}
