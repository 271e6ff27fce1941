//! Virtual functions: shares, quotas and caps, with a service whose work is
//! counted and not timed.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::works::{Client, Rig, Work, Works, engine, free_running};
use crate::common::{self, LONG, until, with_cap, with_quota};
use lockgate_engine::{
    FUNCTIONS_MAX, FunctionConfig, FunctionError, LaneConfig, LaneError, VirtualFunction,
};
use policy::{Moderation, Quota, Settings};

fn function(engine: &lockgate_engine::Engine<Works>, weight: u32) -> VirtualFunction<Work> {
    let config = FunctionConfig {
        weight,
        ..FunctionConfig::default()
    };
    engine.function(config).unwrap()
}

fn lane_config(depth: usize) -> LaneConfig {
    common::lane_config(depth, Moderation::Polled)
}

fn limited(rig: &Rig, quota: Quota) -> VirtualFunction<Work> {
    let config = with_quota(quota);
    rig.engine.function(config).unwrap()
}

/// Keeps all clients' lanes full, in turns, until the worker has processed so
/// much work; the last two thirds count. The worker processes one batch after
/// each round, so that what is fair does not depend on this host's scheduler.
fn contend(engine: &Rig, clients: &mut [Client], work_ns: u64) -> Vec<u64> {
    let mut begin = Vec::new();
    let deadline = Instant::now() + LONG;
    loop {
        clients.iter_mut().for_each(Client::turn);
        engine.step();
        let done = engine.totals();
        let sum: u64 = done.iter().sum();
        if begin.is_empty() && sum > work_ns / 3 {
            begin.clone_from(&done);
        }
        if sum > work_ns {
            return done
                .iter()
                .zip(&begin)
                .map(|(end, begin)| end - begin)
                .collect();
        }
        assert!(Instant::now() < deadline, "{done:?}");
    }
}

#[test]
fn work_is_shared_by_weight() {
    testing::timed(|| {
        let rig = engine(3);
        let weights = [1, 2, 5];
        let functions: Vec<_> = weights.iter().map(|w| function(&rig.engine, *w)).collect();
        let mut clients: Vec<Client> = functions
            .iter()
            .zip([100, 700, 3000])
            .enumerate()
            .map(|(who, (function, ns))| {
                Client::new(function.lane(0, lane_config(256)).unwrap(), who, ns)
            })
            .collect();
        let shares = contend(&rig, &mut clients, 20_000_000);
        let sum: u64 = shares.iter().sum();
        for (share, weight) in shares.iter().zip(weights) {
            let part = *share as f64 / sum as f64 / (f64::from(weight) / 8.0);
            assert!((0.95..1.05).contains(&part), "{shares:?}");
        }
        for (function, who) in functions.iter().zip(0..) {
            let counters = function.counters();
            assert!(counters.work_ns >= shares[who], "{counters:?}");
        }
    });
}

/// A flooder with many lanes, one with huge requests, one that never reaps,
/// and one that asks for the dearest requests there are; two polite tenants.
#[test]
fn hostile_tenants_take_no_more_than_their_share() {
    testing::timed(|| {
        let rig = engine(6);
        let weights = [1, 1, 1, 1, 1, 3];
        let functions: Vec<_> = weights.iter().map(|w| function(&rig.engine, *w)).collect();
        let mut clients = Vec::new();
        let mut add = |who: usize, depth: usize, ns: u64| {
            let lane = functions[who].lane(0, lane_config(depth)).unwrap();
            clients.push(Client::new(lane, who, ns));
        };
        (0..8).for_each(|_| add(0, 1024, 100));
        add(1, 64, 60_000);
        add(2, 512, 500);
        add(3, 32, 1_000_000);
        add(4, 64, 200);
        add(5, 128, 1_000);
        clients[9].never_reaps = true;
        let shares = contend(&rig, &mut clients, 400_000_000);
        // The one that never reaps is soon stuck, alone.
        let sum: u64 = shares.iter().sum();
        let busy = 7.0;
        for (who, weight) in [(4, 1.0), (5, 3.0)] {
            let part = shares[who] as f64 / sum as f64 / (weight / busy);
            assert!(part >= 0.95, "{who} gets {part} of its share: {shares:?}");
        }
        assert_eq!(rig.cells[2].load(Ordering::Relaxed), 512 * 500);
    });
}

#[test]
fn a_lane_of_no_function_weighs_one() {
    testing::timed(|| {
        let rig = engine(3);
        let heavy = function(&rig.engine, 2);
        let plain = |who| Client::new(rig.engine.lane(0, lane_config(256)).unwrap(), who, 300);
        let mut clients = vec![
            plain(0),
            plain(1),
            Client::new(heavy.lane(0, lane_config(256)).unwrap(), 2, 300),
        ];
        let shares = contend(&rig, &mut clients, 10_000_000);
        let unit = shares.iter().sum::<u64>() as f64 / 4.0;
        for (share, weight) in shares.iter().zip([1.0, 1.0, 2.0]) {
            assert!(
                (0.95..1.05).contains(&(*share as f64 / unit / weight)),
                "{shares:?}"
            );
        }
    });
}

#[test]
fn another_weight_counts_from_now_on() {
    testing::timed(|| {
        let rig = engine(2);
        let functions = [function(&rig.engine, 1), function(&rig.engine, 1)];
        let client =
            |who: usize| Client::new(functions[who].lane(0, lane_config(256)).unwrap(), who, 300);
        let mut clients = vec![client(0), client(1)];
        let ratio = |shares: &[u64]| shares[1] as f64 / shares[0] as f64;
        let before = ratio(&contend(&rig, &mut clients, 6_000_000));
        functions[1].set_weight(10).unwrap();
        let after = ratio(&contend(&rig, &mut clients, 40_000_000));
        assert!((0.9..1.1).contains(&before), "{before}");
        assert!((9.0..11.0).contains(&after), "{after}");
        assert_eq!(
            functions[1].set_weight(0),
            Err(FunctionError::Weight { weight: 0 })
        );
    });
}

#[test]
fn a_quota_is_kept_over_all_lanes_and_nothing_is_lost() {
    testing::timed(|| {
        for quota in [
            Quota::UNLIMITED.and_requests(5_000).unwrap(),
            Quota::UNLIMITED.and_bytes(500_000).unwrap(),
        ] {
            let quota = quota.with_burst(1_000_000).unwrap();
            let rig = free_running(1);
            let limited = limited(&rig, quota);
            let mut clients: Vec<Client> = (0..3)
                .map(|_| Client::new(limited.lane(0, lane_config(64)).unwrap(), 0, 100))
                .collect();
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(60) {
                clients.iter_mut().for_each(Client::turn);
                std::thread::yield_now();
            }
            let done = limited.counters();
            // Afterwards: this thread may have been kept in between.
            let most = begin.elapsed().as_secs_f64() * 5_000.0 + 5.0 + 1.0;
            assert!(done.requests as f64 <= most, "{done:?} of {most}");
            assert!(done.requests > 0 && done.throttled > 0, "{done:?}");
            limited.set_quota(Quota::UNLIMITED);
            clients.iter_mut().for_each(Client::drain);
            let accepted: u64 = clients.iter().map(|client| client.accepted).sum();
            assert_eq!(limited.counters().requests, accepted);
        }
    });
}

#[test]
fn a_quota_does_not_outlive_the_engine() {
    let rig = free_running(1);
    let quota = Quota::UNLIMITED.and_requests(1).unwrap();
    let limited = limited(&rig, quota);
    let mut client = Client::new(limited.lane(0, lane_config(64)).unwrap(), 0, 100);
    client.turn();
    drop(rig);
    client.drain();
    assert_eq!(limited.counters().requests, 64);
}

#[test]
fn a_cap_holds_for_all_lanes_together() {
    testing::timed(|| {
        const CAP: u32 = 500;
        let rig = free_running(1);
        let config = with_cap(CAP);
        let function = rig.engine.function(config).unwrap();
        let lane = |_| {
            let config = LaneConfig {
                moderation: Moderation::Each,
                ..lane_config(16)
            };
            Client::new(function.lane(0, config).unwrap(), 0, 100)
        };
        let mut clients: Vec<Client> = (0..4).map(lane).collect();
        let begin = Instant::now();
        clients.iter_mut().for_each(Client::fill);
        while begin.elapsed() < Duration::from_millis(60) {
            for client in &mut clients {
                // What is alone in flight is notified of at once: none ever is.
                client.reap_but(2);
                client.fill();
            }
            std::thread::yield_now();
        }
        let watch = function.watch();
        let counters = watch.counters();
        // Afterwards: this thread may have been kept in between. A lane that others
        // kept back for a round of all passes besides.
        let most = begin.elapsed().as_secs_f64() * f64::from(CAP) + 2.0 + clients.len() as f64;
        assert!(
            counters.notifications as f64 <= most,
            "{counters:?} of {most}"
        );
        assert!(counters.held > 0 && watch.held_alone() == 0, "{counters:?}");
        watch.set(Settings::UNLIMITED);
        assert_eq!(function.settings(), Settings::UNLIMITED);
        clients.iter_mut().for_each(Client::drain);
        let accepted: u64 = clients.iter().map(|client| client.accepted).sum();
        drop(clients);
        until("lanes are left", || function.counters().lanes == 0);
        let counters = function.counters();
        assert_eq!((counters.lanes, counters.requests), (0, accepted));
    });
}

#[test]
fn what_cannot_be_is_refused_with_the_limit() {
    let rig = free_running(1);
    let with = |config| rig.engine.function(config).unwrap_err().to_string();
    let usual = FunctionConfig::default();
    for weight in [0, 1001] {
        let text = with(FunctionConfig { weight, ..usual });
        assert!(text.contains("1 to 1000"), "{text}");
    }
    let text = with(FunctionConfig {
        lanes_max: 0,
        ..usual
    });
    assert!(text.contains("1 to 256"), "{text}");
    assert!(Quota::UNLIMITED.and_requests(0).is_err());
    let few = FunctionConfig {
        lanes_max: 2,
        ..usual
    };
    let function = rig.engine.function(few).unwrap();
    let _lanes = [(); 2].map(|()| function.lane(0, lane_config(1)).unwrap());
    let third = function.lane(0, lane_config(1));
    assert!(matches!(third, Err(LaneError::Share { lanes: 2 })));
    let mut all = vec![function];
    while all.len() < FUNCTIONS_MAX {
        all.push(rig.engine.function(usual).unwrap());
    }
    assert_eq!(
        rig.engine.function(usual).unwrap_err(),
        FunctionError::TooMany
    );
    drop(all);
    rig.engine.function(usual).unwrap();
}

/// However many lanes there are, a breath looks at those that have work and
/// a few more.
#[test]
fn idle_functions_cost_nothing() {
    const FUNCTIONS: usize = 500;
    const ROUNDS: u64 = 2_000;
    let rig = free_running(1);
    let functions: Vec<_> = (0..FUNCTIONS).map(|_| function(&rig.engine, 1)).collect();
    let mut lanes: Vec<Client> = functions
        .iter()
        .map(|function| Client::new(function.lane(0, lane_config(4)).unwrap(), 0, 100))
        .collect();
    for client in &mut lanes {
        client.turn();
        client.drain();
    }
    let before = rig.engine.counters(0);
    for _ in 0..ROUNDS {
        lanes[7].turn();
        lanes[7].drain();
    }
    let after = rig.engine.counters(0);
    let breaths = after.batches - before.batches;
    let looks = after.looks - before.looks;
    // An idle worker that is awake looks, too: but at no more lanes a time.
    let idle = after.sleeps - before.sleeps;
    assert!(
        looks <= 40 * (breaths + 2 * idle + 1),
        "{looks} in {breaths} and {idle}"
    );
}
