use super::{Placement, Ran, TrialError, Way, run};
use crate::tester::testing::{Fault, LinkReceiver, LinkTransmitter, link, stream};
use std::time::{Duration, Instant};

const RESIDUAL: Duration = Duration::from_secs(2);

fn cpu() -> usize {
    sys::affinity::allowed_cpus().unwrap()[0]
}

fn way<'a>(
    (transmitter, receiver): &'a mut (LinkTransmitter, LinkReceiver),
    rate_pps: Option<f64>,
    id: u8,
) -> Way<'a> {
    let mut stream = stream(rate_pps);
    stream.id = id;
    Way {
        transmitter,
        receiver,
        stream,
        generator_cpu: cpu(),
    }
}

fn ran(ways: &mut [Way<'_>], go_on: bool) -> Result<Ran<()>, TrialError> {
    let placement = Placement::default();
    run(ways, &placement, RESIDUAL, &mut || (), &|| go_on)
}

#[test]
fn both_directions_are_sent_and_counted() {
    testing::timed(|| {
        let (mut forth, mut back) = (link(Fault::None), link(Fault::DropEvery(100)));
        let mut ways = [
            way(&mut forth, Some(5_000.0), 0),
            way(&mut back, Some(10_000.0), 1),
        ];
        let start = Instant::now();
        let ran = ran(&mut ways, true).unwrap();
        let [one, other] = ran.directions.as_slice() else {
            panic!("two directions")
        };
        assert_eq!((one.sent.offered, one.lost()), (5_000, 0));
        assert_eq!((other.sent.offered, other.lost()), (10_000, 100));
        assert_eq!(one.received.foreign + other.received.foreign, 0);
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it waits for no lost frame long"
        );
    });
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let mut link = link(Fault::None);
    let mut ways = [way(&mut link, Some(1_000.0), 0)];
    ways[0].generator_cpu = 100_000;
    let error = ran(&mut ways, true).unwrap_err();
    let TrialError::Pin(cause) = error else {
        panic!("{error}")
    };
    assert!(cause.to_string().contains("100000"), "{cause}");
}

#[test]
fn a_port_that_fails_is_named_and_stops_the_others() {
    let (mut one, mut other) = (link(Fault::Forever), link(Fault::Fail));
    let mut ways = [way(&mut one, None, 0), way(&mut other, Some(1_000.0), 1)];
    let error = ran(&mut ways, true).unwrap_err();
    assert_eq!(error.to_string(), "way 2 of 2 of a trial failed");
}

#[test]
#[should_panic(expected = "planted")]
fn a_port_that_panics_takes_the_trial_with_it() {
    let (mut one, mut other) = (link(Fault::None), link(Fault::Panic));
    let mut ways = [way(&mut one, Some(1_000.0), 0), way(&mut other, None, 1)];
    let _ = ran(&mut ways, true);
}

#[test]
fn who_is_told_to_stop_stops() {
    let mut link = link(Fault::Forever);
    let mut ways = [way(&mut link, None, 0)];
    let error = ran(&mut ways, false).unwrap_err();
    assert!(matches!(error, TrialError::Interrupted));
}
