use super::{Claim, Evidence, OwnCpu, Seen, WINDOW_LOSS_MAX};
use crate::router::planted::{Act, Plant, Planted};
use crate::router::{Counters, Own};
use crate::tester::testing::direction;
use crate::tester::trial::{Direction, HostUse, Placement};
use proptest::prelude::*;
use std::time::Duration;
use trial::{Validity, Verdict};

fn placement() -> Placement {
    Placement {
        generator: vec![0],
        device: vec![1],
        sink: vec![1],
    }
}

fn host() -> HostUse {
    HostUse {
        busy_generator: Duration::from_millis(1_000),
        busy_behind: Duration::from_millis(710),
        resolution: Duration::ZERO,
        steal: Duration::ZERO,
        elapsed: Duration::from_secs(1),
    }
}

fn counters(offered: u64, forwarded: u64) -> Option<Counters> {
    Some(Counters {
        received: offered,
        forwarded,
        ..Counters::default()
    })
}

struct Trial {
    claim: Claim,
    directions: [Direction; 1],
    counters: Option<Counters>,
    seen: Seen,
}

/// The verdict of a quiet trial after `change`.
fn judged(offered: u64, received: u64, change: impl FnOnce(&mut Trial)) -> Verdict {
    let mut trial = Trial {
        claim: Claim::WITHOUT_LOSS,
        directions: [direction(offered, received)],
        counters: counters(offered, received),
        seen: Seen {
            host: host(),
            placement: placement(),
            ceiling_pps: Some(17.6e6),
            threaded: Some(true),
            own_cpu: Some(OwnCpu {
                generators: Duration::from_millis(990),
                behind: Duration::from_millis(700),
            }),
            waited_behind: None,
            ..Seen::default()
        },
    };
    change(&mut trial);
    Evidence {
        claim: trial.claim,
        directions: &trial.directions,
        counters: trial.counters,
        seen: &trial.seen,
    }
    .verdict()
}

/// The verdict of a quiet trial of a million frames, all received, after `change`.
fn without_loss(change: impl FnOnce(&mut Trial)) -> Verdict {
    judged(1_000_000, 1_000_000, change)
}

/// The same, after `change` of its direction.
fn of_direction(change: impl FnOnce(&mut Direction)) -> Verdict {
    without_loss(|trial| change(&mut trial.directions[0]))
}

fn assert_is(verdict: &Verdict, validity: Validity, says: &str) {
    assert_eq!(verdict.validity, validity, "{verdict:?}");
    assert!(verdict.reason.contains(says), "{says}: {verdict:?}");
    assert!(!verdict.remedy.is_empty());
}

#[test]
fn a_quiet_trial_is_valid_with_loss_and_without() {
    for received in [1_000_000, 990_000, 0] {
        let verdict = judged(1_000_000, received, |_| {});
        assert!(verdict.is_valid(), "{verdict:?}");
    }
}

#[test]
fn too_few_frames_state_no_loss() {
    assert_is(&judged(99, 99, |_| {}), Validity::TooFewSamples, "99");
    let burst = judged(99, 99, |trial| {
        trial.directions[0].stream.frames_max = Some(99);
    });
    assert!(burst.is_valid(), "{burst:?}");
}

#[test]
fn what_the_generator_did_not_send_is_its_fault() {
    type Change = fn(&mut Direction);
    let faults: [(&str, Change); 5] = [
        ("90.9%", |one| one.stream.rate_pps = Some(1_100_000.0)),
        ("83.3%", |one| one.sent.elapsed_ns = 1_200_000_000),
        ("91.8%", |one| one.sent.due = 1_100_000),
        ("refused 20000", |one| one.sent.refused = 20_000),
        ("6.0%", |one| one.sender.waited_ns = 60_000_000),
    ];
    for (says, change) in faults {
        assert_is(&of_direction(change), Validity::GeneratorBound, says);
    }
}

#[test]
fn an_overload_without_a_rate_is_never_short() {
    let verdict = judged(10_000_000, 900_000, |trial| {
        trial.claim = Claim::Rate;
        trial.directions[0].stream.rate_pps = None;
        trial.directions[0].sent.behind_ns_max = 900_000_000;
    });
    assert!(verdict.is_valid(), "{verdict:?}");
}

#[test]
fn a_device_that_forwards_in_the_senders_time() {
    let verdict = without_loss(|trial| {
        trial.seen.threaded = None;
        trial.directions[0].sender.receive_softirqs = 15_625;
    });
    assert_is(&verdict, Validity::GeneratorBound, "15625 receive softirqs");
    let verdict = without_loss(|trial| trial.seen.threaded = Some(false));
    assert_is(&verdict, Validity::GeneratorBound, "not threaded");
}

#[test]
fn a_core_that_generator_and_device_share() {
    let seen = Seen {
        placement: Placement {
            device: vec![0],
            ..placement()
        },
        ..Seen::default()
    };
    for claim in [
        Claim::WITHOUT_LOSS,
        Claim::Loss,
        Claim::Latency,
        Claim::Rate,
    ] {
        let verdict = Evidence {
            claim,
            directions: &[direction(1_000_000, 1_000_000)],
            counters: None,
            seen: &seen,
        }
        .verdict();
        assert_is(&verdict, Validity::GeneratorBound, "share CPU 0");
    }
}

#[test]
fn a_result_near_the_generators_ceiling() {
    let near = |ceiling| without_loss(|trial| trial.seen.ceiling_pps = Some(ceiling));
    assert_is(&near(1_250_000.0), Validity::GeneratorBound, "80%");
    assert_is(&near(f64::NAN), Validity::GeneratorBound, "NaN");
    assert!(near(1_260_000.0).is_valid());
}

#[test]
fn pauses_and_overruns() {
    let verdict = of_direction(|one| one.sent.gap_ns_max = 11_000_000);
    assert_is(&verdict, Validity::Noisy, "11.0 ms");
    let verdict = of_direction(|one| one.sent.behind_ns_max = 12_000_000);
    assert_is(&verdict, Validity::Noisy, "12.0 ms behind");
    let verdict = of_direction(|one| {
        one.stream.duration = Duration::from_millis(200);
        one.stream.rate_pps = Some(5e6);
        one.sent.elapsed_ns = 200_000_000;
        one.sender.waited_ns = 0;
        one.sent.gap_ns_max = 3_000_000;
    });
    assert_is(&verdict, Validity::Noisy, "more than 2.0 ms");
}

#[test]
fn a_loss_that_a_burst_explains_is_not_the_devices() {
    let late = |claim, lost: u64| {
        judged(1_000_000, 1_000_000 - lost, |trial| {
            trial.claim = claim;
            trial.directions[0].sent.behind_ns_max = 2_000_000;
        })
    };
    for (claim, lost) in [
        (Claim::WITHOUT_LOSS, 1_900),
        (Claim::Loss, 2_100),
        (Claim::Loss, 19_000),
    ] {
        assert_is(&late(claim, lost), Validity::Noisy, "up to 1968");
    }
    for (claim, lost, why) in [
        (Claim::WITHOUT_LOSS, 2_100, "some is the device's"),
        (Claim::WITHOUT_LOSS, 0, "a pass under bursts"),
        (Claim::Loss, 21_000, "nearly all is the device's"),
    ] {
        assert!(late(claim, lost).is_valid(), "{why}");
    }
}

#[test]
fn a_loss_is_doubtful_only_where_it_decides() {
    // 3,000 of a million lost, of which 1,968 may be the host's.
    let with = |loss_ratio_max| {
        judged(1_000_000, 997_000, |trial| {
            trial.claim = Claim::Carried { loss_ratio_max };
            trial.directions[0].sent.behind_ns_max = 2_000_000;
        })
    };
    for decided in [0.0, 0.001, 0.003, 0.5] {
        assert!(with(decided).is_valid(), "{decided}: the same either way");
    }
    for open in [0.001_1, 0.002_9] {
        assert_is(&with(open), Validity::Noisy, "up to 1968");
    }
}

#[test]
fn pauses_excuse_what_they_can_explain() {
    // Behind by 40 µs at most, 40 frames: 8 beyond a batch. All pauses together
    // took 20 ms, so that there were 500 at least.
    let with = |lost: u64| {
        judged(1_000_000, 1_000_000 - lost, |trial| {
            trial.directions[0].sent.behind_ns_max = 40_000;
            trial.directions[0].sent.gap_ns_max = 40_000;
            trial.directions[0].sender.waited_ns = 20_000_000;
        })
    };
    assert_is(&with(3_999), Validity::Noisy, "up to 4000");
    assert!(with(4_001).is_valid());
}

#[test]
fn pauses_of_a_batch_excuse_nothing() {
    let verdict = judged(10_000, 9_990, |trial| {
        trial.directions[0].sent.behind_ns_max = 3_000_000;
        trial.directions[0].sender.waited_ns = 20_000_000;
    });
    assert!(verdict.is_valid(), "30 frames are a batch: {verdict:?}");
}

#[test]
fn a_loss_while_others_had_the_devices_cpu() {
    let with = |longest_ns: u64| {
        judged(100_000, 99_000, |trial| {
            trial.seen.host.busy_behind = Duration::from_millis(740);
            trial.directions[0].received.latency.record(longest_ns);
        })
    };
    assert_is(&with(5_000_000), Validity::Noisy, "up to 4000");
    assert!(with(1_000_000).is_valid(), "no queue was ever full");
    let verdict = judged(100_000, 99_000, |trial| {
        trial.seen.host.busy_behind = Duration::from_millis(1_000);
        trial.seen.waited_behind = Some(Duration::from_millis(5));
        trial.directions[0].received.latency.record(5_000_000);
    });
    assert!(verdict.is_valid(), "others took what was left: {verdict:?}");
}

#[test]
fn time_that_others_took() {
    let verdict = without_loss(|trial| trial.seen.host.steal = Duration::from_millis(50));
    assert_is(&verdict, Validity::Noisy, "2.5%");
    let busy = |claim, resolution_ms| {
        without_loss(|trial| {
            trial.claim = claim;
            trial.seen.host.busy_behind = Duration::from_millis(770);
            trial.seen.host.resolution = Duration::from_millis(resolution_ms);
        })
    };
    for claim in [Claim::Latency, Claim::Rate] {
        assert_is(&busy(claim, 0), Validity::Noisy, "7% of one CPU");
    }
    assert!(busy(Claim::WITHOUT_LOSS, 0).is_valid(), "a pass is a pass");
    let coarse = busy(Claim::Rate, 40);
    assert!(coarse.is_valid(), "ticks are too coarse to tell");
}

#[test]
fn what_another_path_carried_is_no_result_of_this_one() {
    let with = |unsure| {
        without_loss(|trial| {
            trial.counters = trial.counters.map(|counted| Counters { unsure, ..counted });
        })
    };
    assert!(with(10_000).is_valid());
    assert_is(&with(10_001), Validity::Noisy, "1.0% of the frames");
    assert_is(&with(1_000_000), Validity::Noisy, "100.0% of the frames");
}

/// A program that gives frames up to the kernel is credited with none of them.
#[test]
fn a_path_is_credited_with_what_its_own_program_forwarded() {
    let with = |forwarded| {
        judged(1_000_000, 990_000, |trial| {
            let own = Some(Own {
                forwarded,
                ..Own::default()
            });
            trial.counters = trial.counters.map(|counted| Counters { own, ..counted });
        })
    };
    // Its port may still have refused some.
    assert!(with(1_000_000).is_valid());
    assert!(with(980_100).is_valid());
    for (forwarded, says) in [(980_099, "980099 (99.0%)"), (0, "0 (0.0%)")] {
        let says = format!("own program forwarded {says}");
        assert_is(&with(forwarded), Validity::Noisy, &says);
    }
}

#[test]
fn counters_that_disagree() {
    let with = |received, forwarded| {
        judged(1_000_000, 990_000, |trial| {
            trial.counters = Some(Counters {
                received,
                forwarded,
                ..Counters::default()
            });
        })
    };
    assert!(with(1_000_050, 990_050).is_valid());
    for (received, forwarded, says) in [
        (1_000_000, 500_000, "forwarded 500000"),
        (1_000_000, 1_000_000, "lost behind it"),
        (1_100_000, 990_000, "1100000 frames reached"),
    ] {
        assert_is(&with(received, forwarded), Validity::Noisy, says);
    }
    let verdict = judged(1_000, 1_001, |_| {});
    assert_is(&verdict, Validity::Noisy, "1001 frames came of 1000");
}

#[test]
fn what_the_testers_ports_lost_is_not_the_devices() {
    let with = |received, own, claim| {
        judged(1_000_000, received, |trial| {
            trial.counters = None;
            trial.claim = claim;
            trial.seen.lost_by_ports = own;
        })
    };
    let says = "30 of them by the tester's own ports";
    let all = with(999_970, 30, Claim::WITHOUT_LOSS);
    assert_is(&all, Validity::GeneratorBound, says);
    // The device lost as many itself.
    assert!(with(999_940, 30, Claim::WITHOUT_LOSS).is_valid());
    assert_is(
        &with(999_940, 30, Claim::Loss),
        Validity::GeneratorBound,
        says,
    );
    assert!(with(990_000, 30, Claim::Loss).is_valid());
    assert!(with(1_000_000, 30, Claim::WITHOUT_LOSS).is_valid());
}

/// Of a device of others on this host: a queue as short as a batch is possible.
#[test]
fn a_loss_of_a_device_that_was_kept_waiting_is_doubtful() {
    let with = |kept_ms: u64, longest_ns| {
        judged(1_000_000, 999_970, |trial| {
            trial.counters = None;
            let latency = &mut trial.directions[0].received.latency;
            latency.clear();
            latency.record_many(longest_ns, 999_970);
            trial.seen.waited_behind = Some(Duration::ZERO);
            trial.seen.kept_waiting = Some(Duration::from_millis(kept_ms));
        })
    };
    // 32 frames at a million a second are 32 µs.
    assert_is(&with(3, 100_000), Validity::Noisy, "30 frames were lost");
    assert!(with(0, 100_000).is_valid());
    assert!(with(3, 30_000).is_valid());
}

/// A window of 256 frames, without a rate.
fn windowed(offered: u64, received: u64) -> Verdict {
    judged(offered, received, |trial| {
        trial.claim = Claim::Rate;
        trial.directions[0].stream.rate_pps = None;
        trial.directions[0].stream.in_flight_max = Some(256);
        trial.directions[0].sent.given_up = 700;
    })
}

#[test]
fn a_window_bounds_the_loss_and_a_flood_does_not() {
    assert!(windowed(1_000_000, 990_000).is_valid());
    let verdict = windowed(1_000_000, 700_000);
    assert_is(&verdict, Validity::Noisy, "30.0% of the frames");
    assert!(verdict.reason.contains("700 of 1000000"), "{verdict:?}");
    let flood = judged(1_000_000, 700_000, |trial| trial.claim = Claim::Rate);
    assert!(flood.is_valid(), "{flood:?}");
}

#[test]
fn several_faults_are_all_named_and_the_gravest_is_the_kind() {
    let verdict = of_direction(|one| {
        one.sent.gap_ns_max = 11_000_000;
        one.sender.waited_ns = 500_000_000;
        one.stream.rate_pps = Some(2_000_000.0);
    });
    assert_is(&verdict, Validity::GeneratorBound, "50.0%");
    assert!(verdict.reason.contains("11.0 ms"), "{verdict:?}");
    assert_eq!(verdict.reason.matches("; ").count(), 2, "{verdict:?}");
}

#[test]
fn a_short_burst_is_not_quicker_than_it_was_sent() {
    let verdict = judged(10, 10, |trial| {
        trial.seen.ceiling_pps = Some(1_000_000.0);
        let one = &mut trial.directions[0];
        one.stream.frames_max = Some(10);
        one.stream.rate_pps = Some(500_000.0);
        one.sent.elapsed_ns = 18_000;
        one.received.elapsed_ns = 5_000;
    });
    assert!(verdict.is_valid(), "{verdict:?}");
}

fn plant(fault: u8, size: f64, trial: &mut Trial) {
    let one = &mut trial.directions[0];
    let rate_pps = one.sent.offered as f64;
    match fault {
        0 => one.stream.rate_pps = Some(rate_pps * (1.02 + size)),
        1 => one.sender.waited_ns = (6e7 * (1.0 + size)) as u64,
        2 => trial.seen.placement.device = trial.seen.placement.generator.clone(),
        3 => trial.seen.threaded = Some(false),
        4 => trial.seen.ceiling_pps = Some(rate_pps * 0.99 / (0.8 + size / 10.0)),
        5 => one.sent.gap_ns_max = (1.1e7 * (1.0 + size)) as u64,
        6 => one.sent.behind_ns_max = (1.1e7 * (1.0 + size)) as u64,
        7 => one.received.received = one.sent.offered + 1 + (size * 1e3) as u64,
        _ => one.sent.refused = (rate_pps * (0.02 + size / 2.0)) as u64,
    }
}

proptest! {
    #![proptest_config(crate::testing::cases())]

    #[test]
    fn every_fault_of_the_generator_is_called_invalid(
        offered in 1_000_000u64..5_000_000,
        lost in 0.0..0.01f64,
        faults in prop::collection::btree_map(0u8..9, 0.0..10.0f64, 1..4),
        loss_claimed: bool,
    ) {
        let received = offered - (offered as f64 * lost) as u64;
        let verdict = judged(offered, received, |trial| {
            if loss_claimed {
                trial.claim = Claim::Loss;
            }
            for (fault, size) in &faults {
                plant(*fault, *size, trial);
            }
        });
        prop_assert!(!verdict.is_valid(), "{faults:?}");
        prop_assert!(!verdict.reason.is_empty() && !verdict.remedy.is_empty());
    }

    #[test]
    fn a_pass_and_a_failure_stand_where_nothing_excusable_could_turn_them(
        lost in 0u64..20_000,
        behind_ns in 0u64..9_000_000,
        loss_ratio_max in 0.0..0.02f64,
    ) {
        let offered = 1_000_000;
        let mut excusable = 0;
        let verdict = judged(offered, offered - lost, |trial| {
            trial.claim = Claim::Carried { loss_ratio_max };
            trial.directions[0].sent.behind_ns_max = behind_ns;
            excusable = Evidence {
                claim: trial.claim,
                directions: &trial.directions,
                counters: None,
                seen: &trial.seen,
            }
            .excusable_frames();
        });
        let passes = |lost: u64| lost as f64 / offered as f64 <= loss_ratio_max;
        let turns = passes(lost) != passes(lost.saturating_sub(excusable));
        // Frames are whole here and not there.
        let nearly = passes(lost) != passes(lost.saturating_sub(excusable.saturating_sub(1)));
        prop_assert!(verdict.is_valid() != turns || turns != nearly, "{verdict:?}");
    }

    #[test]
    fn a_router_that_drops_by_chance_carries_nothing_without_loss(
        percent in 0u32..100,
        frames in 20_000u64..60_000,
    ) {
        let mut device = Planted::new(Plant::DropPercent(percent));
        let received = (0..frames).filter(|at_ns| device.act(*at_ns) == Act::Send).count() as u64;
        let lost = (frames - received) as f64 / frames as f64;
        let verdict = windowed(frames, received);
        prop_assert_eq!(verdict.is_valid(), lost <= WINDOW_LOSS_MAX, "{}", lost);
        prop_assert!(percent < 2 || !verdict.is_valid(), "{}", lost);
    }

    #[test]
    fn a_path_is_credited_with_what_its_program_sent_on(
        received in 10_000u64..2_000_000,
        share in 0.0..1.2f64,
    ) {
        let forwarded = (received as f64 * share) as u64;
        let limit = received as f64 * 0.99;
        prop_assume!((forwarded as f64 - limit).abs() > 1.0);
        let verdict = judged(received, received, |trial| {
            let own = Some(Own { forwarded, ..Own::default() });
            trial.counters = trial.counters.map(|counted| Counters { own, ..counted });
        });
        prop_assert_eq!(verdict.is_valid(), forwarded as f64 > limit, "{:?}", verdict);
    }

    #[test]
    fn any_numbers_get_a_verdict(
        numbers in prop::array::uniform12(any::<u64>()),
        floats in prop::array::uniform3(any::<f64>()),
        claim in 0usize..4,
    ) {
        let claims = [Claim::WITHOUT_LOSS, Claim::Loss, Claim::Latency, Claim::Rate];
        let half = |number: u64| number / 4;
        let verdict = judged(half(numbers[0]), half(numbers[1]), |trial| {
            trial.claim = claims[claim];
            trial.seen.ceiling_pps = Some(floats[0]);
            trial.seen.host.busy_behind = Duration::from_nanos(numbers[2]);
            trial.seen.waited_behind = Some(Duration::from_nanos(numbers[3]));
            let one = &mut trial.directions[0];
            one.stream.rate_pps = Some(floats[1]);
            one.stream.in_flight_max = Some(numbers[6] as u32);
            one.sent.elapsed_ns = numbers[4];
            one.sent.behind_ns_max = numbers[5];
            one.sent.gap_ns_max = numbers[6];
            one.sent.cpu_ns = half(numbers[7]);
            one.received.duplicates = half(numbers[8]);
            one.sender.waited_ns = numbers[9];
            one.sender.receive_softirqs = numbers[10];
            one.received.elapsed_ns = numbers[11];
        });
        prop_assert_eq!(verdict.is_valid(), verdict.reason.is_empty());
    }
}
