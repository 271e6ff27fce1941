//! Clients of the policy `hybrid`, by what is counted of them.

use std::time::Duration;

use crate::common::LONG;
use crypto::Status;
use lockgate_engine::{
    Batch, Engine, Lane, LaneConfig, LaneCounters, Outcomes, Service, WorkerConfig,
};
use policy::{Moderation, Settings};

const DEPTH: usize = 32;
const WAITS: u64 = 400;

fn config(moderation: Moderation) -> LaneConfig {
    LaneConfig {
        depth: DEPTH,
        moderation,
        ..LaneConfig::default()
    }
}

/// Takes so long for each request.
struct Steady(Duration);

impl Service for Steady {
    type Request = ();

    fn bytes((): &()) -> usize {
        1
    }

    fn process(&mut self, requests: Batch<'_, ()>, outcomes: &mut Outcomes<'_, ()>) {
        for index in 0..requests.len() {
            if !self.0.is_zero() {
                std::thread::sleep(self.0);
            }
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

fn engine(delay: Duration) -> Engine<Steady> {
    Engine::start(&[WorkerConfig::default()], move |_| Steady(delay)).unwrap()
}

/// Keeps the lane full over that many waits.
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
    let engine = engine(Duration::ZERO);
    let mut lane = engine.lane(0, config(Moderation::Hybrid)).unwrap();
    let counters = pump(&mut lane, 20 * WAITS);
    assert!(counters.spun_ns > 0, "{counters:?}");
    // One that had just lain down may find what it sleeps for.
    let most = counters.sleeps + WAITS;
    assert!(counters.notifications <= most, "{counters:?}");
}

/// Neither on the worker's core nor where its controller says so.
#[test]
fn who_is_not_to_look_never_does() {
    let engine = engine(Duration::ZERO);
    let shared = LaneConfig {
        is_core_shared: true,
        ..config(Moderation::Hybrid)
    };
    let asleep = LaneConfig {
        settings: Settings::UNLIMITED.asleep(),
        ..config(Moderation::Hybrid)
    };
    for config in [shared, asleep] {
        let mut lane = engine.lane(0, config).unwrap();
        let counters = pump(&mut lane, WAITS);
        assert_eq!(counters.spun_ns, 0, "{counters:?}");
        assert!(counters.sleeps > 0, "{counters:?}");
    }
}

/// A host whose cores are far apart, injected: `armed` is woken for each wait,
/// `hybrid` learns what that costs, and comes back by itself.
#[test]
fn who_is_woken_late_asks_not_to_be() {
    testing::timed(|| {
        let engine = engine(Duration::from_micros(50));
        let notifications = [Moderation::Armed, Moderation::Hybrid].map(|moderation| {
            let far = LaneConfig {
                wake_delay: Duration::from_micros(500),
                ..config(moderation)
            };
            let mut lane = engine.lane(0, far).unwrap();
            let counters = pump(&mut lane, WAITS);
            if moderation == Moderation::Hybrid {
                assert!(counters.wake_ns > 250_000, "{counters:?}");
            }
            counters.notifications
        });
        let [armed, hybrid] = notifications;
        assert!(2 * hybrid < armed, "{hybrid} of {armed}");
    });
}
