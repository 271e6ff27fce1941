//! Conducts a run: changes loads on time, samples windows, ticks controllers.

use std::thread;
use std::time::Duration;

use engine::CryptoEngine;
use sys::clock::now_ns;

use crate::load::rig::course::{Course, Phase};
use crate::load::rig::record::{Share, Window};
use crate::load::rig::seat::Seat;

/// Longest sleep, ns, with a controller or without: a host may treat a guest
/// otherwise whose second CPU never wakes up, and every arm is to be treated
/// alike.
const TICK_NS_MAX: u64 = 10_000_000;

/// Everything at one moment, as running totals.
struct Snapshot {
    at_ns: u64,
    worker: Duration,
    tenants: Vec<Share>,
}

/// The caller's thread while a bench runs.
pub struct Sampler<'a> {
    engine: &'a CryptoEngine,
    seats: &'a mut [Seat],
    windows: Vec<Window>,
}

impl<'a> Sampler<'a> {
    pub fn new(engine: &'a CryptoEngine, seats: &'a mut [Seat]) -> Self {
        Self {
            engine,
            seats,
            windows: Vec::new(),
        }
    }

    /// The windows of a course; fewer where it is interrupted.
    pub fn run(mut self, course: &Course, is_interrupted: &dyn Fn() -> bool) -> Vec<Window> {
        if let Some(first) = course.phases.first() {
            self.set(first);
            self.wait_until(now_ns() + nanos(course.warm_up), is_interrupted);
        }
        for (index, phase) in course.phases.iter().enumerate() {
            if index > 0 {
                self.set(phase);
            }
            if !self.phase((course, phase), index, is_interrupted) {
                break;
            }
        }
        self.windows
    }

    fn set(&mut self, phase: &Phase) {
        let pairs = self.seats.iter_mut().zip(&phase.loads);
        pairs.for_each(|(seat, &load)| seat.set(load));
    }

    /// One phase; `false` when interrupted.
    fn phase(
        &mut self,
        (course, phase): (&Course, &Phase),
        index: usize,
        is_interrupted: &dyn Fn() -> bool,
    ) -> bool {
        let (count, length) = course.windows(phase);
        let mut before = self.snapshot();
        let begin_ns = before.at_ns;
        for window in 1..=u64::from(count) {
            // From the plan, so that lateness does not add up.
            self.wait_until(begin_ns + window * nanos(length), is_interrupted);
            let now = self.snapshot();
            self.windows.push(between(&before, &now, index, begin_ns));
            before = now;
            if is_interrupted() {
                return false;
            }
        }
        true
    }

    /// Sleeps, but for controllers whose turn comes, and ticks; ends early when
    /// interrupted.
    fn wait_until(&mut self, end_ns: u64, is_interrupted: &dyn Fn() -> bool) {
        loop {
            let now = now_ns();
            let ticks = self.seats.iter_mut().filter_map(|seat| seat.tick(now));
            let next_ns = ticks.fold(end_ns, u64::min);
            let now = now_ns();
            if now >= end_ns || is_interrupted() {
                return;
            }
            let pause_ns = next_ns.saturating_sub(now).min(TICK_NS_MAX);
            thread::sleep(Duration::from_nanos(pause_ns));
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            worker: (0..self.engine.workers())
                .filter_map(|worker| self.engine.cpu_time(worker))
                .sum(),
            tenants: self.seats.iter().map(Seat::totals).collect(),
            at_ns: now_ns(),
        }
    }
}

fn between(before: &Snapshot, now: &Snapshot, phase: usize, begin_ns: u64) -> Window {
    let shares = now.tenants.iter().zip(&before.tenants);
    Window {
        phase,
        begin_s: (before.at_ns - begin_ns) as f64 / 1e9,
        seconds: (now.at_ns - before.at_ns) as f64 / 1e9,
        worker: now.worker.saturating_sub(before.worker),
        tenants: shares.map(|(now, before)| now.since(before)).collect(),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
