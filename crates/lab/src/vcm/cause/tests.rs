//! Every planted fault must be named, through real lanes.

use std::time::Duration;

use model::cause::Cause;

use super::diagnosis;
use super::examine::{Examination, Pace, examine};
use super::planted::{Plant, Planted};
use super::results::{SelfTest, self_test};
use crate::speed::place::usable_cpus;

const PACE: Pace = Pace {
    slice: Duration::from_millis(12),
    scans: 2,
    rounds: 5,
    rounds_max: 9,
};
/// A noisy machine may leave a cause open, and then is asked again.
const TRIES: u64 = 3;

fn named(examination: &Examination) -> Cause {
    let fall = examination.fall.as_ref();
    fall.map_or(Cause::None, |fall| {
        let diagnosis = diagnosis::of(fall, 1).expect("all was measured");
        for evidence in &diagnosis.evidence {
            println!("    {}", evidence.text);
        }
        diagnosis.cause
    })
}

/// What is named of a fault; each try takes longer.
fn outcome(plant: Plant, cpus: &[usize], seed: u64) -> SelfTest {
    let pace = Pace {
        slice: PACE.slice * (1 << (2 * (seed - 1))),
        ..PACE
    };
    let mut subject = Planted::new(plant, cpus);
    let (examination, result) = examine(&mut subject, &pace, seed, &|| false);
    if let Err(error) = result {
        println!("{}: {error:?}", plant.name());
        return SelfTest::Open;
    }
    let cause = named(&examination);
    println!("{}: {cause}", plant.name());
    self_test(plant, cause)
}

/// One after the other: side by side they would disturb each other.
#[test]
fn every_planted_fault_is_named() {
    let cpus = usable_cpus().expect("the kernel says");
    for plant in Plant::ALL {
        let mut wrong = 0;
        let is_named = (1..=TRIES).any(|seed| {
            let outcome = outcome(plant, &cpus, seed);
            wrong += usize::from(outcome == SelfTest::Wrong);
            outcome == SelfTest::Right
        });
        // A machine that is too noisy leaves the cause open, or now and then
        // shows another fault of its own: neither says anything of the code.
        assert!(
            is_named || wrong < 2,
            "{}: {wrong} times wrong",
            plant.name()
        );
        if !is_named {
            println!(
                "skipped: too noisy to name {}; stop other programs",
                plant.name()
            );
        }
    }
}

#[test]
fn an_interrupt_keeps_whole_rounds() {
    let cpus = usable_cpus().expect("the kernel says");
    let trials = std::cell::Cell::new(0);
    let is_interrupted = || {
        trials.set(trials.get() + 1);
        trials.get() > 25
    };
    let mut subject = Planted::new(Plant::Fragments, &cpus);
    let (examination, result) = examine(&mut subject, &PACE, 1, &is_interrupted);
    assert!(result.is_err());
    assert!(examination.is_scanned());
    let fall = examination.fall.expect("it falls");
    let lens = fall.series.iter().map(|series| series.readings.len());
    assert!(lens.into_iter().all(|len| len == fall.rounds()));
}
