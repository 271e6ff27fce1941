//! What ours promises besides.

use lockgate_policy::controllers::{Adaptive, Joint, Parameters};
use lockgate_policy::{Controller, Moderation, Settings};
use proptest::prelude::*;

use crate::common::{Core, Fixed, Load, Measured, Sim};
use crate::controllers::properties::{Scene, cases, scene};

const RUN_NS: u64 = 1_500_000_000;

fn armed() -> Box<dyn Controller> {
    Box::new(Fixed(Moderation::Armed, Settings::UNLIMITED))
}

fn adaptive() -> Box<dyn Controller> {
    Box::new(Adaptive::new(&Parameters::default()))
}

/// From the first moment on, so that trials count.
fn run(scene: &Scene, make: impl Fn() -> Box<dyn Controller>) -> Vec<Measured> {
    scene.sim(make).measure(RUN_NS)
}

fn ratio(found: &[Measured], base: &[Measured]) -> f64 {
    let ratios = found.iter().zip(base);
    let sum: f64 = ratios
        .map(|(it, base)| it.requests_per_s / base.requests_per_s)
        .sum();
    sum / found.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn never_below_armed(scene in scene()) {
        let base = run(&scene, armed);
        let alone = ratio(&run(&scene, adaptive), &base);
        let joint = Joint::new(&Parameters::default());
        let joint = ratio(&run(&scene, || Box::new(joint.seat())), &base);
        prop_assert!(alone > 0.95, "each for itself {}: {:?}", alone, scene);
        prop_assert!(joint > 0.95, "jointly {}: {:?}", joint, scene);
    }
}

/// A slow notification: 3 µs, as on a host that must enter a guest for it.
const SLOW: Core = Core {
    notification_ns: 3000.0,
    client_part: 0.5,
    request_ns: 500.0,
    ..Core::USUAL
};

/// After two seconds to learn in.
fn settled(core: Core, load: Load, make: impl Fn() -> Box<dyn Controller>) -> (Measured, Sim) {
    let mut sim = Sim::new(core, 5);
    let lane = sim.add(make());
    sim.load(lane, load);
    sim.run_until(sim.now_ns + 2_000_000_000);
    (sim.measure(500_000_000).remove(0), sim)
}

#[test]
fn at_depth_one_nothing_is_held() {
    for burst in [1, 64] {
        let core = Core { burst, ..SLOW };
        let load = Load::closed(1, 1024);
        let (measured, sim) = settled(core, load, adaptive);
        assert!(measured.requests_per_s > 100_000.0);
        assert_eq!(sim.lanes[0].counters.held, 0);
        assert_eq!(sim.lanes[0].held_alone, 0);
        assert!(sim.lanes[0].history.is_empty(), "nothing to try either");
    }
}

#[test]
fn where_armed_wakes_too_often_it_is_capped() {
    let load = Load::closed(2, 1024);
    let (free, _) = settled(SLOW, load, armed);
    let (found, _) = settled(SLOW, load, adaptive);
    let gain = found.requests_per_s / free.requests_per_s;
    // (c + t·B + T) / (c + t·B + T/2), with 600 and 3000 ns, is 1.71.
    assert!(gain > 1.6, "{gain}");
}

#[test]
fn at_random_times_it_saves_the_core_within_the_longest_hold() {
    let load = Load::Open {
        per_s: 220_000.0,
        block_bytes: 1024,
        window: 256,
    };
    let (free, _) = settled(SLOW, load, armed);
    for hold_ns_max in [10_000, 40_000, 200_000] {
        let parameters = Parameters::default().with_hold_ns_max(hold_ns_max).unwrap();
        let (found, sim) = settled(SLOW, load, || Box::new(Adaptive::new(&parameters)));
        let speed = found.requests_per_s / free.requests_per_s;
        assert!(speed > 0.99, "{hold_ns_max}: {speed}");
        assert!(
            found.p99_ns() <= free.p99_ns() + hold_ns_max,
            "{hold_ns_max}"
        );
        let longest = sim.lanes[0].history.iter().map(|(_, it)| it.interval_ns());
        assert!(longest.max().is_none_or(|ns| u64::from(ns) <= hold_ns_max));
        let saved = 1.0 - found.utilisation / free.utilisation;
        println!(
            "{hold_ns_max}: saves {saved:.2}, p99 {} of {}",
            found.p99_ns(),
            free.p99_ns()
        );
        assert!(saved > 0.1, "{hold_ns_max}: {saved}");
    }
}

#[test]
fn the_prices_are_found_once_the_load_has_varied() {
    let joint = Joint::new(&Parameters::default());
    let mut sim = Sim::new(SLOW, 9);
    let lane = sim.add(Box::new(joint.seat()));
    for (depth, block_bytes) in [(2, 512), (32, 4096), (4, 16_384), (1, 64), (64, 1024)] {
        sim.load(lane, Load::Closed { depth, block_bytes });
        sim.run_until(sim.now_ns + 400_000_000);
    }
    let prices = joint.prices();
    // What the worker's own CPU time shows: half of the notification.
    assert!(
        (prices.notification_ns / 1500.0 - 1.0).abs() < 0.1,
        "{prices:?}"
    );
    assert!((prices.request_ns / 500.0 - 1.0).abs() < 0.1, "{prices:?}");
    assert!((prices.byte_ns / 0.1 - 1.0).abs() < 0.1, "{prices:?}");
}

/// A client that wants to be woken for each of its many completions, beside three
/// that keep a few in flight.
fn beside_a_hostile_one(make: impl Fn() -> Box<dyn Controller>) -> Vec<Measured> {
    let mut sim = Sim::new(SLOW, 13);
    let hostile = sim.add(make());
    let load = Load::eager(64, 64);
    sim.load(hostile, load);
    for _ in 0..3 {
        let lane = sim.add(make());
        let load = Load::closed(16, 1024);
        sim.load(lane, load);
    }
    sim.run_until(sim.now_ns + 1_000_000_000);
    sim.measure(500_000_000)
}

#[test]
fn one_that_causes_notifications_does_not_starve_others() {
    let free = beside_a_hostile_one(armed);
    let joint = Joint::new(&Parameters::default());
    let found = beside_a_hostile_one(|| Box::new(joint.seat()));
    for (found, free) in found.iter().zip(&free).skip(1) {
        let gain = found.requests_per_s / free.requests_per_s;
        assert!(gain > 1.8, "{gain}");
    }
    assert!(found[0].notifications_per_s < 0.2 * free[0].notifications_per_s);
}

/// In addition it is never the same for long.
#[test]
fn one_that_always_changes_does_not_keep_others_from_gaining() {
    let others = |make: &dyn Fn() -> Box<dyn Controller>| {
        let mut sim = Sim::new(SLOW, 19);
        (0..3).for_each(|_| {
            sim.add(make());
        });
        for lane in [1, 2] {
            let load = Load::closed(2, 1024);
            sim.load(lane, load);
        }
        let mut requests_per_s = 0.0;
        for step in 0..80 {
            let load = Load::eager([64, 16][step % 2], [64, 4096][step % 2]);
            sim.load(0, load);
            let measured = sim.measure(50_000_000);
            if step >= 40 {
                requests_per_s += measured[1].requests_per_s + measured[2].requests_per_s;
            }
        }
        requests_per_s
    };
    let joint = Joint::new(&Parameters::default());
    let gain = others(&|| Box::new(joint.seat())) / others(&armed);
    assert!(gain > 1.3, "{gain}");
}

#[test]
fn a_load_that_always_changes_is_no_slower_than_armed() {
    let alone = |make: &dyn Fn() -> Box<dyn Controller>, step_ns: u64| {
        let mut sim = Sim::new(SLOW, 23);
        sim.add(make());
        let mut requests_per_s = 0.0;
        for step in 0..60 {
            let load = Load::closed([2, 16, 5][step % 3], [64, 4096][step % 2]);
            sim.load(0, load);
            requests_per_s += sim.measure(step_ns)[0].requests_per_s;
        }
        requests_per_s
    };
    for step_ns in [7_000_000, 30_000_000, 55_000_000, 120_000_000] {
        let share = alone(&adaptive, step_ns) / alone(&armed, step_ns);
        assert!(share > 0.97, "{step_ns}: {share}");
    }
}

/// Four tenants with few in flight, each capped for its share of the core; then three
/// leave. The load of the last stays the same, but its cap is now the limit.
#[test]
fn one_that_stays_when_others_leave_is_not_held_back() {
    let load = Load::closed(4, 1024);
    for client_part in [0.0, 0.5] {
        let core = Core {
            client_part,
            ..SLOW
        };
        let (alone, _) = settled(core, load, armed);
        let mut sim = Sim::new(core, 17);
        for _ in 0..4 {
            let lane = sim.add(adaptive());
            sim.load(lane, load);
        }
        sim.run_until(sim.now_ns + 2_000_000_000);
        assert!(
            !sim.lanes[0].settings().is_unlimited(),
            "nothing to release"
        );
        (1..4).for_each(|lane| sim.load(lane, Load::Idle));
        sim.run_until(sim.now_ns + 300_000_000);
        let found = &sim.measure(500_000_000)[0];
        let share = found.requests_per_s / alone.requests_per_s;
        assert!(share > 0.97, "{client_part}: {share}");
    }
}

#[test]
fn a_seat_that_is_left_is_taken_again() {
    let joint = Joint::new(&Parameters::default());
    let mut first = joint.seat();
    let second = joint.seat();
    drop(second);
    let mut third = joint.seat();
    for step in 1..100_u64 {
        let counters = lockgate_policy::Counters {
            requests: 1000 * step,
            bytes: 1_000_000 * step,
            notifications: 1000 * step,
            ..Default::default()
        };
        let now_ns = 10_000_000 * step;
        assert_eq!(first.observe(now_ns, &counters), Settings::UNLIMITED);
        assert_eq!(third.observe(now_ns, &counters), Settings::UNLIMITED);
    }
}
