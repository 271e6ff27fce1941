//! Who looks after workers: what holds one up is told from what it computes, and a worker
//! that has ended is told.

use std::time::{Duration, Instant};

use crypto::Status;
use lockgate_engine::{
    Batch, Engine, FunctionConfig, Outcomes, Overseer, STALL, Service, Trouble, WorkerConfig,
};
use policy::Moderation;
use sys::clock::now_ns;

use crate::common::{LONG, lane_config, until};

/// What a request is to do for so long.
#[derive(Clone, Copy, Debug)]
enum Act {
    Wait(Duration),
    Compute(Duration),
    Panic,
}

struct Actor;

impl Service for Actor {
    type Request = Act;

    fn bytes(_: &Act) -> usize {
        1
    }

    fn process(&mut self, requests: Batch<'_, Act>, outcomes: &mut Outcomes<'_, Act>) {
        for (index, act) in requests.iter().enumerate() {
            match act {
                // As a page does that is on its way: the kernel does not break it off.
                Act::Wait(time) => std::thread::sleep(*time),
                Act::Compute(time) => {
                    let begin = Instant::now();
                    while begin.elapsed() < *time {
                        std::hint::spin_loop();
                    }
                }
                Act::Panic => panic!("planted"),
            }
            outcomes.complete(index, Status::Ok);
        }
    }
}

fn troubles(overseer: &mut Overseer, mut is_over: impl FnMut(&[Trouble]) -> bool) -> Vec<Trouble> {
    let mut all = Vec::new();
    until("trouble", || {
        overseer.look(now_ns(), |trouble| {
            if !matches!(trouble, Trouble::Faulted { .. }) {
                all.push(trouble);
            }
        });
        std::thread::sleep(Duration::from_millis(1));
        is_over(&all)
    });
    all
}

#[test]
fn what_waits_is_told_with_its_owner_and_what_computes_is_not() {
    let engine = Engine::start(&[WorkerConfig::default()], |_| Actor).unwrap();
    let [one, other] = [(); 2].map(|()| engine.function(FunctionConfig::default()).unwrap());
    let mut lanes =
        [&one, &other].map(|own| own.lane(0, lane_config(4, Moderation::Armed)).unwrap());
    let mut overseer = engine.overseer();
    let long = Duration::from_millis(100);
    for (own, lane) in [&one, &other].into_iter().zip(&mut lanes) {
        let begin = Instant::now();
        lane.submit(Act::Compute(long), 0).unwrap();
        let told = troubles(&mut overseer, |_| begin.elapsed() > long);
        assert_eq!(told, []);
        assert!(lane.wait(1, LONG).is_ok());
        lane.reap(4, |_| {});
        lane.submit(Act::Wait(long), 0).unwrap();
        let told = troubles(&mut overseer, |all| !all.is_empty());
        let Trouble::Stalled {
            worker,
            function,
            lasts,
            ..
        } = &told[0]
        else {
            panic!("{told:?}");
        };
        assert_eq!((*worker, *function), (0, Some(own.id())));
        assert!(*lasts >= STALL);
        assert!(lane.wait(1, LONG).is_ok());
        lane.reap(4, |_| {});
        // It pays for all that time: it was seen to wait.
        let beyond_ns = || own.counters().beyond_ns;
        until("it pays", || beyond_ns() > 50_000_000);
    }
}

#[test]
fn a_worker_that_panicked_is_told_and_one_that_was_stopped_is_not() {
    let workers = [WorkerConfig::default(); 2];
    let engine = Engine::start(&workers, |_| Actor).unwrap();
    let mut lane = engine.lane(1, lane_config(4, Moderation::Armed)).unwrap();
    let mut overseer = engine.overseer();
    assert_eq!(troubles(&mut overseer, |_| true), []);
    lane.submit(Act::Panic, 0).unwrap();
    let told = troubles(&mut overseer, |all| !all.is_empty());
    assert_eq!(told[0], Trouble::Ended { worker: 1 });
    let engine = Engine::start(&workers, |_| Actor).unwrap();
    let mut overseer = engine.overseer();
    engine.shutdown();
    assert_eq!(troubles(&mut overseer, |_| true), []);
}
