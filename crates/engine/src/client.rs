//! The client's end of a lane: submit and reap; `waiting` has the waits.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crypto::Status;
use policy::{Hybrid, Refill};
use sys::ring::{Consumer, Producer};

use crate::counters::LaneCounters;
use crate::lane::{Closed, Done, Entry, HINTS, Hint, LaneConfig, Owner, Shared};
use crate::leaving::Leaving;
use crate::pool::Control;
use crate::tickets::Tickets;
use crate::watch::Watch;

/// Requests submitted together cross in shared cache line transfers, but the
/// worker should not wait for the last of many.
const STAGED_MAX: usize = 8;

/// How one request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the client gave at submission.
    pub token: u64,
    /// The end.
    pub status: Status,
}

/// Why a request was not accepted; it was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// As many requests as the lane is deep are in flight.
    #[error("the lane is full; reap completions first, or make it deeper")]
    Full,
    /// The lane's virtual function takes no requests for now.
    #[error("the virtual function is being drained; wait until it is resumed or removed")]
    Draining,
    /// The lane has ended.
    #[error("the lane is closed: {0}")]
    Closed(Closed),
}

/// The client's end. One thread at a time uses it; it may move between threads.
#[derive(Debug)]
pub struct Lane<R: Copy + Send> {
    pub(crate) shared: Arc<Shared<R>>,
    control: Arc<Control<R>>,
    requests: Producer<Entry<R>>,
    pub(crate) completions: Consumer<Done>,
    tickets: Tickets,
    /// Completions made up after the worker's end, last first.
    settled: Vec<Done>,
    returned: Option<Consumer<Entry<R>>>,
    /// Values without a name, into which requests in flight may still point.
    leaving: Vec<Leaving>,
    pub(crate) counters: LaneCounters,
    pub(crate) refill: Refill,
    pub(crate) hybrid: Hybrid,
    /// Slept, and has not shown the worker new requests since.
    pub(crate) is_refilling: bool,
    /// Requests the worker cannot see yet.
    staged: usize,
    /// Something was submitted since the worker was last woken if it slept.
    is_unkicked: bool,
}

impl<R: Copy + Send> Lane<R> {
    pub(crate) fn new(
        shared: Arc<Shared<R>>,
        control: Arc<Control<R>>,
        requests: Producer<Entry<R>>,
        completions: Consumer<Done>,
        tickets: Tickets,
    ) -> Self {
        let settled = Vec::with_capacity(shared.config.depth);
        let counters = LaneCounters::default();
        let refill = Refill::new(shared.config.depth);
        Self {
            shared,
            control,
            requests,
            completions,
            tickets,
            settled,
            returned: None,
            leaving: Vec::new(),
            counters,
            refill,
            hybrid: Hybrid::default(),
            is_refilling: false,
            staged: 0,
            is_unkicked: false,
        }
    }

    /// How the lane was configured.
    pub fn config(&self) -> &LaneConfig {
        &self.shared.config
    }

    pub(crate) fn ends(&self) -> (Arc<Control<R>>, Arc<Shared<R>>) {
        (Arc::clone(&self.control), Arc::clone(&self.shared))
    }

    /// Requests in flight: submitted and not reaped.
    pub fn in_flight(&self) -> usize {
        self.tickets.in_flight()
    }

    /// Requests that can be submitted now.
    pub fn room(&self) -> usize {
        self.shared.config.depth - self.in_flight()
    }

    /// Whether it takes requests: it is not closed, and its virtual function is not
    /// drained.
    pub fn is_open(&self) -> bool {
        self.shared.is_open()
    }

    /// Whether and how the worker's end has closed.
    pub fn closed(&self) -> Option<Closed> {
        self.shared.closed()
    }

    /// Crossings client → worker so far: of the counters, one that the client
    /// itself has at hand.
    pub fn doorbells(&self) -> u64 {
        self.counters.doorbells
    }

    /// The counters now.
    pub fn counters(&self) -> LaneCounters {
        let tally = &self.shared.tally;
        LaneCounters {
            completed: tally.completed.value(),
            bytes: tally.bytes.value(),
            notifications: tally.notifications.value(),
            held: tally.held.value(),
            held_ns: tally.held_ns.value(),
            held_alone: tally.held_alone.value(),
            wake_ns: self.hybrid.wake_ns(),
            signal_ns: self.hybrid.signal_ns(),
            spun_ns: self.shared.client_tally.spun_ns.value(),
            ..self.counters
        }
    }

    /// The lane as a controller sees it.
    pub fn watch(&self) -> Watch
    where
        R: 'static,
    {
        Watch::new(Arc::clone(&self.shared), Arc::clone(&self.control))
    }

    /// Keeps `owner` alive until both ends of the lane are gone: requests may
    /// point into it.
    pub(crate) fn retain(&self, owner: Owner) {
        let mut owners = self
            .shared
            .owners
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        owners.push(owner);
    }

    /// Lets go of `owner` when nothing is in flight any more that may point into it.
    pub(crate) fn release(&mut self, owner: Owner) {
        let mut leaving = Leaving::new(owner, self.shared.config.depth);
        self.tickets.held().for_each(|ticket| leaving.add(ticket));
        if leaving.count == 0 {
            self.shared.let_go(&leaving.owner);
        } else {
            self.leaving.push(leaving);
        }
    }

    /// Lets go of what the requests just reaped were the last to point into.
    #[cold]
    fn let_go(&mut self) {
        let gone = self.leaving.extract_if(.., |leaving| leaving.count == 0);
        gone.for_each(|leaving| self.shared.let_go(&leaving.owner));
    }

    /// The ticket the next submission will hold; `None` when full.
    pub(crate) fn next_ticket(&self) -> Option<u32> {
        self.tickets.next()
    }

    /// Submits one request and wakes the worker if it sleeps.
    ///
    /// # Errors
    /// [`SubmitError`]; the request was not started. A refusal is counted.
    pub fn submit(&mut self, request: R, token: u64) -> Result<(), SubmitError> {
        self.enqueue(request, token)?;
        self.kick();
        Ok(())
    }

    /// Submits one request of several: call [`kick`](Self::kick) after the
    /// last. The worker sees them a few at a time, and is not woken before the
    /// kick. Waits and reaping kick, too.
    ///
    /// # Errors
    /// [`SubmitError`]; the request was not started. A refusal is counted.
    // Inlined: see `Producer::stage`.
    #[inline(always)]
    pub fn enqueue(&mut self, request: R, token: u64) -> Result<(), SubmitError> {
        self.enqueue_with(request, token, Hint::None)
    }

    /// [`enqueue`](Self::enqueue) with a hint.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn enqueue_with(&mut self, request: R, token: u64, hint: Hint) -> Result<(), SubmitError> {
        if !self.shared.is_open() {
            return Err(self.refusal());
        }
        let Some(ticket) = self.tickets.take(token) else {
            self.counters.refused += 1;
            return Err(SubmitError::Full);
        };
        self.requests
            .stage(Entry {
                ticket: ticket | hint.bits(),
                request,
            })
            .ok()
            .expect("the ring has a slot for every ticket");
        self.counters.submitted += 1;
        self.staged += 1;
        self.is_unkicked = true;
        if self.staged == STAGED_MAX {
            self.show();
        }
        Ok(())
    }

    /// Why the lane takes nothing.
    #[cold]
    fn refusal(&self) -> SubmitError {
        let closed = self.shared.closed();
        closed.map_or(SubmitError::Draining, SubmitError::Closed)
    }

    /// Shows the worker what was submitted, and wakes it if it sleeps.
    pub fn kick(&mut self) {
        if self.is_unkicked {
            self.show();
            self.is_unkicked = false;
            self.counters.doorbells += u64::from(self.control.ring_doorbell(self.shared.slot));
        }
    }

    /// Shows the worker what was submitted. The first time after a sleep this
    /// tells how much work it had left meanwhile.
    fn show(&mut self) {
        if std::mem::take(&mut self.is_refilling) {
            let before = self.in_flight() - self.staged;
            self.refill
                .woken(before.saturating_sub(self.completions.len_now()));
        }
        self.requests.publish();
        self.staged = 0;
    }

    /// Shows its own worker what was submitted, from the worker's own thread: see
    /// [`Resident`](crate::Resident).
    pub fn show_here(&mut self) {
        self.show();
        self.is_unkicked = false;
    }

    /// Takes a notification back that has been seen on the descriptor, so
    /// that it becomes readable only with the next one.
    pub fn clear_notification(&self) {
        self.shared.event.clear();
    }

    /// Takes up to `max` completions that are there now; returns how many.
    pub fn reap(&mut self, max: usize, mut take: impl FnMut(Completion)) -> usize {
        self.kick();
        if self.available() == 0 {
            return 0;
        }
        let Self {
            tickets,
            settled,
            completions,
            leaving,
            ..
        } = self;
        let is_anything_leaving = !leaving.is_empty();
        let mut finish = |done: Done| {
            if is_anything_leaving {
                leaving.iter_mut().for_each(|one| one.remove(done.ticket));
            }
            take(Completion {
                token: tickets.give_back(done.ticket),
                status: done.status,
            })
        };
        let mut count = completions.drain(max, |done| finish(*done));
        while count < max
            && let Some(done) = settled.pop()
        {
            finish(done);
            count += 1;
        }
        self.counters.reaped += count as u64;
        if !self.leaving.is_empty() {
            self.let_go();
        }
        count
    }

    /// Completions there now. Reads the shared index only when the cached
    /// one is used up.
    pub(crate) fn available(&mut self) -> usize {
        let there = self.completions.len();
        if there > 0 { there } else { self.settle() }
    }

    /// As [`available`](Self::available), with a fresh look.
    pub(crate) fn available_now(&mut self) -> usize {
        let there = self.completions.len_now();
        if there > 0 { there } else { self.settle() }
    }

    /// After the worker's end: makes up completions for what is left. What
    /// is still in the submission ring was never taken; the rest was in the
    /// worker's hands when it died.
    fn settle(&mut self) -> usize {
        let Some(closed) = self.shared.closed() else {
            return 0;
        };
        let lost = match closed {
            Closed::WorkerFailed => Status::WorkerFailed,
            Closed::Shutdown | Closed::Removed => Status::Cancelled,
        };
        // Published before the lane was closed, so there for certain now.
        let there = self.completions.len_now();
        if there > 0 || !self.settled.is_empty() {
            return there + self.settled.len();
        }
        self.requests.publish();
        if self.returned.is_none() {
            self.returned = self.shared.take_returned();
        }
        if let Some(requests) = &mut self.returned {
            requests.len_now();
            requests.drain(usize::MAX, |entry| {
                self.settled.push(Done {
                    ticket: entry.ticket & !HINTS,
                    status: Status::Cancelled,
                });
            });
        }
        self.settled.reverse();
        let cancelled = self.settled.len();
        for ticket in self.tickets.held() {
            if !self.settled[..cancelled]
                .iter()
                .any(|done| done.ticket == ticket)
            {
                self.settled.push(Done {
                    ticket,
                    status: lost,
                });
            }
        }
        self.settled.len()
    }
}

/// The descriptor that becomes readable with a notification, for `epoll`
/// beside other work. Reap; then [`Lane::clear_notification`]; then
/// [`Lane::wait`] with no time: if it times out, the lane is armed and the
/// descriptor tells of the next completion.
impl<R: Copy + Send> AsFd for Lane<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }
}

impl<R: Copy + Send> Drop for Lane<R> {
    fn drop(&mut self) {
        self.requests.publish();
        // What is in flight is finished by the worker, which then lets go of
        // its end and so of all that the requests point into.
        self.shared.is_client_gone.store(true, Ordering::Release);
        self.control.call_for(self.shared.slot);
    }
}
