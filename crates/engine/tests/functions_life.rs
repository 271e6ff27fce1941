//! The lives of virtual functions, under load: every accepted request
//! completes exactly once.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::works::{Client, Work, free_running};
use crate::common::{LONG, cases, lane_config, until, with_quota};
use crypto::Status;
use lockgate_engine::{
    Closed, Completion, DrainError, FunctionConfig, Hint, Lane, LaneConfig, LaneError, Life, Order,
    SubmitError, VirtualFunction,
};
use policy::{Moderation, Quota, Settings};
use proptest::prelude::*;

fn limited() -> FunctionConfig {
    with_quota(Quota::UNLIMITED.and_requests(1).unwrap())
}

#[test]
fn a_reset_cancels_what_is_in_flight_and_lanes_go_on() {
    for moderation in Moderation::ALL {
        let rig = free_running(1);
        let function = rig.engine.function(limited()).unwrap();
        let lane = |_| Client::new(function.lane(0, lane_config(32, moderation)).unwrap(), 0, 1);
        let mut clients: Vec<Client> = (0..3).map(lane).collect();
        clients.iter_mut().for_each(Client::fill);
        function.reset(LONG).unwrap();
        clients.iter_mut().for_each(Client::drain);
        let cancelled: u64 = clients.iter().map(|client| client.cancelled).sum();
        assert!(cancelled >= 90, "{cancelled}: the quota lets few through");
        function.set_quota(Quota::UNLIMITED);
        for client in &mut clients {
            let before = client.completed;
            client.fill();
            client.drain();
            assert_eq!(client.completed, before + 32);
            assert_eq!(client.accepted, client.completed + client.cancelled);
        }
    }
}

#[test]
fn a_drain_finishes_what_is_there_and_takes_nothing_new() {
    let rig = free_running(1);
    let function = rig.engine.function(limited()).unwrap();
    let lane = function.lane(0, lane_config(32, Moderation::Armed));
    let mut client = Client::new(lane.unwrap(), 0, 1);
    client.fill();
    let timeout = Duration::from_millis(20);
    assert_eq!(
        function.drain(timeout),
        Err(DrainError::TimedOut { worker: 0, timeout })
    );
    client.reap();
    let refused = client.lane.submit(client.work, 0);
    assert_eq!(refused, Err(SubmitError::Draining));
    assert_eq!(function.life(), Life::Draining);
    let another = function.lane(0, lane_config(1, Moderation::Armed));
    assert!(matches!(another, Err(LaneError::Ended(Life::Draining))));
    function.set_quota(Quota::UNLIMITED);
    function.drain(LONG).unwrap();
    assert_eq!(function.counters().requests, 32);
    client.drain();
    assert_eq!((client.completed, client.cancelled), (32, 0));
    function.resume();
    client.fill();
    client.drain();
    assert_eq!(client.completed, 64);
}

#[test]
fn a_removed_function_closes_its_lanes_and_only_these() {
    let rig = free_running(2);
    let function = rig.engine.function(limited()).unwrap();
    let config = lane_config(16, Moderation::Armed);
    let mut own = Client::new(function.lane(0, config).unwrap(), 0, 1);
    let mut other = Client::new(rig.engine.lane(0, config).unwrap(), 1, 1);
    let watch = function.watch();
    own.fill();
    own.lane.wait(1, LONG).unwrap();
    other.fill();
    function.remove(LONG).unwrap();
    own.drain();
    assert_eq!(own.lane.closed(), Some(Closed::Removed));
    assert!(own.cancelled >= 14, "{}", own.cancelled);
    let refused = own.lane.submit(own.work, 0);
    assert_eq!(refused, Err(SubmitError::Closed(Closed::Removed)));
    // The lane's totals outlive it.
    assert!(watch.counters().requests > 0);
    watch.set(Settings::cap(5).unwrap());
    other.turn();
    other.drain();
    assert_eq!(other.cancelled, 0);
    // Its slot and its number can be had again.
    let again = rig.engine.function(FunctionConfig::default()).unwrap();
    let mut client = Client::new(again.lane(0, config).unwrap(), 0, 1);
    drop(own);
    client.fill();
    client.drain();
    assert_eq!(client.completed, 16);
}

#[test]
fn a_dropped_function_is_removed() {
    let rig = free_running(1);
    let function = rig.engine.function(FunctionConfig::default()).unwrap();
    let lane = function.lane(0, lane_config(16, Moderation::Each));
    let mut client = Client::new(lane.unwrap(), 0, 1);
    client.fill();
    drop(function);
    client.drain();
    until("the lane is closed", || client.lane.closed().is_some());
    assert_eq!(client.accepted, client.completed + client.cancelled);
}

/// One thread keeps submitting, tokens unique; the other resets, drains and
/// resumes, and at last removes.
#[test]
fn lives_end_while_clients_submit() {
    for round in 0..cases(6) {
        let rig = free_running(1);
        let function = rig.engine.function(FunctionConfig::default()).unwrap();
        let moderation = Moderation::ALL[round as usize % Moderation::ALL.len()];
        let lanes: Vec<Lane<Work>> = (0..2)
            .map(|_| function.lane(0, lane_config(64, moderation)).unwrap())
            .collect();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for lane in lanes {
                let is_over = &is_over;
                scope.spawn(move || submit_until_removed(lane, is_over));
            }
            for _ in 0..20 {
                function.reset(LONG).unwrap();
                function.drain(LONG).unwrap();
                function.resume();
                std::thread::yield_now();
            }
            function.remove(LONG).unwrap();
            is_over.store(true, Ordering::Release);
        });
    }
}

fn submit_until_removed(mut lane: Lane<Work>, is_over: &AtomicBool) {
    let mut in_flight = HashSet::new();
    let mut token = 0;
    let deadline = Instant::now() + LONG;
    let reap = |lane: &mut Lane<Work>, in_flight: &mut HashSet<u64>| {
        lane.reap(usize::MAX, |Completion { token, status }| {
            assert!(matches!(status, Status::Ok | Status::Cancelled));
            assert!(in_flight.remove(&token), "{token} completed twice");
        });
    };
    loop {
        assert!(Instant::now() < deadline);
        let work = Work { who: 0, work_ns: 1 };
        match lane.submit(work, token) {
            Ok(()) => {
                in_flight.insert(token);
                token += 1;
            }
            Err(SubmitError::Full) => {
                lane.wait(1, LONG).unwrap();
            }
            Err(SubmitError::Draining) => std::thread::yield_now(),
            Err(SubmitError::Closed(closed)) => {
                assert_eq!(closed, Closed::Removed);
                break;
            }
        }
        reap(&mut lane, &mut in_flight);
    }
    while lane.in_flight() > 0 {
        lane.wait(1, LONG).unwrap();
        reap(&mut lane, &mut in_flight);
    }
    assert!(in_flight.is_empty());
    until("the function is removed", || {
        is_over.load(Ordering::Acquire)
    });
}

#[derive(Clone, Debug)]
enum Step {
    Create(u32, Option<u64>),
    Open(usize, usize, usize, bool, bool),
    Submit(usize, u8, u64, bool),
    Reap(usize),
    Close(usize),
    Weigh(usize, u32),
    Limit(usize, Option<u64>),
    Set(usize, u32),
    Drain(usize),
    Resume(usize),
    Reset(usize),
    Remove(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let quota = || prop_oneof![Just(None), (1000u64..1_000_000).prop_map(Some)];
    let who = || 0usize..6;
    prop_oneof![
        3 => (1u32..=1000, quota()).prop_map(|(weight, quota)| Step::Create(weight, quota)),
        5 => (who(), 1usize..50, 0usize..Moderation::ALL.len(), any::<bool>(), any::<bool>())
            .prop_map(|(who, depth, policy, fifo, plain)| Step::Open(who, depth, policy, fifo, plain)),
        12 => (who(), 1u8..40, 1u64..200_000, any::<bool>())
            .prop_map(|(who, count, ns, kick)| Step::Submit(who, count, ns, kick)),
        5 => who().prop_map(Step::Reap),
        1 => who().prop_map(Step::Close),
        1 => (who(), 1u32..=1000).prop_map(|(who, weight)| Step::Weigh(who, weight)),
        1 => (who(), quota()).prop_map(|(who, quota)| Step::Limit(who, quota)),
        1 => (who(), 2000u32..1_000_000).prop_map(|(who, cap)| Step::Set(who, cap)),
        1 => who().prop_map(Step::Drain),
        2 => who().prop_map(Step::Resume),
        2 => who().prop_map(Step::Reset),
        1 => who().prop_map(Step::Remove),
    ]
}

fn quota(per_s: Option<u64>) -> Quota {
    per_s.map_or(Quota::UNLIMITED, |per_s| {
        Quota::UNLIMITED.and_requests(per_s).unwrap()
    })
}

fn with<T>(all: &mut [T], which: usize, act: impl FnOnce(&mut T)) {
    if let Some(one) = pick(all, which) {
        act(one);
    }
}

fn pick<T>(all: &mut [T], which: usize) -> Option<&mut T> {
    let len = all.len();
    (len > 0).then(|| &mut all[which % len])
}

struct World {
    rig: crate::common::works::Rig,
    functions: Vec<VirtualFunction<Work>>,
    clients: Vec<Client>,
}

impl World {
    fn step(&mut self, step: &Step) {
        let Self {
            rig,
            functions,
            clients,
        } = self;
        match *step {
            Step::Create(weight, per_s) if functions.len() < 6 => {
                let config = FunctionConfig {
                    weight,
                    quota: quota(per_s),
                    lanes_max: 3,
                    ..FunctionConfig::default()
                };
                functions.push(rig.engine.function(config).unwrap());
            }
            Step::Open(who, depth, policy, fifo, plain) if clients.len() < 12 => {
                let config = LaneConfig {
                    order: if fifo { Order::Fifo } else { Order::Any },
                    ..lane_config(depth, Moderation::ALL[policy])
                };
                let lane = match pick(functions, who) {
                    Some(function) if !plain => function.lane(0, config),
                    _ => rig.engine.lane(0, config),
                };
                match lane {
                    Ok(lane) => clients.push(Client::new(lane, 0, 1)),
                    Err(error) => assert!(matches!(
                        error,
                        LaneError::Share { lanes: 3 } | LaneError::Ended(Life::Draining)
                    )),
                }
            }
            Step::Submit(who, count, work_ns, kick) => {
                let Some(client) = pick(clients, who) else {
                    return;
                };
                client.work.work_ns = work_ns;
                for _ in 0..count {
                    let hint = if count % 5 == 0 {
                        Hint::Barrier
                    } else {
                        Hint::None
                    };
                    match client.lane.enqueue_with(client.work, 0, hint) {
                        Ok(()) => client.accepted += 1,
                        Err(SubmitError::Closed(closed)) => assert_eq!(closed, Closed::Removed),
                        Err(SubmitError::Full | SubmitError::Draining) => {}
                    }
                }
                if kick {
                    client.lane.kick();
                }
            }
            Step::Reap(who) => {
                with(clients, who, Client::reap);
            }
            Step::Close(who) if !clients.is_empty() => {
                let mut client = clients.swap_remove(who % clients.len());
                client.reap();
            }
            Step::Weigh(who, weight) => {
                with(functions, who, |function| {
                    function.set_weight(weight).unwrap()
                });
            }
            Step::Limit(who, per_s) => {
                with(functions, who, |function| function.set_quota(quota(per_s)));
            }
            Step::Set(who, cap) => {
                let settings = Settings::cap(cap).unwrap();
                with(functions, who, |function| function.watch().set(settings));
            }
            Step::Drain(who) => {
                // A quota may make it late.
                with(functions, who, |function| {
                    let _ = function.drain(Duration::from_millis(2));
                });
            }
            Step::Resume(who) => {
                with(functions, who, |function| function.resume());
            }
            Step::Reset(who) => {
                with(functions, who, |function| function.reset(LONG).unwrap());
            }
            Step::Remove(who) if !functions.is_empty() => {
                let function = functions.swap_remove(who % functions.len());
                function.remove(LONG).unwrap();
            }
            _ => {}
        }
    }

    fn finish(mut self) {
        for client in &mut self.clients {
            client.lane.kick();
            while client.lane.in_flight() > 0 {
                client.lane.wait(1, LONG).expect("nothing is stranded");
                client.reap();
            }
            assert_eq!(client.accepted, client.completed + client.cancelled);
        }
        let live = self.functions.iter().map(|one| one.counters().lanes);
        assert!(live.sum::<usize>() <= 3 * self.functions.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn every_request_completes_exactly_once_whatever_is_done_to_functions(
        steps in proptest::collection::vec(step(), 0..120),
        shut_down_first in any::<bool>(),
    ) {
        let mut world = World {
            rig: free_running(1),
            functions: Vec::new(),
            clients: Vec::new(),
        };
        steps.iter().for_each(|step| world.step(step));
        if shut_down_first {
            world.rig = free_running(1);
        }
        world.finish();
    }
}
