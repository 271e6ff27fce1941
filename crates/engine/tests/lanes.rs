//! Lanes with a toy service: exactly once, refusals, waits, order, futures.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Job, LONG, Tally, WORKER, block_on, cases, cells, lane_config, until};
use crypto::Status;
use lockgate_engine::{
    Closed, Engine, Hint, Lane, LaneConfig, LaneError, LocalLane, Order, StartError, SubmitError,
    WaitError, WorkerConfig,
};
use policy::{Moderation, Settings};
use proptest::prelude::*;

fn engine(count: usize) -> (Engine<Tally>, Arc<[AtomicU64]>) {
    let cells = cells(count);
    let shared = cells.clone();
    let service = move |_| Tally::new(&shared);
    let engine = Engine::start(&[WorkerConfig::default()], service);
    (engine.unwrap(), cells)
}

/// An engine that goes on when the gate is free.
fn gated() -> (Engine<Tally>, Arc<Mutex<()>>) {
    let (cells, gate) = (cells(1), Arc::default());
    let behind = Arc::clone(&gate);
    let service = move |_| Tally::new(&cells).behind(&behind);
    let engine = Engine::start(&[WorkerConfig::default()], service);
    (engine.unwrap(), gate)
}

/// Only the policy that never looks for long does so where the tests share cores.
fn config(depth: usize, moderation: Moderation) -> LaneConfig {
    LaneConfig {
        is_core_shared: moderation != Moderation::Hybrid,
        ..lane_config(depth, moderation)
    }
}

fn job(cell: usize) -> Job {
    Job {
        cell,
        panics: false,
    }
}

fn wait_all(lane: &mut Lane<Job>) -> Vec<(u64, Status)> {
    let mut seen = Vec::new();
    while lane.in_flight() > 0 {
        lane.wait(lane.in_flight(), LONG).unwrap();
        lane.reap(usize::MAX, |done| seen.push((done.token, done.status)));
    }
    seen
}

/// The worker counts just after it publishes: a moment later for us.
fn settles(what: &str, expected: u64, count: impl Fn() -> u64) {
    until(&format!("{what} is never {expected}"), || {
        count() == expected
    });
}

#[test]
fn a_full_lane_refuses_and_counts() {
    let (engine, cells) = engine(3);
    let mut lane = engine.lane(0, config(2, Moderation::Armed)).unwrap();
    lane.submit(job(0), 0).unwrap();
    lane.submit(job(1), 1).unwrap();
    assert_eq!(lane.submit(job(2), 2), Err(SubmitError::Full));
    assert_eq!(wait_all(&mut lane).len(), 2);
    assert_eq!(
        cells[2].load(Ordering::Relaxed),
        0,
        "a refused request is not started"
    );
    let counters = lane.counters();
    assert_eq!(
        (counters.submitted, counters.refused, counters.reaped),
        (2, 1, 2)
    );
    settles("completed", 2, || lane.counters().completed);
}

#[test]
fn bad_lanes_are_refused_with_the_limit() {
    let (engine, _) = engine(1);
    for depth in [0, 4097] {
        let error = engine.lane(0, config(depth, Moderation::Each)).unwrap_err();
        assert!(error.to_string().contains("1 to 4096"), "{error}");
    }
    assert!(matches!(
        engine.lane(1, LaneConfig::default()),
        Err(LaneError::Worker {
            worker: 1,
            workers: 1
        })
    ));
    assert!(Engine::start(&[], |_| Tally::new(&cells(0))).is_err());
}

#[test]
fn waits_end_in_time() {
    let (engine, gate) = gated();
    for moderation in Moderation::ALL {
        let mut lane = engine.lane(0, config(4, moderation)).unwrap();
        assert_eq!(
            lane.wait(1, LONG),
            Err(WaitError::Idle),
            "nothing would ever come"
        );
        let closed = gate.lock().unwrap();
        lane.submit(job(0), 0).unwrap();
        assert_eq!(
            lane.wait(1, Duration::from_millis(5)),
            Err(WaitError::TimedOut)
        );
        drop(closed);
        assert_eq!(
            wait_all(&mut lane),
            [(0, Status::Ok)],
            "it is still in flight"
        );
    }
}

/// One completion from before the end, two requests that were never taken.
#[test]
fn no_policy_keeps_a_client_of_a_closed_lane_waiting() {
    for moderation in Moderation::ALL {
        let (engine, _) = engine(1);
        let order = Order::Fifo;
        let config = LaneConfig {
            order,
            ..config(4, moderation)
        };
        let mut lane = engine.lane(0, config).unwrap();
        lane.submit(job(0), 0).unwrap();
        lane.wait(1, LONG).unwrap();
        lane.enqueue(job(0), 1).unwrap();
        lane.enqueue(job(0), 2).unwrap();
        engine.shutdown();
        let began = std::time::Instant::now();
        assert_eq!(
            wait_all(&mut lane),
            [
                (0, Status::Ok),
                (1, Status::Cancelled),
                (2, Status::Cancelled)
            ]
        );
        assert!(began.elapsed() < LONG, "{moderation:?}");
    }
}

#[test]
fn notifications_follow_the_policy() {
    let (engine, _) = engine(8);
    for moderation in Moderation::ALL {
        let mut lane = engine.lane(0, config(8, moderation)).unwrap();
        let mut waits = 0;
        for _ in 0..100 {
            (0..8).for_each(|token| lane.enqueue(job(token as usize), token).unwrap());
            while lane.in_flight() > 0 {
                lane.wait(lane.in_flight(), LONG).unwrap();
                waits += 1;
                lane.reap(usize::MAX, |_| {});
            }
        }
        let counters = lane.counters();
        match moderation {
            Moderation::Each => settles("notifications", 800, || lane.counters().notifications),
            Moderation::Armed | Moderation::Hybrid => {
                // One may be on its way to a client that finds all done and does not sleep.
                let most = counters.sleeps + waits;
                assert!(counters.notifications <= most, "{counters:?}, {waits}");
            }
            Moderation::Polled | Moderation::Spin => {
                assert_eq!((counters.notifications, counters.sleeps), (0, 0));
            }
        }
    }
}

#[test]
fn a_panic_ends_one_worker_and_closes_its_lanes() {
    let cells = cells(64);
    let shared = cells.clone();
    let service = move |_| Tally::new(&shared).delayed(Duration::from_millis(20));
    let engine = Engine::start(&[WorkerConfig::default(); 2], service).unwrap();
    let mut lane = engine.lane(0, config(8, Moderation::Armed)).unwrap();
    let mut other = engine.lane(1, config(8, Moderation::Armed)).unwrap();
    for token in 0..8 {
        let panics = token == 3;
        lane.enqueue(Job { cell: 0, panics }, token).unwrap();
    }
    let done = wait_all(&mut lane);
    assert_eq!(done.len(), 8, "every request completes: {done:?}");
    let failed = done
        .iter()
        .filter(|done| done.1 == Status::WorkerFailed)
        .count();
    assert!(
        failed >= 1 && done.contains(&(3, Status::WorkerFailed)),
        "{done:?}"
    );
    assert_eq!(
        lane.submit(job(0), 9),
        Err(SubmitError::Closed(Closed::WorkerFailed))
    );
    assert!(matches!(
        engine.lane(0, LaneConfig::default()),
        Err(LaneError::WorkerEnded { .. })
    ));
    other.submit(job(1), 1).unwrap();
    assert_eq!(wait_all(&mut other), [(1, Status::Ok)]);
}

#[test]
fn an_abandoned_lane_is_finished_by_the_worker() {
    let (engine, cells) = engine(32);
    let mut lane = engine.lane(0, config(32, Moderation::Armed)).unwrap();
    (0..32).for_each(|cell| lane.enqueue(job(cell), 0).unwrap());
    drop(lane);
    drop(engine);
    assert!(cells.iter().all(|cell| cell.load(Ordering::Relaxed) == 1));
}

#[test]
fn lanes_await_and_tasks_share_a_lane() {
    let (engine, cells) = engine(100);
    for moderation in Moderation::ALL {
        let mut lane = engine.lane(0, config(8, moderation)).unwrap();
        lane.submit(job(99), 5).unwrap();
        assert!(block_on(lane.ready()) >= 1);
        assert_eq!(wait_all(&mut lane), [(5, Status::Ok)]);
        assert_eq!(
            block_on(lane.ready()),
            0,
            "nothing in flight is ready at once"
        );

        let shared = LocalLane::new(lane);
        let submit = |cell| {
            shared
                .submit(|lane, token| lane.submit(job(cell), token))
                .unwrap()
        };
        let futures: Vec<_> = (0..8).map(submit).collect();
        let full = shared.submit(|lane, token| lane.submit(job(0), token));
        assert_eq!(full.err(), Some(SubmitError::Full));
        for (index, future) in futures.into_iter().enumerate().rev() {
            // Every third is dropped unresolved: its slot comes back anyway.
            if index % 3 > 0 {
                assert_eq!(block_on(future), Status::Ok);
            }
        }
        while shared.in_flight() > 0 {
            block_on(submit_when_free(&shared));
        }
    }
    let policies = Moderation::ALL.len() as u64;
    assert_eq!(cells[99].load(Ordering::Relaxed), policies);
}

async fn submit_when_free(shared: &LocalLane<Lane<Job>>) {
    loop {
        match shared.submit(|lane, token| lane.submit(job(0), token)) {
            Ok(outcome) => return assert_eq!(outcome.await, Status::Ok),
            Err(SubmitError::Full) => std::thread::yield_now(),
            Err(closed) => panic!("{closed}"),
        }
    }
}

#[test]
fn a_service_that_cannot_be_made_is_an_error_at_the_start() {
    let result = Engine::<Tally>::start(&[WorkerConfig::default()], |_| panic!("told to"));
    assert!(matches!(result, Err(StartError::Service { worker: 0 })));
}

#[test]
fn a_panic_while_reaping_harms_no_other_lane() {
    let (engine, _) = engine(4);
    let mut lane = engine.lane(0, config(4, Moderation::Armed)).unwrap();
    let mut other = engine.lane(0, config(4, Moderation::Armed)).unwrap();
    for round in 0..8 {
        (0..4).for_each(|token| lane.enqueue(job(0), token).unwrap());
        while lane.wait(4, LONG).unwrap() < 4 {}
        let panics = std::panic::AssertUnwindSafe(|| lane.reap(4, |_| panic!("told to")));
        assert!(std::panic::catch_unwind(panics).is_err(), "round {round}");
        assert_eq!(wait_all(&mut lane).len(), 3);
    }
    other.submit(job(1), 1).unwrap();
    assert_eq!(wait_all(&mut other), [(1, Status::Ok)]);
}

#[test]
fn the_descriptor_tells_of_what_a_wait_without_time_did_not_see() {
    use std::os::fd::{AsFd, AsRawFd};
    let (engine, gate) = gated();
    for round in 0..6 {
        let moderation = [Moderation::Armed, Moderation::Hybrid][round / 3];
        let mut lane = engine.lane(0, config(4, moderation)).unwrap();
        let closed = gate.lock().unwrap();
        lane.submit(job(0), 0).unwrap();
        lane.clear_notification();
        assert_eq!(lane.wait(1, Duration::ZERO), Err(WaitError::TimedOut));
        drop(closed);
        let mut poll = libc::pollfd {
            fd: lane.as_fd().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd, alive during the call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, 20_000) };
        assert_eq!(ready, 1, "the descriptor became readable");
        assert_eq!(wait_all(&mut lane), [(0, Status::Ok)]);
    }
}

#[test]
fn no_task_depends_on_another_being_polled() {
    let (engine, _) = engine(4);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for moderation in [Moderation::Each, Moderation::Armed, Moderation::Hybrid] {
        let lane = engine.lane(0, config(4, moderation)).unwrap();
        let shared = LocalLane::new(lane);
        let submit = |cell| {
            shared
                .submit(|lane, token| lane.submit(job(cell), token))
                .unwrap()
        };
        let (first, mut held) = (submit(0), submit(1));
        // Polled once, then held: its task never looks again.
        let _ = std::pin::Pin::new(&mut held).poll(&mut context);
        assert_eq!(block_on(first), Status::Ok);
        drop(held);
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Submit(usize, u8, Hint),
    Reap(usize),
    Wait(usize, u8),
    Set(usize, Settings),
    Drop(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0usize..5, 1u8..40, hint())
            .prop_map(|(lane, count, hint)| Step::Submit(lane, count, hint)),
        1 => (0usize..5, settings()).prop_map(|(lane, settings)| Step::Set(lane, settings)),
        3 => (0usize..5).prop_map(Step::Reap),
        3 => (0usize..5, 1u8..40).prop_map(|(lane, count)| Step::Wait(lane, count)),
        1 => (0usize..5).prop_map(Step::Drop),
    ]
}

fn any_config() -> impl Strategy<Value = LaneConfig> {
    let parts = (
        1usize..40,
        0usize..Moderation::ALL.len(),
        any::<bool>(),
        settings(),
    );
    parts.prop_map(|(depth, policy, fifo, settings)| LaneConfig {
        depth,
        settings,
        order: if fifo { Order::Fifo } else { Order::Any },
        ..config(depth, Moderation::ALL[policy])
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let parts = (any::<bool>(), 2000u32..1_000_000, 1u32..50, 1u32..500);
    parts.prop_map(|(is_capped, per_s, count, timeout_us)| {
        let settings = Settings::coalesce(count, timeout_us).unwrap();
        if is_capped {
            settings.and_cap(per_s).unwrap()
        } else {
            settings
        }
    })
}

fn hint() -> impl Strategy<Value = Hint> {
    prop_oneof![6 => Just(Hint::None), 1 => Just(Hint::Urgent), 1 => Just(Hint::Barrier)]
}

#[test]
fn a_lane_that_is_made_just_before_the_stop_is_finished() {
    for _ in 0..cases(400) {
        let (engine, _) = engine(1);
        let config = config(8, Moderation::Armed);
        let mut lanes: Vec<_> = (0..4).map(|_| engine.lane(0, config).unwrap()).collect();
        lanes[3].submit(job(0), 7).unwrap();
        engine.shutdown();
        assert_eq!(wait_all(&mut lanes[3]), [(7, Status::Ok)]);
    }
}

/// A lane and what it was promised: (token, cell) accepted, tokens completed.
struct Client {
    lane: Option<Lane<Job>>,
    accepted: Vec<usize>,
    completed: Vec<(u64, Status)>,
}

impl Client {
    fn reap(&mut self) {
        let Some(lane) = &mut self.lane else { return };
        lane.reap(usize::MAX, |done| {
            self.completed.push((done.token, done.status))
        });
    }

    fn drain(&mut self) {
        while self.lane.as_ref().is_some_and(|lane| lane.in_flight() > 0) {
            self.lane.as_mut().unwrap().wait(1, LONG).unwrap();
            self.reap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn every_request_completes_exactly_once(
        configs in proptest::collection::vec(any_config(), 1..5),
        workers in 1usize..3,
        steps in proptest::collection::vec(step(), 0..60),
        shut_down_first in any::<bool>(),
    ) {
        let cells = cells(60 * 40);
        let shared = cells.clone();
        let service = move |_| Tally::new(&shared);
        let engine = Engine::start(&vec![WORKER; workers], service).unwrap();
        let mut clients: Vec<_> = configs.iter().enumerate().map(|(index, &config)| Client {
            lane: Some(engine.lane(index % workers, config).unwrap()),
            accepted: Vec::new(),
            completed: Vec::new(),
        }).collect();
        let (count, mut next) = (clients.len(), 0);
        for step in steps {
            match step {
                Step::Submit(client, requests, hint) => {
                    let client = &mut clients[client % count];
                    for _ in 0..requests {
                        let Some(lane) = &mut client.lane else { break };
                        let fits = lane.room() > 0;
                        let result = lane.enqueue_with(job(next), next as u64, hint);
                        prop_assert_eq!(result.is_ok(), fits);
                        if fits { client.accepted.push(next); next += 1; }
                    }
                    client.lane.iter_mut().for_each(Lane::kick);
                }
                Step::Reap(client) => clients[client % count].reap(),
                Step::Wait(client, at_least) => {
                    let client = &mut clients[client % count];
                    if let Some(lane) = &mut client.lane && lane.in_flight() > 0 {
                        prop_assert!(lane.wait(at_least.into(), LONG).unwrap() >= 1);
                    }
                    client.reap();
                }
                Step::Set(client, settings) => {
                    clients[client % count].lane.iter().for_each(|lane| lane.watch().set(settings));
                }
                Step::Drop(client) => clients[client % count].lane = None,
            }
        }
        if shut_down_first {
            engine.shutdown();
            clients.iter_mut().for_each(Client::drain);
        } else {
            clients.iter_mut().for_each(Client::drain);
            engine.shutdown();
        }
        for (client, config) in clients.iter().zip(&configs) {
            let mut tokens: Vec<_> = client.completed.iter().map(|done| done.0 as usize).collect();
            if config.order == Order::Fifo {
                prop_assert!(tokens.is_sorted(), "fifo: {:?}", tokens);
            }
            tokens.sort_unstable();
            if client.lane.is_some() {
                prop_assert_eq!(&tokens, &client.accepted);
            }
            for &(token, status) in &client.completed {
                let runs = cells[token as usize].load(Ordering::Relaxed);
                prop_assert_eq!(runs, u64::from(status == Status::Ok), "token {} {:?}", token, status);
                // What was submitted before a shutdown is finished.
                prop_assert_eq!(status, Status::Ok);
            }
            // A dropped lane's requests ran all the same, or were never taken.
            for &cell in &client.accepted {
                prop_assert!(cells[cell].load(Ordering::Relaxed) <= 1);
            }
        }
    }
}
