//! How a client waits: asleep, polling, or as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use policy::Moderation;

use crate::client::Lane;

/// How often a polling client looks at the clock: every so many looks at the ring.
const LOOKS_A_CLOCK: u32 = 64;

/// As good as for ever, and no overflow of the clock.
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400 * 365);

const PAUSES_A_COMPLETION: usize = 4;
const PAUSES_MAX: usize = 64;

/// Between two looks at the ring: the longer, the more completions are still
/// lacking. Every look takes the index's cache line away from the worker,
/// which then waits for it when it publishes.
fn pause(lacking: usize) {
    for _ in 0..(lacking * PAUSES_A_COMPLETION).min(PAUSES_MAX) {
        std::hint::spin_loop();
    }
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

impl<R: Copy + Send> Lane<R> {
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
        let deadline = Instant::now() + timeout.min(TIMEOUT_MAX);
        if self.shared.config.moderation.client_sleeps() {
            self.sleep(wanted, deadline)
        } else {
            self.poll_until(wanted, deadline)
        }
    }

    /// For a client that keeps the lane full: waits until it is time to
    /// refill it. A sleeping client is woken as late as the worker allows
    /// without running dry, which is learnt ([`Refill`](policy::Refill)), or
    /// only when all is done where it shares the worker's core; one
    /// that is notified of each completion goes on with the first.
    /// Returns how many completions are there, at least 1.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn wait_to_refill(&mut self, timeout: Duration) -> Result<usize, WaitError> {
        let wanted = match self.shared.config.moderation {
            Moderation::Each => 1,
            // While a client of the worker's own core wakes up and refills,
            // the worker does nothing either way: so as seldom as can be.
            Moderation::Armed if self.shared.config.is_core_shared => self.in_flight(),
            Moderation::Armed => self.refill.wanted(self.in_flight()),
            // A client that polls is never late; half at a time moves fewer
            // cache lines than one by one.
            Moderation::Polled | Moderation::Spin => self.in_flight().div_ceil(2),
        };
        let sleeps = self.counters.sleeps;
        let there = self.wait(wanted, timeout)?;
        self.is_refilling = self.counters.sleeps > sleeps;
        Ok(there)
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
                // Still armed: who waits by the descriptor is told later.
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
        let index = u32::try_from(wanted).expect("at most DEPTH_MAX");
        self.shared
            .wake
            .look_for(self.completions.index().wrapping_add(index));
        let result = self.look(wanted, deadline);
        if !matches!(result, Ok(there) if there >= wanted) {
            // Else it is among the completions there, and hides nothing.
            self.shared.wake.disarm();
        }
        result
    }

    fn look(&mut self, wanted: usize, deadline: Instant) -> Result<usize, WaitError> {
        for look in 1u32.. {
            let there = self.available_now();
            if there >= wanted {
                return Ok(there);
            }
            if self.shared.config.is_core_shared {
                std::thread::yield_now();
            } else {
                pause(wanted - there);
            }
            // A closed lane gives what its worker did first, the rest after.
            if look.is_multiple_of(LOOKS_A_CLOCK)
                && (self.shared.closed().is_some() || Instant::now() >= deadline)
            {
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

/// Future of [`Lane::ready`]. Dropping it loses nothing.
#[derive(Debug)]
pub struct Ready<'lane, R: Copy + Send>(&'lane mut Lane<R>);

impl<R: Copy + Send> Future for Ready<'_, R> {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        self.0.poll_ready(context)
    }
}
