//! The simulator itself: it must be the equation that it stands for.

use lockgate_policy::{Moderation, Settings};

use crate::common::{Core, Fixed, Load, Measured, Sim};

const CORE: Core = Core {
    notification_ns: 2000.0,
    client_part: 0.5,
    request_ns: 500.0,
    byte_ns: 0.5,
    noise: 0.0,
    ..Core::USUAL
};

fn run(load: Load, moderation: Moderation, settings: Settings) -> Measured {
    let mut sim = Sim::new(CORE, 3);
    let lane = sim.add(Box::new(Fixed(moderation, settings)));
    sim.load(lane, load);
    sim.run_until(sim.now_ns + 20_000_000);
    sim.measure(200_000_000).remove(0)
}

fn assert_near(found: f64, expected: f64) {
    let ratio = found / expected;
    assert!((0.97..1.03).contains(&ratio), "{found} for {expected}");
}

const DEEP: Load = Load::closed(32, 1000);

#[test]
fn uncapped_each_request_pays_for_its_notification() {
    let measured = run(DEEP, Moderation::Each, Settings::UNLIMITED);
    assert_near(measured.requests_per_s, 1e9 / (2000.0 + 500.0 + 500.0));
    assert_near(measured.notifications_per_s, measured.requests_per_s);
    assert_near(measured.bytes_per_s, 1000.0 * measured.requests_per_s);
    assert_near(measured.utilisation, 1.0);
}

#[test]
fn too_low_a_cap_leaves_the_depth_as_the_limit() {
    let measured = run(DEEP, Moderation::Each, Settings::cap(5000).unwrap());
    assert_near(measured.notifications_per_s, 5000.0);
    assert_near(measured.requests_per_s, 32.0 * 5000.0);
    assert!(measured.utilisation < 0.3);
}

#[test]
fn the_best_cap_is_one_notification_for_all_in_flight() {
    let best_per_s = 1e9 / (32.0 * 1000.0 + 2000.0);
    let best = Settings::cap(best_per_s as u32).unwrap();
    let measured = run(DEEP, Moderation::Each, best);
    assert_near(measured.requests_per_s, 32.0 * best_per_s);
    let armed = run(DEEP, Moderation::Armed, Settings::UNLIMITED);
    assert!(armed.requests_per_s > 0.97 * measured.requests_per_s);
}

#[test]
fn at_random_times_a_cap_saves_the_core_and_bounds_the_wait() {
    let load = Load::Open {
        per_s: 150_000.0,
        block_bytes: 1000,
        window: 256,
    };
    let free = run(load, Moderation::Armed, Settings::UNLIMITED);
    let capped = run(load, Moderation::Armed, Settings::cap(10_000).unwrap());
    assert_near(free.requests_per_s, 150_000.0);
    assert_near(capped.requests_per_s, 150_000.0);
    // Alone in flight, a completion does not wait: the cap is not absolute.
    assert!(capped.notifications_per_s < 0.6 * free.notifications_per_s);
    assert!(capped.utilisation < 0.7 * free.utilisation);
    assert!(capped.p99_ns() < 100_000 + 50_000, "{}", capped.p99_ns());
    assert!(free.p99_ns() < capped.p99_ns());
}
