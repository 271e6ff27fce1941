//! Virtual functions, used as badly as can be: what one tenant does at the
//! worst moment is not to be felt by another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::works::{Client, Rig, Work, engine, free_running};
use crate::common::{LONG, WORKER, lane_config, until, with_cap, with_quota};
use crypto::Status;
use lockgate_engine::{
    Batch, Closed, Engine, FunctionConfig, FunctionCounters, FunctionError, LaneError, Outcomes,
    Service, WorkerConfig,
};
use policy::{Moderation, Quota, Settings};

/// A busy lane, the first to be asked, has a notification due whenever the
/// cap allows one.
#[test]
fn a_busy_lane_does_not_shut_another_of_its_function_out() {
    testing::timed(|| {
        for moderation in [Moderation::Each, Moderation::Armed] {
            let rig = free_running(2);
            let config = with_cap(1000);
            let function = rig.engine.function(config).unwrap();
            let lane = |depth| function.lane(0, lane_config(depth, moderation)).unwrap();
            let mut busy = Client::new(lane(64), 0, 100);
            let mut quiet = Client::new(lane(2), 1, 100);
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        busy.turn();
                        let _ = busy.lane.wait(1, LONG);
                    }
                });
                let begin = Instant::now();
                for _ in 0..30 {
                    quiet.fill();
                    quiet.drain();
                }
                is_over.store(true, Ordering::Relaxed);
                assert!(begin.elapsed() < LONG, "{:?}", quiet.lane.counters());
            });
            assert_eq!(quiet.completed, 60);
        }
    });
}

/// Functions come and go on two threads, so that numbers are used again.
#[test]
fn the_end_of_one_function_is_not_that_of_the_next() {
    let rig = free_running(2);
    let come_and_go = |who: usize, rounds: usize| {
        for round in 0..rounds {
            let function = match rig.engine.function(FunctionConfig::default()) {
                // The worker has not yet heard of the last thousand that went.
                Err(FunctionError::TooMany) => {
                    std::thread::yield_now();
                    continue;
                }
                made => made.unwrap(),
            };
            if who == 0 {
                continue;
            }
            let lane = function.lane(0, lane_config(4, Moderation::Polled));
            let mut client = Client::new(lane.unwrap(), who, 1);
            client.fill();
            client.drain();
            assert_eq!((client.completed, client.cancelled), (4, 0), "{round}");
            assert_eq!(client.lane.closed(), None, "{round}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| come_and_go(0, 100_000));
        come_and_go(1, 2000);
    });
}

/// Clients that leave before the worker has seen that they came.
#[test]
fn lanes_dropped_at_once_leave_nothing_behind() {
    let rig = free_running(1);
    let function = || rig.engine.function(FunctionConfig::default()).unwrap();
    // One makes no more than this many a second.
    let mut functions = vec![function()];
    let watched = functions[0]
        .lane(0, lane_config(4, Moderation::Polled))
        .unwrap()
        .watch();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Keeps the worker looking.
        scope.spawn(|| {
            for per_s in (1..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                watched.set(Settings::cap(per_s).unwrap());
            }
        });
        for _ in 0..20_000 {
            let last = functions.last().unwrap();
            match last.lane(0, lane_config(4, Moderation::Polled)) {
                Ok(lane) => drop(lane),
                Err(LaneError::Share { .. }) => std::thread::yield_now(),
                Err(LaneError::TooOften { .. }) => functions.push(function()),
                Err(error) => panic!("{error}"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    until("lanes are left", || {
        let lanes = functions.iter().map(|function| function.counters().lanes);
        lanes.sum::<usize>() == 0
    });
}

struct Fails;

impl Service for Fails {
    type Request = u8;

    fn bytes(_: &u8) -> usize {
        1
    }

    fn process(&mut self, _: Batch<'_, u8>, _: &mut Outcomes<'_, u8>) {
        panic!("told to");
    }
}

#[test]
fn lanes_that_cannot_be_made_leave_nothing_behind() {
    let engine = Engine::start(&[WorkerConfig::default()], |_| Fails).unwrap();
    let function = engine.function(FunctionConfig::default()).unwrap();
    let config = lane_config(4, Moderation::Armed);
    let mut first = function.lane(0, config).unwrap();
    first.submit(0, 0).unwrap();
    until("the worker lives", || first.closed().is_some());
    assert_eq!(first.closed(), Some(Closed::WorkerFailed));
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let refused = || {
        let error = function.lane(0, config).unwrap_err();
        assert!(matches!(error, LaneError::WorkerEnded { .. }), "{error}");
    };
    refused();
    let before = files();
    (0..200).for_each(|_| refused());
    // Other tests open a few at the same time.
    assert!(files() < before + 100, "{before} {}", files());
    assert_eq!(function.counters().lanes, 0);
}

/// A tenant that has had a dear request done, and comes back with another
/// lane, still owes for it.
#[test]
fn another_lane_does_not_settle_a_debt() {
    const DEAR_NS: u64 = 1_000_000;
    let rig = engine(2);
    let function = |_| rig.engine.function(FunctionConfig::default()).unwrap();
    let [hostile, polite] = [0, 1].map(function);
    let lane = |function: &lockgate_engine::VirtualFunction<Work>, depth| {
        let config = lane_config(depth, Moderation::Polled);
        function.lane(0, config).unwrap()
    };
    let dear = |rig: &Rig| {
        let mut client = Client::new(lane(&hostile, 1), 0, DEAR_NS);
        client.fill();
        (client, rig.totals()[0])
    };
    let (mut first, _) = dear(&rig);
    rig.step();
    first.drain();
    drop(first);
    until("the lane is left", || hostile.counters().lanes == 0);
    let mut polite = Client::new(lane(&polite, 4096), 1, 1000);
    polite.fill();
    let (mut second, before) = dear(&rig);
    while rig.totals()[0] == before {
        rig.step();
        polite.turn();
    }
    let had_ns = rig.totals()[1];
    assert!(had_ns > DEAR_NS / 2, "{had_ns}");
    second.drain();
    assert!(hostile.counters().work_ns <= 2 * DEAR_NS);
}

struct Quick;

impl Service for Quick {
    type Request = Work;

    fn bytes(_: &Work) -> usize {
        1
    }

    fn process(&mut self, requests: Batch<'_, Work>, outcomes: &mut Outcomes<'_, Work>) {
        for index in 0..requests.len() {
            outcomes.complete(index, Status::Ok);
            outcomes.publish();
        }
    }
}

/// What a function with two busy lanes on each of two workers does in a while;
/// and how long that was, s.
fn busy_on_two_workers(config: FunctionConfig, moderation: Moderation) -> (FunctionCounters, f64) {
    let engine = Engine::start(&[WORKER; 2], |_| Quick).unwrap();
    let function = engine.function(config).unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for lane in 0..4 {
            let lane = function.lane(lane % 2, lane_config(64, moderation));
            let mut client = Client::new(lane.unwrap(), 0, 1);
            scope.spawn(move || {
                while begin.elapsed() < Duration::from_millis(600) {
                    client.turn();
                    let _ = client.lane.wait(1, LONG);
                }
            });
        }
    });
    (function.counters(), begin.elapsed().as_secs_f64())
}

#[test]
fn a_cap_holds_over_all_workers() {
    testing::timed(|| {
        const CAP: u32 = 2000;
        for moderation in [Moderation::Each, Moderation::Armed] {
            let config = with_cap(CAP);
            let (counters, elapsed_s) = busy_on_two_workers(config, moderation);
            // Each lane may be early once.
            let most = f64::from(CAP) * elapsed_s * 1.05 + 8.0;
            assert!(counters.notifications as f64 <= most, "{counters:?} {most}");
        }
    });
}

#[test]
fn a_quota_holds_over_all_workers() {
    testing::timed(|| {
        const PER_S: u64 = 20_000;
        let quota = Quota::UNLIMITED.and_requests(PER_S).unwrap();
        let config = with_quota(quota);
        let (counters, elapsed_s) = busy_on_two_workers(config, Moderation::Armed);
        // And a burst on each worker, and what was in flight at the end.
        let most = PER_S as f64 * elapsed_s * 1.02 + 3.0 * PER_S as f64 / 100.0 + 256.0;
        assert!(counters.requests as f64 <= most, "{counters:?} {most}");
    });
}
