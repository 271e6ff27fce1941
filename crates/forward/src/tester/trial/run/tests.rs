use super::{Placement, TrialError, Way, run};
use crate::tester::testing::{Fault, link, stream};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const RESIDUAL: Duration = Duration::from_secs(2);

#[test]
fn both_directions_are_sent_and_counted() {
    let (mut tx0, mut rx0) = link(Fault::None);
    let (mut tx1, mut rx1) = link(Fault::DropEvery(100));
    let mut back = stream(Some(10_000.0));
    back.id = 1;
    let mut ways = [
        Way {
            transmitter: &mut tx0,
            receiver: &mut rx0,
            stream: stream(Some(5_000.0)),
        },
        Way {
            transmitter: &mut tx1,
            receiver: &mut rx1,
            stream: back,
        },
    ];
    let start = Instant::now();
    let ran = run(
        &mut ways,
        &Placement::default(),
        RESIDUAL,
        &AtomicBool::new(false),
    )
    .unwrap();
    let [one, other] = ran.directions.as_slice() else {
        panic!("two directions")
    };
    assert_eq!((one.transmitted.offered, one.lost()), (5_000, 0));
    assert_eq!((other.transmitted.offered, other.lost()), (10_000, 100));
    assert_eq!(one.received.foreign + other.received.foreign, 0);
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "it waits for no lost frame long"
    );
}

#[test]
fn a_trial_of_nothing_is_refused() {
    let error = run(
        &mut [],
        &Placement::default(),
        RESIDUAL,
        &AtomicBool::new(false),
    )
    .unwrap_err();
    assert!(matches!(error, TrialError::NoWay));
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let (mut transmitter, mut receiver) = link(Fault::None);
    let mut ways = [Way {
        transmitter: &mut transmitter,
        receiver: &mut receiver,
        stream: stream(Some(1_000.0)),
    }];
    let placement = Placement {
        generator: vec![100_000],
        ..Placement::default()
    };
    let error = run(&mut ways, &placement, RESIDUAL, &AtomicBool::new(false)).unwrap_err();
    let TrialError::Pin(cause) = error else {
        panic!("{error}")
    };
    assert!(cause.to_string().contains("100000"), "{cause}");
}

#[test]
fn a_port_that_fails_or_panics_is_named() {
    for (fault, expected) in [
        (Fault::Fail, "2 of 2 directions failed"),
        (Fault::Panic, "the thread of direction 1 panicked"),
    ] {
        let (mut tx0, mut rx0) = link(Fault::None);
        let (mut tx1, mut rx1) = link(fault);
        let mut ways = [
            Way {
                transmitter: &mut tx0,
                receiver: &mut rx0,
                stream: stream(Some(1_000.0)),
            },
            Way {
                transmitter: &mut tx1,
                receiver: &mut rx1,
                stream: stream(Some(1_000.0)),
            },
        ];
        let error = run(
            &mut ways,
            &Placement::default(),
            RESIDUAL,
            &AtomicBool::new(false),
        )
        .unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn who_is_told_to_stop_stops() {
    let (mut transmitter, mut receiver) = link(Fault::Forever);
    let mut ways = [Way {
        transmitter: &mut transmitter,
        receiver: &mut receiver,
        stream: stream(None),
    }];
    let ran = run(
        &mut ways,
        &Placement::default(),
        RESIDUAL,
        &AtomicBool::new(true),
    )
    .unwrap();
    assert_eq!(ran.directions[0].lost(), 0);
}

#[test]
fn each_cpu_is_named_once() {
    let placement = Placement {
        generator: vec![0],
        device: vec![1],
        sink: vec![1],
    };
    assert_eq!(placement.cpus(), [0, 1]);
    assert_eq!(
        (placement.generator_of(0), placement.generator_of(1)),
        (Some(0), Some(0))
    );
    assert_eq!(Placement::default().generator_of(0), None);
}
