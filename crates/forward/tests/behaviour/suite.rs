//! What every path must pass.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::any;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::behaviour::catalogue::{self, Expect, neighbour};
use crate::behaviour::changes::CHANGES;
use crate::behaviour::mutation::mutations as damaged;
use crate::behaviour::normal;
use crate::behaviour::plan;
use crate::behaviour::probe::{Difference, Output, Pair};

/// Damaged frames a path: 2,500, or a million with `LOCKGATE_THOROUGH=1`.
fn cases() -> u32 {
    testing::cases(2_500, 1_000_000)
}

/// Every frame of the catalogue, twice, since a path may cache the first; and then
/// the other way.
pub fn catalogue(pair: &mut Pair) {
    let mut wrong = Vec::new();
    for case in catalogue::all() {
        let mirrored = catalogue::mirrored(&case.frame);
        let rounds = [
            ("first", case.expect, case.port, &case.frame),
            ("again", Expect::Any, case.port, &case.frame),
            ("mirrored", Expect::Any, 1 - case.port, &mirrored),
        ];
        for (round, expect, port, frame) in rounds {
            // The first time no sender has been told yet that this is unreachable.
            pair.ignored = if round == "first" {
                |_| false
            } else {
                normal::is_limited
            };
            match pair.compare(port, frame) {
                Ok(output) if expect.fits(port, &output) => {}
                Ok(output) => wrong.push(format!(
                    "{}: {expect:?} was expected, and out came {:#?}",
                    case.name,
                    summaries(&output)
                )),
                Err(difference) => {
                    wrong.push(format!("{}, {round}: {}", case.name, difference.0));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_forwarded_itself(pair);
    let [reference, subject] = pair.late();
    assert!(subject <= reference + 10, "late: {subject} and {reference}");
}

fn summaries(output: &Output) -> [Vec<String>; 2] {
    output.each_ref().map(|frames| {
        let frames = frames.iter().map(|frame| wire::Summary(frame).to_string());
        frames.collect()
    })
}

fn assert_forwarded_itself(pair: &Pair) {
    let (forwarded, hits) = pair.subject.path.forwarded();
    let enough = forwarded.is_none_or(|frames| frames > 1000);
    assert!(enough, "only {forwarded:?} frames were its own");
    let enough = hits.is_none_or(|hits| hits > 500);
    assert!(enough, "only {hits:?} hits");
}

pub fn mutations(pair: &mut Pair) {
    let all = catalogue::all();
    pair.ignored = normal::is_limited;
    let pair = RefCell::new(pair);
    let made = RefCell::new([0_u32; 3]);
    let mut runner = TestRunner::new(Config {
        cases: cases(),
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&damaged(), |mutation| {
        let (case, port, frame) = mutation.of(&all);
        let compared = pair.borrow_mut().compare(port, &frame);
        let fail = |difference: Difference| {
            TestCaseError::fail(format!("{}: {}", case.name, difference.0))
        };
        let output = compared.map_err(fail)?;
        let fates = [Expect::Forwarded, Expect::Answered, Expect::Dropped];
        if let Some(fate) = fates.iter().position(|fate| fate.fits(port, &output)) {
            made.borrow_mut()[fate] += 1;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // Else the damage would be too much, or too little, to tell paths apart.
    let made = made.into_inner();
    println!("forwarded, answered, dropped: {made:?}");
    let enough = |count: u32| count > cases() / 25;
    assert!(made.into_iter().all(enough), "of each fate some: {made:?}");
}

/// Several frames at once, so that a program's redirections gather, and it and the
/// kernel work on the same batch. Frames that pretend to come from the DUT are left
/// out: in a batch the kernel checks the source of only the first of several frames
/// to one destination (`ip_route_use_hint`).
pub fn bursts(pair: &mut Pair) {
    let mut all = catalogue::all();
    all.retain(|case| !catalogue::pretends_to_be_the_dut(&case.frame));
    pair.ignored = normal::is_limited;
    for rig in pair.both() {
        rig.batch();
    }
    let pair = RefCell::new(pair);
    let mut runner = TestRunner::new(Config {
        cases: cases() / 25,
        failure_persistence: None,
        ..Config::default()
    });
    let burst = proptest::collection::vec((any::<Index>(), any::<bool>()), 2..40);
    let result = runner.run(&burst, |burst| {
        let frames = burst.iter().map(|(index, mirrored)| {
            let case = index.get(&all);
            if *mirrored {
                (1 - case.port, catalogue::mirrored(&case.frame))
            } else {
                (case.port, case.frame.clone())
            }
        });
        let frames: Vec<_> = frames.collect();
        let input: Vec<_> = frames
            .iter()
            .map(|(port, frame)| (*port, frame.as_slice()))
            .collect();
        let compared = pair.borrow_mut().compare_burst(&input);
        compared
            .map(|_| ())
            .map_err(|difference| TestCaseError::fail(difference.0))
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

pub fn changes(pair: &mut Pair) {
    for (name, change) in CHANGES {
        for rig in [&mut pair.reference, &mut pair.subject] {
            change(rig);
        }
        if let Err(difference) = agree(pair) {
            panic!("after '{name}': {}", difference.0);
        }
    }
}

/// Against hangs only: how long after a change a path may be out of date is another
/// test's matter.
const LONG: Duration = Duration::from_secs(10);

fn agree(pair: &mut Pair) -> Result<(), Difference> {
    let began = Instant::now();
    while let Err(difference) = look(pair) {
        if began.elapsed() > LONG {
            return Err(difference);
        }
    }
    look(pair)
}

fn look(pair: &mut Pair) -> Result<(), Difference> {
    for (port, frame) in catalogue::of_changes() {
        pair.compare(port, &frame)?;
    }
    Ok(())
}

/// A next hop that is not known: the kernel asks for it, keeps the frame until
/// the answer, and later frames go at once.
pub fn neighbours(pair: &mut Pair) {
    for (question, answer) in neighbour::frames() {
        let asked = pair.same(0, &question);
        assert!(!asked[1].is_empty(), "it asked for no neighbour");
        let sent = pair.same(1, &answer);
        assert!(!sent[1].is_empty(), "the frame that waited did not come");
        for _ in 0..3 {
            let sent = pair.same(0, &question);
            assert_eq!(sent[1].len(), 1, "no question any more");
        }
    }
}

/// A next hop that never answers: asked for three times, then the sender gets an error.
pub fn silence(pair: &mut Pair) {
    for rig in pair.both() {
        rig.set_neighbours("retrans_time_ms", "20");
        rig.set_neighbours("mcast_solicit", "3");
    }
    for (question, _) in neighbour::frames() {
        let looked = pair.looks(&[(0, &question)], Duration::from_secs(1));
        let [(reference, _), (subject, _)] = looked.unwrap_or_else(|it| panic!("{}", it.0));
        assert_eq!(reference, subject);
        let [told, asked] = reference.each_ref().map(Vec::len);
        assert_eq!((told, asked), (1, 3), "told once, asked three times");
    }
}

/// A frame that leaves where it came in: its sender hears of the shorter way.
pub fn redirects(pair: &mut Pair) {
    for rig in pair.both() {
        rig.set("ipv4", "send_redirects", "1");
    }
    let back = catalogue::fresh4(std::net::Ipv4Addr::new(198, 18, 200, 1));
    let back = catalogue::udp4_with(&back, b"data");
    let output = pair.same(0, &back);
    assert!(output[1].is_empty() && !output[0].is_empty(), "{output:?}");
    let mut back = catalogue::across6(wire::protocol::UDP);
    back.destination = plan::TESTER_V6[0];
    let back = catalogue::udp6_with(&back, b"data");
    let output = pair.same(0, &back);
    assert!(output[1].is_empty() && !output[0].is_empty(), "{output:?}");
}
