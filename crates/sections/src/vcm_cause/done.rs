//! What the threads of a trial did that is no load of the kit's.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use engine::{LaneConfig, WorkerConfig};
use kit::load::benches::{CLIENT_CPU, SPEED, WORKER_CPU};
use kit::load::rig::Cores;
use kit::subject::{Measure, Reading, Stopped};
use policy::{Counters, Moderation};

pub const NOTIFICATIONS: Measure = Measure::lower("notifications_per_request", "");
/// Mean, when the worker looked: the diagnosis needs it.
pub const IN_FLIGHT: Measure = Measure::fact("in_flight", "requests");

/// No wait is longer.
pub const STUCK: Duration = Duration::from_secs(10);
/// A trial ends this long after an interrupt at the latest.
const PART: Duration = Duration::from_millis(500);

/// Why there is nothing: the engine, a thread or memory said so.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub requests: u64,
    /// The time that counts.
    pub time: Duration,
    pub counters: Counters,
    /// CPU time of the client, and of the worker.
    pub client: Duration,
    pub worker: Duration,
}

impl Done {
    /// Does something for that long, part by part.
    pub fn in_parts(
        length: Duration,
        go_on: &dyn Fn() -> bool,
        mut part: impl FnMut(Duration) -> Result<Self, Failure>,
    ) -> Result<Self, Stopped> {
        let (mut all, mut left) = (Self::default(), length);
        while !left.is_zero() {
            if !go_on() {
                return Err(Stopped::Interrupted);
            }
            let now = left.min(PART);
            let done = part(now).map_err(Stopped::Failed)?;
            all.requests += done.requests;
            all.time += done.time;
            all.counters = all.counters.plus(&done.counters);
            all.client += done.client;
            all.worker += done.worker;
            left -= now;
        }
        Ok(all)
    }

    /// Of requests of that size; of a client alone only its speed.
    pub fn reading(&self, block_bytes: usize, is_alone: bool) -> Reading {
        let seconds = self.time.as_secs_f64().max(1e-9);
        let bytes = self.requests as f64 * block_bytes as f64;
        let mut values = vec![(SPEED, bytes / seconds / 1e6)];
        if !is_alone {
            let busy = |time: Duration| time.as_secs_f64() / seconds * 100.0;
            values.extend(of_lane(self.requests, &self.counters));
            values.push((CLIENT_CPU, busy(self.client)));
            values.push((WORKER_CPU, busy(self.worker)));
        }
        Reading::new(values)
    }
}

/// What the counters of a lane say of this many requests.
pub fn of_lane(requests: u64, counters: &Counters) -> [(Measure, f64); 2] {
    let each = counters.notifications as f64 / requests.max(1) as f64;
    [(NOTIFICATIONS, each), (IN_FLIGHT, counters.depth())]
}

pub fn worker(cores: Cores) -> WorkerConfig {
    WorkerConfig {
        cpu: Some(cores.worker),
        idle_spin: Some(Duration::ZERO),
        nice: 0,
        stand_ins: 0,
        is_core_shared: cores.is_shared(),
    }
}

pub fn lane(depth: usize, moderation: Moderation, cores: Cores) -> LaneConfig {
    LaneConfig {
        depth,
        moderation,
        is_core_shared: cores.is_shared(),
        ..LaneConfig::default()
    }
}

/// Does work that pins its thread: the caller's keeps its own CPUs.
pub fn on_own_thread<T: Send>(
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
