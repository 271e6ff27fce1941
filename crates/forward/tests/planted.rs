//! Devices with known faults on the bench. Whatever the tester counts is right
//! but for what it excuses, always; whatever it calls valid is right to what was
//! promised (loss within 10% of the truth, a rate within 2%, the rest exact).
#![cfg(feature = "bpf")]

use std::time::Duration;

use lockgate_forward::bench::{Bench, Directions, Offer, PortKind, Setup, TrialResult};
use lockgate_forward::router::path::Path;
use lockgate_forward::router::planted::Plant;
use lockgate_forward::tester::line::Line;
use lockgate_forward::tester::procedure::{Ceiling, Found, Throughput, ThroughputGoal, drive};
use lockgate_forward::tester::trial::outcome;
use lockgate_forward::tester::validity::{Claim, WINDOW_LOSS_MAX};
use trial::{Validity, Verdict};

fn bench(plant: Plant) -> Bench {
    let mut setup = Setup::of_host().unwrap();
    setup.path = Path::Planted(plant);
    Bench::start(&setup).unwrap()
}

fn offer(rate_pps: f64, duration_ms: u64) -> Offer {
    Offer {
        rate_pps: Some(rate_pps),
        duration: Duration::from_millis(duration_ms),
        ..Offer::default()
    }
}

fn valid(bench: &mut Bench, offer: &Offer, claim: Claim) -> TrialResult {
    let result = bench.trial(offer).unwrap();
    assert_valid(&result.verdict_for(claim));
    result
}

fn assert_valid(verdict: &Verdict) {
    // Every thread of a bench has a CPU of its own or sleeps: another one is the host's.
    let is_crowded = verdict
        .reason
        .contains("another thread had the generator's CPU");
    if verdict.validity == Validity::Noisy || is_crowded {
        testing::noisy(&verdict.reason);
    }
    assert!(verdict.is_valid(), "{verdict:?}");
}

fn is_within(value: f64, truth: f64, share: f64) -> bool {
    (value / truth - 1.0).abs() <= share
}

#[test]
fn counts_are_the_devices_but_for_what_is_excused() {
    testing::alone_as_root(|| {
        for plant in [
            Plant::Nothing,
            Plant::DropEvery(20),
            Plant::ReorderEvery(20),
            Plant::DuplicateEvery(20),
        ] {
            let mut bench = bench(plant);
            // So slow that no queue overflows in a pause of a tenth of a second.
            let result = bench.trial(&offer(2_000.0, 500)).unwrap();
            let counted = &result.directions[0].received;
            let device = result.router;
            let copies = device.forwarded - (device.received - device.dropped);
            println!(
                "{plant:?}: {} offered, {} came, {} copies, {} out of order; {device:?}",
                result.offered(),
                counted.received,
                counted.duplicates,
                counted.reordered
            );
            testing::certainly!(counted.late == 0);
            let excused = result.excusable_frames();
            println!("{excused} excused, {:?}", result.verdict);
            testing::certainly!(result.lost().abs_diff(device.dropped) <= excused);
            testing::certainly!(counted.duplicates.abs_diff(copies) <= excused);
            let reordered = match plant {
                Plant::ReorderEvery(every) => device.received / u64::from(every),
                _ => 0,
            };
            // Where in its period the device is when the trial begins is not known.
            testing::certainly!(counted.reordered.abs_diff(reordered) <= 1 + excused);
            testing::certainly!(
                excused == 0 || !result.verdict_for(Claim::Loss).is_valid() || result.lost() > 0
            );
        }
    });
}

#[test]
fn every_kind_of_port_finds_the_same_faults() {
    testing::alone_as_root(|| {
        for ports in [PortKind::LiveFrame, PortKind::AfXdp, PortKind::AfPacket] {
            for plant in [Plant::DropEvery(20), Plant::DuplicateEvery(20)] {
                let mut setup = Setup::of_host().unwrap();
                (setup.path, setup.ports) = (Path::Planted(plant), ports);
                let mut bench = Bench::start(&setup).unwrap();
                let result = bench.trial(&offer(2_000.0, 500)).unwrap();
                let counted = &result.directions[0].received;
                let excused = result.excusable_frames();
                println!(
                    "{ports:?}, {plant:?}: {} offered, {} lost, {} copies, {} out of order, {excused} excused",
                    result.offered(),
                    result.lost(),
                    counted.duplicates,
                    counted.reordered
                );
                let device = result.router;
                let copies = device.forwarded - (device.received - device.dropped);
                testing::certainly!(result.lost().abs_diff(device.dropped) <= excused);
                testing::certainly!(counted.duplicates.abs_diff(copies) <= excused);
                // A frame more or less: where in its period the device began.
                let faults = device.dropped + copies;
                testing::certainly!(faults.abs_diff(device.received / 20) <= 1, "{device:?}");
                testing::certainly!((counted.reordered, counted.late) == (0, 0));
            }
        }
    });
}

#[test]
fn losses_are_found_to_a_tenth() {
    testing::alone_as_root(|| {
        for (every, duration_ms) in [(100, 500), (1_000, 2_000)] {
            let mut bench = bench(Plant::DropEvery(every));
            let offer = offer(20_000.0, duration_ms);
            let result = valid(&mut bench, &offer, Claim::Loss);
            let (truth, found) = (1.0 / f64::from(every), result.loss_ratio());
            println!(
                "planted a loss of {truth}: found {found:.6}, {:+.2}%",
                (found / truth - 1.0) * 100.0
            );
            assert!(is_within(found, truth, 0.1), "{result:?}");
        }
    });
}

/// The window follows the highest sequence that came, so that frames keep coming:
/// only the count of those lost tells.
#[test]
fn a_device_that_drops_by_chance_has_no_rate_under_a_window() {
    testing::alone_as_root(|| {
        for (plant, is_lossy) in [(Plant::Nothing, false), (Plant::DropPercent(30), true)] {
            let mut bench = bench(plant);
            let windowed = Offer {
                in_flight_max: Some(256),
                duration: Duration::from_millis(200),
                ..Offer::default()
            };
            let result = bench.trial(&windowed).unwrap();
            let (lost, device) = (result.lost(), result.router);
            println!("{plant:?}: {lost} of {} lost; {device:?}", result.offered());
            let told = result.verdict.reason.contains("frames were lost");
            testing::certainly!(told == (result.loss_ratio() > WINDOW_LOSS_MAX));
            testing::certainly!(!is_lossy || told);
            testing::certainly!(device.forwarded >= result.received());
        }
    });
}

const CAP_PPS: u32 = 20_000;

#[test]
fn a_cap_is_found_to_two_hundredths() {
    testing::alone_as_root(|| {
        let mut bench = bench(Plant::CapPps(CAP_PPS));
        let result = bench.trial(&offer(30_000.0, 500)).unwrap();
        let found = result.received_pps();
        // What may be the host's must be less than what is promised.
        let excused = result.excusable_frames() as f64 / result.received() as f64;
        println!("planted a cap of {CAP_PPS}: found {found:.0}, {excused:.3} excused");
        assert_valid(&result.verdict);
        if excused > 0.02 {
            testing::noisy(format!("pauses excuse a loss of {excused:.3}"));
        }
        assert!(is_within(found, CAP_PPS.into(), 0.02), "{result:?}");
    });
}

/// The whole search, on a link whose speed is the ceiling. It tolerates a loss of a
/// half percent, which pauses too short for a verdict may cost. It never finds more than
/// there is.
#[test]
fn the_throughput_of_a_capped_device_is_its_cap() {
    testing::alone_as_root(|| {
        let mut bench = bench(Plant::CapPps(CAP_PPS));
        let rate_pps = throughput(&mut bench);
        testing::certainly!(rate_pps < 1.02 * f64::from(CAP_PPS), "{rate_pps}");
        assert!(is_within(rate_pps, CAP_PPS.into(), 0.02), "{rate_pps}");
    });
}

fn throughput(bench: &mut Bench) -> f64 {
    // 60,000 frames of 64 bytes a second.
    let line = Line {
        speed_bits_per_s: 84.0 * 8.0 * 60_000.0,
    };
    let mut search = Throughput::new(ThroughputGoal {
        floor_pps: 1_000.0,
        ceiling_pps: line.max_pps(Offer::default().shape(bench.setup())),
        ceiling: Ceiling::Line,
        resolution: 0.01,
        loss_ratio_max: 0.005,
        confirmations: 1,
    })
    .expect("a goal within its limits");
    let found: Found = drive(&mut search, |request| {
        let result = bench.trial(&offer(request.rate_pps, 500))?;
        Ok::<_, lockgate_forward::bench::BenchError>(outcome(&result.directions, result.verdict))
    })
    .expect("every trial runs");
    let (rate_pps, reason) = (found.rate_pps, &found.verdict.reason);
    println!(
        "planted a cap of {CAP_PPS}: throughput {rate_pps:?} after {} trials; {reason}",
        found.trials
    );
    assert_valid(&found.verdict);
    rate_pps.expect("a valid search finds a rate")
}

#[test]
fn both_directions_at_once() {
    testing::alone_as_root(|| {
        let mut bench = bench(Plant::DropEvery(20));
        let offer = Offer {
            directions: Directions::TwoWay,
            ..offer(1_000.0, 1_000)
        };
        let result = bench.trial(&offer).unwrap();
        assert_eq!(result.directions.len(), 2);
        println!("{} of {} lost", result.lost(), result.offered());
        for one in &result.directions {
            testing::certainly!(one.received.late == 0);
            testing::certainly!(one.lost() + 1 >= one.sent.offered / 20, "{one:?}");
        }
        testing::certainly!(
            result.lost().abs_diff(result.router.dropped) <= result.excusable_frames()
        );
    });
}
