//! What devices did over the same time: each counts for itself, whoever its tenant is.

use std::thread;
use std::time::{Duration, Instant};

use engine::{CryptoEngine, FunctionCounters};
use vhost::Device;

/// Between two looks whether a trial is over.
const LOOK: Duration = Duration::from_millis(2);
/// Longest wait for the first request of each.
const START: Duration = Duration::from_secs(20);

/// What one device counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) notifications: u64,
    pub(super) work_ns: u64,
    pub(super) refused: u64,
}

impl Counts {
    fn of(device: &Device) -> Self {
        let counters = device.counters();
        let FunctionCounters {
            requests,
            notifications,
            work_ns,
            ..
        } = counters.function;
        Self {
            requests,
            notifications,
            work_ns,
            refused: counters.refused.iter().map(|one| one.1).sum(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            notifications: self.notifications - before.notifications,
            work_ns: self.work_ns - before.work_ns,
            refused: self.refused - before.refused,
        }
    }
}

/// The devices of a trial, with the worker that they share.
pub(super) struct Shared<'a> {
    pub(super) engine: &'a CryptoEngine,
    /// One a tenant.
    pub(super) devices: Vec<&'a Device>,
}

/// What was counted from one moment to another.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) seconds: f64,
    pub(super) tenants: Vec<Counts>,
    pub(super) worker_ns: u64,
}

/// How a trial goes on.
pub(super) struct Course<'a> {
    /// From the first requests of all until it counts.
    pub(super) settle: Duration,
    pub(super) slice: Duration,
    /// Whether a tenant has ended, which none should before the time is over.
    pub(super) is_ended: &'a dyn Fn() -> bool,
    pub(super) go_on: &'a dyn Fn() -> bool,
}

impl Shared<'_> {
    fn counts(&self) -> Vec<Counts> {
        self.devices.iter().map(|own| Counts::of(own)).collect()
    }

    fn worker_ns(&self) -> u64 {
        let time = self.engine.cpu_time(0).map_or(0, |time| time.as_nanos());
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// Watches tenants that were just started. None where one ended, or one of `asking`
    /// got nothing, or the user wants to stop.
    pub(super) fn watch(&self, asking: &[bool], course: &Course<'_>) -> Option<Window> {
        let wait = |until: Instant, is_done: &dyn Fn() -> bool| {
            loop {
                if (course.is_ended)() || !(course.go_on)() {
                    return None;
                }
                if is_done() {
                    return Some(());
                }
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                thread::sleep(left.min(LOOK));
            }
        };
        let over = |time: Duration| {
            let end = Instant::now() + time;
            wait(end + START, &|| Instant::now() >= end)
        };
        let first = self.counts();
        let all_ask = || {
            let all = self.counts();
            let mut pairs = all.iter().zip(&first).zip(asking);
            pairs.all(|((now, first), asks)| !asks || now.requests > first.requests)
        };
        wait(Instant::now() + START, &all_ask)?;
        over(course.settle)?;
        let (begin, before, worker_ns) = (Instant::now(), self.counts(), self.worker_ns());
        over(course.slice)?;
        let (after, end_ns) = (self.counts(), self.worker_ns());
        let pairs = after.into_iter().zip(before);
        Some(Window {
            seconds: begin.elapsed().as_secs_f64(),
            tenants: pairs.map(|(after, before)| after.since(before)).collect(),
            worker_ns: end_ns - worker_ns,
        })
    }
}
