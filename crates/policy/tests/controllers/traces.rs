//! What each controller does, step by step, on traces written by hand.

use lockgate_policy::controllers::{Parameters, Vic, by_name};
use lockgate_policy::{Controller, Counters, Moderation, Settings};

const INTERVAL_NS: u64 = 100_000_000;

struct Tape {
    controller: Box<dyn Controller>,
    now_ns: u64,
    total: Counters,
}

impl Tape {
    fn new(name: &str, parameters: Parameters) -> Self {
        let parameters = parameters.with_interval_ns(INTERVAL_NS).unwrap();
        let mut tape = Self {
            controller: by_name(name, &parameters).unwrap(),
            now_ns: 77,
            total: Counters::default(),
        };
        tape.look();
        tape
    }

    fn look(&mut self) -> Settings {
        self.controller.observe(self.now_ns, &self.total)
    }

    /// One interval of this many requests of 1000 bytes a second and this many
    /// notifications a second, with that many in flight.
    fn play(&mut self, requests_per_s: u64, notifications_per_s: u64, in_flight: u64) -> Settings {
        let interval_ns = self.controller.period_ns();
        let of_interval = |per_s: u64| per_s * interval_ns / 1_000_000_000;
        self.now_ns += interval_ns;
        self.total.requests += of_interval(requests_per_s);
        self.total.bytes += of_interval(requests_per_s) * 1000;
        self.total.notifications += of_interval(notifications_per_s);
        self.total.looks += 10;
        self.total.in_flight += 10 * in_flight;
        self.look()
    }

    fn cap(&mut self, requests_per_s: u64, notifications_per_s: u64) -> Option<u64> {
        let settings = self.play(requests_per_s, notifications_per_s, 64);
        settings.cap_per_s().map(|per_s| per_s.round() as u64)
    }
}

#[test]
fn prose_caps_once_to_the_rate_before_the_fall() {
    let mut tape = Tape::new("speed-monitor-prose", Parameters::default());
    assert_eq!(tape.cap(10_000, 1000), None);
    assert_eq!(tape.cap(20_000, 2000), None);
    assert_eq!(tape.cap(19_990, 4000), Some(2000), "the least fall");
    assert_eq!(tape.cap(30_000, 1000), Some(2000));
    assert_eq!(tape.cap(1000, 100), Some(2000), "never again");
    assert_eq!(tape.cap(0, 0), Some(2000));
}

#[test]
fn listing_caps_to_the_rate_of_the_last_rise_and_again() {
    let mut tape = Tape::new("speed-monitor-listing", Parameters::default());
    assert_eq!(tape.cap(10_000, 1000), None, "the baseline");
    assert_eq!(tape.cap(20_000, 2000), None);
    assert_eq!(tape.cap(20_000, 3000), None, "neither rise nor fall");
    assert_eq!(tape.cap(15_000, 4000), Some(2000), "not the last rate");
    assert_eq!(tape.cap(16_000, 1500), Some(2000));
    assert_eq!(tape.cap(15_000, 1400), Some(1500), "again, and lower");
    assert_eq!(tape.cap(14_000, 1300), Some(1500));
    assert_eq!(tape.cap(18_000, 5000), Some(1500));
    assert_eq!(tape.cap(17_000, 5000), Some(5000), "or higher");
    assert_eq!(tape.controller.remark(), None, "`k` was always set");
}

#[test]
fn listing_decides_nothing_on_the_first_speed() {
    let initial = Parameters::default()
        .with_initial_per_s(Some(9000))
        .unwrap();
    let mut tape = Tape::new("speed-monitor-listing", initial);
    assert_eq!(tape.cap(10_000, 7000), Some(9000), "no rise from nothing");
    // Were it one, `k` would be 7000 now.
    assert_eq!(tape.cap(9000, 6000), Some(1));
}

#[test]
fn listing_caps_to_an_unset_rate_at_a_fall_before_a_rise_and_says_so() {
    let mut tape = Tape::new("speed-monitor-listing", Parameters::default());
    assert_eq!(tape.cap(10_000, 1000), None);
    assert_eq!(tape.cap(10_000, 1000), None, "neither rise nor fall");
    assert_eq!(tape.controller.remark(), None);
    assert_eq!(tape.cap(9990, 1000), Some(1), "the strictest cap");
    let remark = tape.controller.remark().expect("it says so");
    assert!(remark.contains("not set"), "{remark}");
    assert_eq!(tape.cap(32, 0), Some(1), "still unset");
    assert_eq!(tape.cap(320, 10), Some(1), "a rise sets `k` only");
    assert_eq!(tape.cap(32, 10), Some(10), "the next fall has it");
    assert_eq!(tape.controller.remark(), Some(remark), "it has happened");
}

#[test]
fn listing_has_no_bound_on_a_rate() {
    let initial = Parameters::default()
        .with_initial_per_s(Some(9000))
        .unwrap();
    let mut tape = Tape::new("speed-monitor-listing", initial);
    assert_eq!(tape.cap(1000, 1000), Some(9000));
    assert_eq!(tape.cap(10_000, 12_000), Some(9000));
    assert_eq!(tape.cap(9000, 12_000), Some(12_000), "nor is I₀ one");
    assert_eq!(tape.cap(10_000, 0), Some(12_000));
    assert_eq!(tape.cap(9000, 0), Some(1), "a rate of 0 is no cap of 0");
}

#[test]
fn the_first_cap_is_the_operators() {
    let initial = Parameters::default()
        .with_initial_per_s(Some(6450))
        .unwrap();
    let mut tape = Tape::new("speed-monitor-prose", initial);
    assert_eq!(tape.cap(10_000, 9000), Some(6450));
    assert_eq!(tape.cap(9000, 9000), Some(6450), "only ever lower");
    let mut tape = Tape::new(
        "static",
        Parameters::default().with_static_per_s(500).unwrap(),
    );
    assert_eq!(tape.cap(10_000, 9000), Some(500));
    assert_eq!(tape.cap(0, 0), Some(500));
}

#[test]
fn frequency_caps_above_and_releases_below() {
    let optimal = Parameters::default().with_optimal_per_s(5000).unwrap();
    let mut tape = Tape::new("frequency", optimal);
    assert_eq!(tape.cap(10_000, 4900), None);
    assert_eq!(tape.cap(10_000, 5100), Some(5000));
    assert_eq!(tape.cap(10_000, 4990), Some(5000), "held there, not below");
    assert_eq!(tape.cap(10_000, 3900), None);
    assert_eq!(tape.cap(10_000, 4500), None);
}

/// Profiles by their timeout, µs.
fn climb(tape: &mut Tape, requests_per_s: u64, notifications_per_s: u64) -> u64 {
    let before = tape.look();
    let after = tape.play(requests_per_s, notifications_per_s, 64);
    if after != before {
        // What applies from now on is judged from the next look on.
        tape.play(requests_per_s, notifications_per_s, 64);
    }
    after.timeout_ns() / 1000
}

#[test]
fn dim_climbs_turns_and_parks_on_top() {
    let mut tape = Tape::new("dim", Parameters::default());
    let mut at = |requests_per_s| climb(&mut tape, requests_per_s, 100_000);
    assert_eq!(at(1_000_000), 2, "leaves its parking to the left");
    assert_eq!(at(800_000), 8, "worse: turns");
    assert_eq!(at(1_000_000), 16);
    assert_eq!(at(1_200_000), 32);
    assert_eq!(at(1_000_000), 16, "worse: turns");
    assert_eq!(at(1_200_000), 16, "that was the top");
    assert_eq!(at(1_250_000), 16, "less than a tenth is nothing");
    assert_eq!(at(1_150_000), 16);
    assert_eq!(at(700_000), 8, "another load: leaves");
}

#[test]
fn dim_stays_at_an_edge() {
    let mut tape = Tape::new("dim", Parameters::default());
    let mut at = |requests_per_s| climb(&mut tape, requests_per_s, 100_000);
    assert_eq!(at(100_000), 2);
    assert_eq!(at(200_000), 2, "better, but no further");
    assert_eq!(at(200_000), 2);
    assert_eq!(at(400_000), 8, "from there only to the right");
    let counts = [800_000, 1_600_000, 3_200_000, 6_400_000].map(&mut at);
    assert_eq!(counts, [16, 32, 64, 64]);
}

#[test]
fn dim_tires_of_going_to_and_fro() {
    let mut tape = Tape::new("dim", Parameters::default());
    let mut at = |requests_per_s| climb(&mut tape, requests_per_s, 100_000);
    let speeds = |i: u32| 100_000_000 / 5_u64.pow(i) * 4_u64.pow(i);
    let steps: Vec<u64> = (0..10).map(|i| at(speeds(i))).collect();
    assert_eq!(steps, [2, 8, 2, 8, 2, 8, 2, 8, 2, 8]);
    let rest: Vec<u64> = (10..20).map(|i| at(speeds(i))).collect();
    assert_eq!(rest, [8; 10]);
    assert_eq!(at(speeds(20)), 2);
}

#[test]
fn dim_prefers_fewer_events_at_the_same_speed() {
    let mut tape = Tape::new("dim", Parameters::default());
    assert_eq!(climb(&mut tape, 1_000_000, 50_000), 2);
    assert_eq!(climb(&mut tape, 1_000_000, 80_000), 8, "more: turns");
    assert_eq!(climb(&mut tape, 1_000_000, 50_000), 16, "fewer: goes on");
}

#[test]
fn dim_waits_for_enough_events() {
    let mut tape = Tape::new("dim", Parameters::default());
    // 5 ms at 5000/s are 25: the third look has 64.
    assert_eq!(tape.play(1_000_000, 5000, 64).timeout_ns(), 8000);
    assert_eq!(tape.play(1_000_000, 5000, 64).timeout_ns(), 8000);
    assert_eq!(tape.play(1_000_000, 5000, 64).timeout_ns(), 2000);
}

#[test]
fn vic_has_the_papers_ratios() {
    let table = [
        (0.0, 1.0),
        (3.9, 1.0),
        (4.0, 0.8),
        (7.9, 0.8),
        (8.0, 0.75),
        (12.0, 0.66),
        (16.0, 0.5),
        (64.0, 0.125),
    ];
    for (in_flight, ratio) in table {
        let found = Vic::delivery_ratio(in_flight, 2000.0);
        assert!((found - ratio).abs() < 1e-9, "{in_flight}: {found}");
        assert!((Vic::delivery_ratio(in_flight, 1999.0) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn vic_gathers_by_what_is_in_flight() {
    let mut tape = Tape::new("vic", Parameters::default());
    assert_eq!(tape.play(100_000, 100_000, 15), Settings::UNLIMITED);
    assert_eq!(tape.play(100_000, 100_000, 16).count(), 2);
    assert_eq!(tape.play(100_000, 100_000, 64).count(), 8);
    assert_eq!(tape.play(1999, 1999, 64), Settings::UNLIMITED);
    assert_eq!(tape.play(100_000, 100_000, 1 << 19).count(), 4095);
    assert_eq!(tape.play(0, 0, 0), Settings::UNLIMITED);
}

#[test]
fn each_names_the_policy_it_is_for() {
    for name in lockgate_policy::controllers::NAMES {
        let base = by_name(name, &Parameters::default()).unwrap().moderation();
        let is_ours = name == "adaptive";
        assert_eq!(base == Moderation::Armed, is_ours, "{name}");
        assert_eq!(base == Moderation::Each, !is_ours, "{name}");
    }
    let priced = Parameters::default().with_cpu_price(Some(0.5)).unwrap();
    let base = by_name("adaptive", &priced).unwrap().moderation();
    assert_eq!(base, Moderation::Hybrid);
}

#[test]
fn parameters_out_of_range_name_the_limit() {
    let parameters = Parameters::default();
    let error = parameters.with_interval_ns(5).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot observe every 5 ns; give 1000000 to 60000000000"
    );
    for price in [-0.1, 1.1, f64::NAN] {
        let error = parameters.with_cpu_price(Some(price)).unwrap_err();
        assert!(error.to_string().contains("0 (it is free) to 1"), "{error}");
    }
    let error = parameters.with_hold_ns_max(0).unwrap_err().to_string();
    assert!(error.contains("1000 to 100000000"), "{error}");
    for error in [
        parameters.with_static_per_s(0).unwrap_err(),
        parameters.with_optimal_per_s(0).unwrap_err(),
        parameters.with_initial_per_s(Some(0)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("at least 1"), "{error}");
    }
}
