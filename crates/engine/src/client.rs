//! The client's end of a lane: submit, reap, wait, await.

use std::future::Future;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crypto::Status;
use policy::Moderation;
use sys::ring::{Consumer, Producer};

use crate::counters::LaneCounters;
use crate::lane::{Closed, Done, Entry, LaneConfig, Owner, Shared};
use crate::pool::Control;
use crate::tickets::Tickets;

/// How often a polling client looks at the clock: every so many looks at the ring.
const LOOKS_A_CLOCK: u32 = 256;

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
    /// The lane has ended.
    #[error("the lane is closed: {0}")]
    Closed(Closed),
}

/// Why a wait ended without a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// Nothing is in flight, so nothing would ever come.
    #[error("nothing is in flight")]
    Idle,
    /// The time is over; the requests are still in flight.
    #[error("no completion within the time limit")]
    TimedOut,
}

/// The client's end. One thread at a time uses it; it may move between threads.
#[derive(Debug)]
pub struct Lane<R: Copy + Send> {
    shared: Arc<Shared<R>>,
    control: Arc<Control<R>>,
    requests: Producer<Entry<R>>,
    completions: Consumer<Done>,
    tickets: Tickets,
    /// Completions made up after the worker's end, last first.
    settled: Vec<Done>,
    returned: Option<Consumer<Entry<R>>>,
    /// Submitted since the worker was last looked after.
    is_unkicked: bool,
    counters: LaneCounters,
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
        Self {
            shared,
            control,
            requests,
            completions,
            tickets,
            settled,
            returned: None,
            is_unkicked: false,
            counters,
        }
    }

    /// How the lane was configured.
    #[must_use]
    pub fn config(&self) -> &LaneConfig {
        &self.shared.config
    }

    /// Requests in flight: submitted and not reaped.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.tickets.in_flight()
    }

    /// Requests that can be submitted now.
    #[must_use]
    pub fn room(&self) -> usize {
        self.shared.config.depth - self.in_flight()
    }

    /// Whether and how the worker's end has closed.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.shared.closed()
    }

    /// The counters now.
    #[must_use]
    pub fn counters(&self) -> LaneCounters {
        let tally = &self.shared.tally;
        LaneCounters {
            completed: tally.completed.value(),
            notifications: tally.notifications.value(),
            ..self.counters
        }
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

    /// Lets go of `owner`, if nothing is in flight that may point into it.
    pub(crate) fn release(&self, owner: &Owner) -> bool {
        if self.in_flight() > 0 {
            return false;
        }
        let mut owners = self
            .shared
            .owners
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // Once only: it may be held for another reason, too.
        if let Some(index) = owners.iter().position(|held| Arc::ptr_eq(held, owner)) {
            owners.swap_remove(index);
        }
        true
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

    /// Submits one request without looking whether the worker sleeps: call
    /// [`kick`](Self::kick) after the last of several. Waits do it, too.
    ///
    /// # Errors
    /// [`SubmitError`]; the request was not started. A refusal is counted.
    pub fn enqueue(&mut self, request: R, token: u64) -> Result<(), SubmitError> {
        if let Some(closed) = self.shared.closed() {
            return Err(SubmitError::Closed(closed));
        }
        let Some(ticket) = self.tickets.take(token) else {
            self.counters.refused += 1;
            return Err(SubmitError::Full);
        };
        self.requests
            .push(Entry { ticket, request })
            .ok()
            .expect("the ring holds as many entries as there are tickets");
        self.counters.submitted += 1;
        self.is_unkicked = true;
        Ok(())
    }

    /// Wakes the worker if it sleeps and something was submitted.
    pub fn kick(&mut self) {
        if std::mem::take(&mut self.is_unkicked) && self.control.ring_doorbell() {
            self.counters.doorbells += 1;
        }
    }

    /// Takes up to `max` completions that are there now; returns how many.
    pub fn reap(&mut self, max: usize, mut take: impl FnMut(Completion)) -> usize {
        if self.available() == 0 {
            return 0;
        }
        let Self {
            tickets,
            settled,
            completions,
            ..
        } = self;
        let mut finish = |done: Done| {
            take(Completion {
                token: tickets.give_back(done.ticket),
                status: done.status,
            })
        };
        let mut count = completions.drain(max, &mut finish);
        while count < max
            && let Some(done) = settled.pop()
        {
            finish(done);
            count += 1;
        }
        self.counters.reaped += count as u64;
        count
    }

    /// Waits until `at_least` completions are there (as many as are in flight
    /// if that is fewer), or the worker has nothing more of this lane, or the
    /// time is over. Sleeps or polls as the lane's policy says. Returns how
    /// many are there, at least 1; a caller that must have all calls again.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn wait(&mut self, at_least: usize, timeout: Duration) -> Result<usize, WaitError> {
        if self.in_flight() == 0 {
            return Err(WaitError::Idle);
        }
        self.kick();
        let wanted = at_least.clamp(1, self.in_flight());
        let there = self.available();
        if there >= wanted {
            return Ok(there);
        }
        let deadline = Instant::now() + timeout;
        if self.shared.config.moderation.client_sleeps() {
            self.sleep(wanted, deadline)
        } else {
            self.poll_until(wanted, deadline)
        }
    }

    /// Completions there now. Reads the shared index only when the cached
    /// one is used up.
    fn available(&mut self) -> usize {
        let there = self.completions.len();
        if there > 0 { there } else { self.settle() }
    }

    /// As [`available`](Self::available), with a fresh look.
    fn available_now(&mut self) -> usize {
        let there = self.completions.len_now();
        if there > 0 { there } else { self.settle() }
    }

    /// After the worker's end: makes up completions for what is left. What
    /// is still in the submission ring was never taken; the rest was in the
    /// worker's hands when it died.
    fn settle(&mut self) -> usize {
        let Some(_) = self.shared.closed() else {
            return 0;
        };
        // Published before the lane was closed, so there for certain now.
        let there = self.completions.len_now();
        if there > 0 || !self.settled.is_empty() {
            return there + self.settled.len();
        }
        if self.returned.is_none() {
            self.returned = self.shared.take_returned();
        }
        if let Some(requests) = &mut self.returned {
            requests.len_now();
            requests.drain(usize::MAX, |entry| {
                self.settled.push(Done {
                    ticket: entry.ticket,
                    status: Status::Cancelled,
                });
            });
        }
        let cancelled = self.settled.len();
        for ticket in self.tickets.held() {
            if !self.settled[..cancelled]
                .iter()
                .any(|done| done.ticket == ticket)
            {
                self.settled.push(Done {
                    ticket,
                    status: Status::WorkerFailed,
                });
            }
        }
        self.settled.len()
    }

    fn sleep(&mut self, wanted: usize, deadline: Instant) -> Result<usize, WaitError> {
        // A task that awaited before must not swallow this sleeper's signal.
        self.shared.waker.take();
        loop {
            self.arm(wanted);
            let there = self.available_now();
            if there >= wanted {
                self.shared.wake.disarm();
                return Ok(there);
            }
            if self.shared.closed().is_some() {
                // Now everything in flight settles: at least one is there.
                return Ok(self.available_now());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            self.counters.sleeps += 1;
            let is_signalled = self.shared.event.wait(left);
            let there = self.available_now();
            if there > 0 {
                self.shared.wake.disarm();
                return Ok(there);
            }
            if !is_signalled && Instant::now() >= deadline {
                self.shared.wake.disarm();
                return Err(WaitError::TimedOut);
            }
        }
    }

    fn arm(&mut self, wanted: usize) {
        let wanted = u32::try_from(wanted).expect("at most DEPTH_MAX");
        self.shared
            .wake
            .arm(self.completions.index().wrapping_add(wanted));
    }

    fn poll_until(&mut self, wanted: usize, deadline: Instant) -> Result<usize, WaitError> {
        for look in 1u32.. {
            let there = self.available_now();
            if there >= wanted {
                return Ok(there);
            }
            if self.shared.config.is_core_shared {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
            if look.is_multiple_of(LOOKS_A_CLOCK) && Instant::now() >= deadline {
                break;
            }
        }
        match self.available_now() {
            0 => Err(WaitError::TimedOut),
            there => Ok(there),
        }
    }

    /// Ready when a completion is there or nothing is in flight: the poll
    /// interface, for executors. A lane that never notifies (`polled`,
    /// `spin`) asks to be polled again at once.
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        self.kick();
        if self.in_flight() == 0 {
            return Poll::Ready(0);
        }
        self.shared.waker.register(context.waker());
        self.arm(1);
        let there = self.available_now();
        if there > 0 {
            self.shared.wake.disarm();
            self.shared.waker.take();
            return Poll::Ready(there);
        }
        if matches!(
            self.shared.config.moderation,
            Moderation::Polled | Moderation::Spin
        ) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Awaits completions: resolves to how many are there, 0 if nothing is in flight.
    pub fn ready(&mut self) -> Ready<'_, R> {
        Ready(self)
    }
}

/// The descriptor that becomes readable with a notification, for `epoll`
/// beside other work: call [`Lane::wait`] with no time to arm and look.
impl<R: Copy + Send> AsFd for Lane<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.event.as_fd()
    }
}

impl<R: Copy + Send> Drop for Lane<R> {
    fn drop(&mut self) {
        // What is in flight is finished by the worker, which then lets go of
        // its end and so of all that the requests point into.
        self.shared.is_client_gone.store(true, Ordering::Release);
        self.control.call();
    }
}

/// Future of [`Lane::ready`]. Dropping it loses nothing.
#[derive(Debug)]
pub struct Ready<'lane, R: Copy + Send>(&'lane mut Lane<R>);

impl<R: Copy + Send> Future for Ready<'_, R> {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        self.0.poll_ready(context)
    }
}
