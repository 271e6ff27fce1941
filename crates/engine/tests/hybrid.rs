//! Clients of the policy `hybrid`, by what is counted of them.

use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use crate::common::LONG;
use crypto::Status;
use lockgate_engine::{
    Batch, Engine, Lane, LaneConfig, LaneCounters, Outcomes, Service, WorkerConfig,
};
use policy::{Moderation, Settings};
use sys::affinity::{allowed_cpus, pin_to};

const DEPTH: usize = 32;
const WAITS: u64 = 400;

/// A request that takes no longer keeps its worker's CPU.
const SHORT: Duration = Duration::from_micros(5);

fn config(moderation: Moderation) -> LaneConfig {
    LaneConfig {
        depth: DEPTH,
        moderation,
        ..LaneConfig::default()
    }
}

struct Steady(Duration);

impl Service for Steady {
    type Request = ();

    fn bytes((): &()) -> usize {
        1
    }

    fn process(&mut self, requests: Batch<'_, ()>, outcomes: &mut Outcomes<'_, ()>) {
        for index in 0..requests.len() {
            let begin = Instant::now();
            if self.0 > SHORT {
                std::thread::sleep(self.0);
            }
            while begin.elapsed() < self.0 {
                std::hint::spin_loop();
            }
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

fn apart(delay: Duration, client: impl FnOnce(&Engine<Steady>) + Send) {
    let cpus = allowed_cpus().unwrap();
    let [here, there, ..] = cpus[..] else {
        testing::skipped("one CPU is allowed, client and worker need two");
        return;
    };
    let worker = WorkerConfig {
        cpu: Some(there),
        ..WorkerConfig::default()
    };
    let engine = Engine::start(&[worker], move |_| Steady(delay)).unwrap();
    std::thread::scope(|scope| {
        let pinned = || {
            pin_to(here).unwrap();
            client(&engine);
        };
        let client = scope.spawn(pinned);
        client.join().unwrap_or_else(|panic| resume_unwind(panic));
    });
}

fn pump(lane: &mut Lane<()>, waits: u64) -> LaneCounters {
    for _ in 0..waits {
        while lane.room() > 0 {
            lane.enqueue((), 0).unwrap();
        }
        lane.wait_to_refill(LONG).unwrap();
        lane.reap(usize::MAX, |_| {});
    }
    while lane.in_flight() > 0 {
        lane.wait(1, LONG).unwrap();
        lane.reap(usize::MAX, |_| {});
    }
    lane.counters()
}

#[test]
fn who_looks_is_not_notified() {
    apart(Duration::from_micros(1), |engine| {
        let mut lane = engine.lane(0, config(Moderation::Hybrid)).unwrap();
        let counters = pump(&mut lane, 10 * WAITS);
        assert!(counters.spun_ns > 0, "{counters:?}");
        // One that has just fallen asleep may find what it sleeps for.
        let most = counters.sleeps + WAITS / 10;
        assert!(counters.notifications <= most, "{counters:?}");
    });
}

/// Neither on the worker's core nor where its controller forbids it.
#[test]
fn who_is_not_to_look_never_does() {
    let shared = LaneConfig {
        is_core_shared: true,
        ..config(Moderation::Hybrid)
    };
    let asleep = LaneConfig {
        settings: Settings::UNLIMITED.asleep(),
        ..config(Moderation::Hybrid)
    };
    apart(Duration::ZERO, |engine| {
        for config in [shared, asleep] {
            let mut lane = engine.lane(0, config).unwrap();
            let counters = pump(&mut lane, WAITS);
            assert_eq!(counters.spun_ns, 0, "{counters:?}");
            assert!(counters.sleeps > 0, "{counters:?}");
        }
    });
}

/// A host whose cores are far apart, injected: `armed` is woken for each wait,
/// `hybrid` learns what that costs and polls instead.
#[test]
fn who_is_woken_late_asks_not_to_be() {
    let far = |moderation| LaneConfig {
        wake_delay: Duration::from_micros(500),
        ..config(moderation)
    };
    testing::alone(|| {
        apart(Duration::from_micros(50), |engine| {
            let counters = [Moderation::Armed, Moderation::Hybrid].map(|moderation| {
                let mut lane = engine.lane(0, far(moderation)).unwrap();
                pump(&mut lane, WAITS)
            });
            let [armed, hybrid] = counters;
            // An average of few wake-ups, as it soon asks for none: a fifth of
            // what each takes is more than any average without the delay.
            assert!(hybrid.wake_ns > 100_000, "{hybrid:?}");
            let most = 3 * armed.notifications / 4;
            assert!(hybrid.notifications < most, "{counters:?}");
        });
    });
}
