//! The client: keeps a lane busy in one mode.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use crypto::{Status, Workload};
use engine::{CryptoLane, RegionId, SessionId};
use policy::Policy;
use sys::clock::now_ns;
use trial::Histogram;

use crate::load::fresh::arm::Mode;
use crate::load::slots::Slots;

/// No wait is longer: a lane that is dead for so long is a failure.
pub const STUCK: Duration = Duration::from_secs(10);
/// In closed loops of many requests, one in so many is timed: two looks at
/// the clock would be as long as a small request. Odd, since depths are mostly
/// powers of two: 32 would time only the first request of each batch.
const TIMED_ONE_IN: u64 = 37;
/// Most late requests whose latency is recorded after an open loop: more say
/// nothing new, and an offer far too high would leave thousands of millions.
const LATE_MAX: u64 = 1_000_000;
/// An open-loop client that sleeps comes back so early before the next
/// request is due: a timer may be late, a late request may not.
const SLEEP_MARGIN_NS: u64 = 100_000;

/// Phases of a trial, set by whoever runs it.
#[derive(Debug, Default)]
pub struct Phase(AtomicU8);

impl Phase {
    pub fn set(&self, phase: u8) {
        self.0.store(phase, Ordering::Release);
    }

    pub fn is_before(&self, phase: u8) -> bool {
        self.0.load(Ordering::Acquire) < phase
    }
}

/// Why a client stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PumpError {
    /// A request ended badly.
    #[error("a request ended with {0:?}")]
    Status(Status),
    /// The lane refused or a wait timed out.
    #[error("the lane took no request or gave no completion for {} s", STUCK.as_secs())]
    Stuck,
}

/// One client of one lane.
pub struct Pump<'w> {
    lane: CryptoLane,
    session: SessionId,
    slots: Slots<'w>,
    /// Slots not in flight.
    free: Vec<usize>,
    /// When the request in a slot was (meant to be) sent; 0 is not timed.
    sent_ns: Vec<u64>,
    sent: u64,
    pub completed: u64,
    pub latency: Histogram,
    failed: Option<Status>,
    /// What the last open loop left waiting.
    late: Late,
}

/// Requests that were due, evenly, and never found room in the lane.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    count: u64,
    /// How long the first and longest waited.
    first_ns: u64,
    apart_ns: f64,
}

impl Late {
    /// How long they waited; of very many, evenly chosen ones.
    fn waited_ns(self) -> impl Iterator<Item = u64> {
        let step = self.count.div_ceil(LATE_MAX).max(1);
        (0..self.count.div_ceil(step)).map(move |index| {
            let after_first_ns = (index * step) as f64 * self.apart_ns;
            self.first_ns.saturating_sub(after_first_ns as u64)
        })
    }
}

impl<'w> Pump<'w> {
    /// Writes the input into every slot of the lane's slab.
    pub fn new(lane: CryptoLane, session: SessionId, workload: &'w Workload, depth: usize) -> Self {
        let slots = Slots {
            workload,
            region: RegionId::SLAB,
            base: 0,
        };
        slots.write(depth, |offset, bytes| {
            lane.write(RegionId::SLAB, offset, bytes)
                .expect("the slab holds every slot");
        });
        Self {
            lane,
            session,
            slots,
            free: (0..depth).rev().collect(),
            sent_ns: vec![0; depth],
            sent: 0,
            completed: 0,
            latency: Histogram::new(),
            failed: None,
            late: Late::default(),
        }
    }

    pub fn lane(&self) -> &CryptoLane {
        &self.lane
    }

    /// Runs a closed loop until `phase`, and leaves in flight what is.
    pub fn closed(&mut self, mode: Mode, phase: &Phase, until: u8) -> Result<(), PumpError> {
        while phase.is_before(until) {
            self.fill(mode)?;
            match mode {
                Mode::Sync | Mode::Batch => self.lane.wait(self.lane.in_flight(), STUCK),
                Mode::Async => self.lane.wait_to_refill(STUCK),
            }
            .map_err(|_| PumpError::Stuck)?;
            self.reap()?;
        }
        Ok(())
    }

    /// Submits what the mode wants in flight now.
    fn fill(&mut self, mode: Mode) -> Result<(), PumpError> {
        let room = match mode {
            Mode::Sync => usize::from(self.lane.in_flight() == 0),
            Mode::Batch if self.lane.in_flight() > 0 => 0,
            Mode::Batch | Mode::Async => self.free.len(),
        };
        for _ in 0..room {
            let is_timed = mode == Mode::Sync || self.sent.is_multiple_of(TIMED_ONE_IN);
            let sent_ns = if is_timed { now_ns() } else { 0 };
            self.send(sent_ns)?;
        }
        self.lane.kick();
        Ok(())
    }

    /// Sends requests at `rate_per_s`, evenly, until `phase`. Returns how
    /// many it sent; one that finds the lane full waits, and its latency
    /// counts from when it was meant to be sent. Those that still wait at the
    /// end count as sent: that the lane is full is not the generator's doing.
    pub fn paced(&mut self, rate_per_s: f64, phase: &Phase, until: u8) -> Result<u64, PumpError> {
        let (begin_ns, begin) = (now_ns(), self.sent);
        let due_ns = |sent: u64| begin_ns + ((sent - begin) as f64 / rate_per_s * 1e9) as u64;
        let sleeps = self.lane.config().moderation.client_sleeps();
        let is_core_shared = self.lane.config().is_core_shared;
        let mut is_full = false;
        while phase.is_before(until) {
            let now = now_ns();
            while due_ns(self.sent) <= now && !self.free.is_empty() {
                self.send(due_ns(self.sent))?;
            }
            is_full = self.free.is_empty() && due_ns(self.sent) <= now;
            self.lane.kick();
            let left_ns = due_ns(self.sent).saturating_sub(now_ns());
            if sleeps && left_ns > SLEEP_MARGIN_NS && self.lane.in_flight() > 0 {
                // A time-out is no failure here: the next request is due.
                let _ = self
                    .lane
                    .wait(1, Duration::from_nanos(left_ns - SLEEP_MARGIN_NS));
            } else if is_core_shared {
                // Nothing can be sent now, and looking on would only keep the
                // worker from the core they share.
                std::thread::yield_now();
            }
            self.reap()?;
        }
        let (now, sent) = (now_ns(), self.sent - begin);
        let due = ((now - begin_ns) as f64 * rate_per_s / 1e9) as u64 + 1;
        self.late = Late {
            count: if is_full { due.saturating_sub(sent) } else { 0 },
            first_ns: now.saturating_sub(due_ns(self.sent)),
            apart_ns: 1e9 / rate_per_s,
        };
        Ok(sent + self.late.count)
    }

    /// Takes back what is still in flight, and records what an open loop left
    /// waiting: not before, since that would take time from the measured part.
    pub fn drain(&mut self) -> Result<(), PumpError> {
        for waited_ns in std::mem::take(&mut self.late).waited_ns() {
            self.latency.record(waited_ns);
        }
        while self.lane.in_flight() > 0 {
            self.lane
                .wait(self.lane.in_flight(), STUCK)
                .map_err(|_| PumpError::Stuck)?;
            self.reap()?;
        }
        Ok(())
    }

    fn send(&mut self, sent_ns: u64) -> Result<(), PumpError> {
        let slot = self.free.pop().ok_or(PumpError::Stuck)?;
        self.sent_ns[slot] = sent_ns;
        self.sent += 1;
        self.slots
            .enqueue(&mut self.lane, self.session, slot, self.sent)
            .map_err(|_| PumpError::Stuck)
    }

    fn reap(&mut self) -> Result<(), PumpError> {
        let Self {
            lane,
            free,
            sent_ns,
            latency,
            completed,
            failed,
            ..
        } = self;
        let mut now = 0;
        lane.reap(usize::MAX, |done| {
            let slot = usize::try_from(done.token).expect("a slot number");
            let sent = std::mem::take(&mut sent_ns[slot]);
            if sent > 0 {
                now = if now == 0 { now_ns() } else { now };
                latency.record(now.saturating_sub(sent));
            }
            if done.status != Status::Ok {
                *failed = Some(done.status);
            }
            *completed += 1;
            free.push(slot);
        });
        self.failed
            .map_or(Ok(()), |status| Err(PumpError::Status(status)))
    }
}

/// Whether a client with that policy keeps its core busy while it waits.
pub fn is_busy_client(policy: Policy) -> bool {
    policy.moderation.client_looks()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_late_are_recorded_evenly_and_never_too_many() {
        let late = |count| Late {
            count,
            first_ns: 1000,
            apart_ns: 1000.0 / count as f64,
        };
        assert_eq!(Late::default().waited_ns().count(), 0);
        assert_eq!(
            late(4).waited_ns().collect::<Vec<_>>(),
            [1000, 750, 500, 250]
        );
        let many = late(10 * LATE_MAX + 1).waited_ns();
        assert!(many.size_hint().0 as u64 <= LATE_MAX);
        assert!(many.last().is_some_and(|least| least < 10));
    }
}
