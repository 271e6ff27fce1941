//! How a client waits: asleep, polling, or as a future.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use policy::{Moderation, Settings, Slept, Step, Waited};
use sys::clock::{make_timers_exact, now_ns, put_timers_off_by, timer_slack_ns};

use crate::client::Lane;

const PAUSES_A_CLOCK: usize = 256;

/// As good as unlimited, without overflow of the clock.
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400 * 365);

const PAUSES_A_COMPLETION: usize = 4;
const PAUSES_MAX: usize = 64;

/// Between two looks at the ring: the longer, the more completions are still
/// lacking. Every look takes the index's cache line away from the worker,
/// which then waits for it when it publishes. Returns how many pauses it was.
fn pause(lacking: usize) -> usize {
    let pauses = (lacking * PAUSES_A_COMPLETION).min(PAUSES_MAX);
    (0..pauses).for_each(|_| std::hint::spin_loop());
    pauses
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    #[error("nothing is in flight")]
    Idle,
    #[error("no completion within the time limit")]
    TimedOut,
}

impl<R: Copy + Send> Lane<R> {
    /// Waits until `at_least` completions are there (or all that are in flight, if
    /// fewer), the worker has nothing more of this lane, or the time is over. Sleeps
    /// or polls as the lane's policy says. Returns how many are there, at least 1; a
    /// caller that needs all calls again.
    pub fn wait(&mut self, at_least: usize, timeout: Duration) -> Result<usize, WaitError> {
        self.wait_for(at_least, false, timeout)
    }

    fn wait_for(
        &mut self,
        at_least: usize,
        refills: bool,
        timeout: Duration,
    ) -> Result<usize, WaitError> {
        if self.in_flight() == 0 {
            return Err(WaitError::Idle);
        }
        self.kick();
        let wanted = at_least.clamp(1, self.in_flight());
        let there = self.available();
        if there >= wanted {
            return Ok(there);
        }
        let begin_ns = now_ns();
        let timeout_ns = timeout.min(TIMEOUT_MAX).as_nanos() as u64;
        let deadline_ns = begin_ns.saturating_add(timeout_ns);
        if self.may_spin() {
            self.sleep_or_spin(wanted, refills, begin_ns, deadline_ns)
        } else if self.shared.config.moderation.client_sleeps() {
            self.sleep(wanted, deadline_ns)
        } else {
            self.poll_until(wanted, deadline_ns)
        }
    }

    /// Whether [`Hybrid`](policy::Hybrid) decides how it waits. On the worker's core
    /// polling would only keep the worker from its work.
    fn may_spin(&self) -> bool {
        let config = &self.shared.config;
        config.moderation == Moderation::Hybrid
            && !config.is_core_shared
            && !Settings::unpack(self.shared.settings.load(Ordering::Relaxed)).is_asleep()
    }

    /// For a client that keeps the lane full: waits until it is time to refill it. A
    /// sleeping client is woken as late as the worker allows without running dry,
    /// which is learnt ([`Refill`](policy::Refill)). On the worker's core it is woken
    /// when all is done. With a notification for each completion it continues at the
    /// first. Returns how many completions are there, at least 1.
    pub fn wait_to_refill(&mut self, timeout: Duration) -> Result<usize, WaitError> {
        let (in_flight, config) = (self.in_flight(), self.shared.config);
        let wanted = match config.moderation {
            Moderation::Each => 1,
            // While a client of the worker's own core wakes up and refills,
            // the worker does nothing either way: so as seldom as can be.
            Moderation::Armed | Moderation::Hybrid if config.is_core_shared => in_flight,
            Moderation::Hybrid if self.may_spin() && !self.is_long() => in_flight.div_ceil(2),
            Moderation::Armed | Moderation::Hybrid => self.refill.wanted(in_flight),
            // A client that polls is never late; half at a time moves fewer
            // cache lines than one by one.
            Moderation::Polled | Moderation::Spin => in_flight.div_ceil(2),
        };
        let sleeps = self.counters.sleeps;
        let there = self.wait_for(wanted, true, timeout)?;
        self.is_refilling = self.counters.sleeps > sleeps;
        Ok(there)
    }

    fn is_long(&mut self) -> bool {
        let wanted = self.refill.wanted(self.in_flight());
        let lacking = wanted.saturating_sub(self.available());
        self.hybrid.is_long(lacking)
    }

    /// Sleeps while that is worth a wake-up, and polls otherwise, as
    /// [`Hybrid`](policy::Hybrid) says. A client that refills continues with what is
    /// there when it has polled for long enough.
    fn sleep_or_spin(
        &mut self,
        wanted: usize,
        refills: bool,
        begin_ns: u64,
        deadline_ns: u64,
    ) -> Result<usize, WaitError> {
        let mut waited = Waited::default();
        let mut time_ns = begin_ns;
        let before = self.available_now();
        loop {
            let there = self.available_now();
            let is_over = refills && waited.spun_ns > 0;
            if there >= wanted || there > 0 && (is_over || self.shared.closed().is_some()) {
                return Ok(there);
            }
            match self.hybrid.step(wanted - there, waited) {
                // Armed when it ends, for a client that waits by the descriptor.
                _ if time_ns >= deadline_ns => return self.sleep(wanted, deadline_ns),
                Step::Spin(limit_ns) => {
                    let until_ns = time_ns.saturating_add(limit_ns).min(deadline_ns);
                    self.spin(wanted, before, begin_ns, (time_ns, until_ns));
                    waited.spun_ns += until_ns - time_ns;
                    time_ns = until_ns;
                }
                Step::Nap(nap_ns) => {
                    let until_ns = time_ns.saturating_add(nap_ns).min(deadline_ns);
                    time_ns = self.nap(until_ns);
                    waited.sleeps += 1;
                    let there = self.available_now();
                    if there > 0 && time_ns < until_ns {
                        return Ok(there);
                    }
                }
                Step::Sleep(count) => {
                    let goal = there + count;
                    let there = self.sleep(goal, deadline_ns)?;
                    // Who is notified of less is to go on with that.
                    if there < goal {
                        return Ok(there);
                    }
                    waited.sleeps += 1;
                    time_ns = now_ns();
                }
            }
        }
    }

    /// Polls until `wanted` completions are there, between the two times. The wait
    /// began with `before` of them.
    fn spin(&mut self, wanted: usize, before: usize, begin_ns: u64, times_ns: (u64, u64)) {
        let waits = self.hybrid.wants_time(wanted - before);
        let found = self.poll_until(wanted, times_ns.1).unwrap_or(0);
        let Some(waits) = waits else { return };
        let end_ns = now_ns();
        let spun_ns = end_ns.saturating_sub(times_ns.0);
        self.shared.client_tally.spun_ns.add(spun_ns * waits);
        let is_dry = found > wanted && found == self.in_flight();
        if found > before && !is_dry {
            self.hybrid.paced(found - before, end_ns - begin_ns);
        }
    }

    /// Sleeps until that time, or until nothing is left to wait for, without timer
    /// slack. Returns the time.
    fn nap(&mut self, until_ns: u64) -> u64 {
        let sleeps = self.counters.sleeps;
        let slack_ns = timer_slack_ns();
        make_timers_exact();
        // What is there, the caller looks up.
        let _ = self.sleep(self.in_flight(), until_ns);
        put_timers_off_by(slack_ns);
        let woken_ns = now_ns();
        self.shared.wake.disarm();
        if self.counters.sleeps > sleeps && woken_ns >= until_ns {
            self.hybrid.napped(until_ns, woken_ns);
        }
        woken_ns
    }

    fn sleep(&mut self, wanted: usize, deadline_ns: u64) -> Result<usize, WaitError> {
        // A task that awaited before must not swallow this sleeper's signal.
        self.shared.waker.take();
        loop {
            self.arm(wanted);
            let before = self.available_now();
            if before >= wanted {
                self.shared.wake.disarm();
                return Ok(before);
            }
            if self.shared.closed().is_some() {
                // Now everything in flight settles: at least one is there.
                return Ok(self.available_now());
            }
            let begin_ns = now_ns();
            let left = Duration::from_nanos(deadline_ns.saturating_sub(begin_ns));
            self.counters.sleeps += 1;
            let is_signalled = self.shared.event.wait(left);
            if is_signalled {
                self.woken(begin_ns, before, wanted);
            }
            let there = self.available_now();
            if there > 0 {
                self.shared.wake.disarm();
                return Ok(there);
            }
            if !is_signalled && now_ns() >= deadline_ns {
                // Still armed: a client that waits by the descriptor is notified later.
                return Err(WaitError::TimedOut);
            }
        }
    }

    fn woken(&mut self, begin_ns: u64, before: usize, wanted: usize) {
        let config = &self.shared.config;
        if !config.wake_delay.is_zero() {
            let until_ns = now_ns() + config.wake_delay.as_nanos() as u64;
            while now_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
        if config.moderation != Moderation::Hybrid {
            return;
        }
        let there = self.completions.len_now();
        let tally = &self.shared.tally;
        self.hybrid.woken(Slept {
            begin_ns,
            notified_ns: tally.notified_ns.value(),
            woken_ns: now_ns(),
            signal_ns: tally.signal_ns.value(),
            awaited: wanted - before,
            came: there.saturating_sub(before),
            is_dry: there == self.in_flight(),
        });
    }

    fn arm(&mut self, wanted: usize) {
        let wanted = u32::try_from(wanted).expect("at most DEPTH_MAX");
        self.shared
            .wake
            .arm(self.completions.index().wrapping_add(wanted));
    }

    fn poll_until(&mut self, wanted: usize, deadline_ns: u64) -> Result<usize, WaitError> {
        let index = u32::try_from(wanted).expect("at most DEPTH_MAX");
        self.shared
            .wake
            .look_for(self.completions.index().wrapping_add(index));
        let result = self.look(wanted, deadline_ns);
        if !matches!(result, Ok(there) if there >= wanted) {
            // Else it is among the completions there, and hides nothing.
            self.shared.wake.disarm();
        }
        result
    }

    fn look(&mut self, wanted: usize, deadline_ns: u64) -> Result<usize, WaitError> {
        let mut pauses = 0;
        loop {
            let there = self.available_now();
            if there >= wanted {
                return Ok(there);
            }
            pauses += if self.shared.config.is_core_shared {
                std::thread::yield_now();
                PAUSES_A_COMPLETION
            } else {
                pause(wanted - there)
            };
            if pauses < PAUSES_A_CLOCK {
                continue;
            }
            pauses = 0;
            // A closed lane gives what its worker did first, the rest after.
            if self.shared.closed().is_some() || now_ns() >= deadline_ns {
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
