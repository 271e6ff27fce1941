use super::super::simulated::{Device, invalid};
use super::super::{Procedure, Step, drive};
use super::{Ceiling, Found, Throughput, ThroughputGoal};
use proptest::prelude::*;
use std::convert::Infallible;
use trial::Validity;

fn goal() -> ThroughputGoal {
    ThroughputGoal {
        floor_pps: 1_000.0,
        ceiling_pps: 14_000_000.0,
        ceiling: Ceiling::Generator,
        resolution: 0.01,
        loss_ratio_max: 0.0,
        confirmations: 1,
    }
}

fn device(capacity_pps: f64) -> Device {
    Device {
        capacity_pps,
        queue_frames: 256.0,
        seconds: 1.0,
    }
}

fn search(goal: ThroughputGoal, device: Device) -> Found {
    let mut search = Throughput::new(goal).unwrap();
    let Ok(found) = drive(&mut search, |request| {
        Ok::<_, Infallible>(device.trial(request))
    });
    found
}

#[test]
fn a_device_of_the_native_kernels_speed() {
    let found = search(goal(), device(914_000.0));
    let rate = found.rate_pps.unwrap();
    assert!((904_000.0..=914_300.0).contains(&rate), "{rate}");
    assert!(found.failed_pps.unwrap() <= rate * 1.0101);
    assert!(found.verdict.is_valid());
    assert!(found.trials <= 14, "{} trials", found.trials);
    assert_eq!(found.outcome.unwrap().lost, 0);
}

#[test]
fn a_device_quicker_than_the_generator_has_no_result() {
    let found = search(goal(), device(1e9));
    assert_eq!(found.rate_pps, Some(14_000_000.0));
    assert_eq!(found.verdict.validity, Validity::GeneratorBound);
    assert!(
        found.verdict.reason.contains("14000000"),
        "{:?}",
        found.verdict
    );
    assert_eq!(found.trials, 2, "once, and confirmed");
}

#[test]
fn a_device_that_carries_the_line_has_the_lines_rate() {
    let line = ThroughputGoal {
        ceiling: Ceiling::Line,
        ..goal()
    };
    let found = search(line, device(1e9));
    assert!(found.verdict.is_valid());
    assert_eq!((found.rate_pps, found.failed_pps), (Some(14e6), None));
}

#[test]
fn a_device_that_carries_nothing_passes_at_no_rate() {
    let dead = Device {
        capacity_pps: 0.0,
        queue_frames: 0.0,
        seconds: 1.0,
    };
    let found = search(goal(), dead);
    assert_eq!((found.rate_pps, found.failed_pps), (None, Some(1_000.0)));
    assert!(found.verdict.is_valid(), "that is a result");
}

#[test]
fn a_generator_that_is_always_short_gives_its_verdict() {
    let mut search = Throughput::new(goal()).unwrap();
    let Ok(found) = drive(&mut search, |_| {
        Ok::<_, Infallible>(invalid(Validity::GeneratorBound))
    });
    assert_eq!(found.rate_pps, None);
    assert_eq!(found.verdict.validity, Validity::GeneratorBound);
    assert_eq!(found.trials, found.invalid);
}

#[test]
fn a_generator_that_is_short_at_high_rates_bounds_the_result() {
    let mut search = Throughput::new(goal()).unwrap();
    let Ok(found) = drive(&mut search, |request| {
        Ok::<_, Infallible>(if request.rate_pps > 2e6 {
            invalid(Validity::GeneratorBound)
        } else {
            device(5e6).trial(request)
        })
    });
    let rate = found.rate_pps.unwrap();
    assert!((1.98e6..=2e6).contains(&rate), "{rate}");
    assert_eq!(found.verdict.validity, Validity::GeneratorBound);
}

#[test]
fn noise_that_stays_ends_the_search_and_is_named() {
    let mut search = Throughput::new(goal()).unwrap();
    let Ok(found) = drive(&mut search, |_| {
        Ok::<_, Infallible>(invalid(Validity::Noisy))
    });
    assert_eq!((found.rate_pps, found.trials), (None, 9));
    assert_eq!(found.verdict.reason, "planted");
}

#[test]
fn noise_at_high_rates_leaves_what_is_carried_below() {
    let mut search = Throughput::new(goal()).unwrap();
    let Ok(found) = drive(&mut search, |request| {
        Ok::<_, Infallible>(if request.rate_pps > 4e6 {
            invalid(Validity::Noisy)
        } else {
            device(5e6).trial(request)
        })
    });
    let rate = found.rate_pps.unwrap();
    assert!((3.96e6..=4e6).contains(&rate), "{rate}");
    assert_eq!(found.verdict.validity, Validity::Noisy);
}

#[test]
fn a_pass_by_luck_is_not_confirmed() {
    let mut search = Throughput::new(goal()).unwrap();
    let mut seen = Vec::new();
    let Ok(found) = drive(&mut search, |request| {
        // Passes the first time that it is asked between 500 and 600 kpps.
        let lucky = (5e5..6e5).contains(&request.rate_pps) && !seen.contains(&request.rate_pps);
        seen.push(request.rate_pps);
        let capacity = if lucky { 1e9 } else { 5e5 };
        Ok::<_, Infallible>(device(capacity).trial(request))
    });
    let rate = found.rate_pps.unwrap();
    assert!((4.95e5..=5.003e5).contains(&rate), "{rate}");
}

#[test]
fn goals_outside_the_limits_are_refused_with_their_values() {
    type Change = fn(&mut ThroughputGoal);
    let changes: [(&str, Change); 5] = [
        ("lowest rate is 0,", |goal| goal.floor_pps = 0.0),
        ("highest rate is 999,", |goal| goal.ceiling_pps = 999.0),
        ("highest rate is inf,", |goal| {
            goal.ceiling_pps = f64::INFINITY
        }),
        ("resolution is NaN,", |goal| goal.resolution = f64::NAN),
        ("tolerated loss is 1,", |goal| goal.loss_ratio_max = 1.0),
    ];
    for (says, change) in changes {
        let mut goal = goal();
        change(&mut goal);
        let error = Throughput::new(goal).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains("must be"), "{error}");
    }
}

proptest! {
    #![proptest_config(crate::testing::cases())]

    #[test]
    fn the_result_is_the_devices_throughput(
        capacity_pps in 2_000.0..10e6f64,
        queue_frames in 0.0..5_000.0f64,
        loss in prop_oneof![Just(0.0), 0.0001..0.1f64],
        resolution in 0.001..0.05f64,
        noise in prop::collection::vec(any::<bool>(), 64),
    ) {
        let device = Device { capacity_pps, queue_frames: queue_frames.floor(), seconds: 1.0 };
        let goal = ThroughputGoal { loss_ratio_max: loss, resolution, ..goal() };
        let mut search = Throughput::new(goal).unwrap();
        let (mut noise, mut in_a_row) = (noise.into_iter(), 0);
        let Ok(found) = drive(&mut search, |request| {
            let noisy = in_a_row < super::super::RETRIES && noise.next() == Some(true);
            in_a_row = if noisy { in_a_row + 1 } else { 0 };
            Ok::<_, Infallible>(if noisy { invalid(Validity::Noisy) } else { device.trial(request) })
        });
        prop_assert!(found.verdict.is_valid(), "{found:?}");
        let truth = device.throughput_pps(loss);
        let rate = found.rate_pps.unwrap();
        // A frame more or less either way.
        prop_assert!(rate <= truth * 1.0001 + 2.0, "{rate} above {truth}");
        prop_assert!(rate >= truth / (1.0 + resolution) * 0.9999 - 2.0, "{rate} below {truth}");
    }

    #[test]
    fn it_ends_and_keeps_its_promises_whatever_it_is_told(
        answers in prop::collection::vec((0u64..3, 0u64..3, 0u8..4), 96),
    ) {
        let mut search = Throughput::new(goal()).unwrap();
        for (offered, lost, kind) in answers {
            let Step::Trial(request) = search.next() else { break };
            prop_assert!((1_000.0..=14e6).contains(&request.rate_pps));
            let verdict = match kind {
                0 => invalid(Validity::Noisy).verdict,
                1 => invalid(Validity::GeneratorBound).verdict,
                _ => trial::Verdict::valid(),
            };
            search.record(&super::super::simulated::outcome(offered, lost, verdict));
        }
        let Step::Done(found) = search.next() else { panic!("it goes on") };
        if let (Some(rate), Some(failed)) = (found.rate_pps, found.failed_pps) {
            prop_assert!(rate < failed);
        }
        if found.verdict.is_valid() && found.rate_pps.is_some() {
            prop_assert!(found.outcome.unwrap().lost == 0);
        }
    }
}
