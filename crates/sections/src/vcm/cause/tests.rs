//! Every planted fault must be named, through real lanes.

use std::time::Duration;

use model::cause::Cause;

use crate::vcm::cause::diagnosis;
use crate::vcm::cause::examine::{Examination, Pace, examine};
use crate::vcm::cause::planted::{Plant, Planted};
use kit::place::usable_cpus;

const PACE: Pace = Pace {
    slice: Duration::from_millis(20),
    scans: 2,
    rounds: 5,
    rounds_max: 9,
};

fn named(examination: &Examination) -> Cause {
    let fall = examination.fall.as_ref();
    fall.map_or(Cause::None, |fall| {
        let diagnosis = diagnosis::of(fall).expect("all was measured");
        for evidence in &diagnosis.evidence {
            println!("    {}", evidence.text);
        }
        diagnosis.cause
    })
}

#[test]
fn every_planted_fault_is_named() {
    testing::alone(|| {
        let cpus = usable_cpus().expect("the kernel says");
        for plant in Plant::ALL {
            let mut subject = Planted::new(plant, &cpus);
            let (examination, result) = examine(&mut subject, &PACE, 1, &|| false);
            result.expect("it is examined");
            let cause = named(&examination);
            assert_eq!(cause, plant.cause(), "{}", plant.name());
        }
    });
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
