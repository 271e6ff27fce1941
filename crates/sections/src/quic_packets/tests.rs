use kit::testing::{assert_refused, section};

use super::*;

fn subjects(text: &str) -> Vec<Subject<Place, Arm>> {
    section::<QuicPackets>(text)
        .unwrap()
        .subjects(&Host::with_cpus([0]))
}

#[test]
fn every_arm_makes_the_packets_that_another_makes() {
    let all = subjects("packet_bytes = [64, 65, 300, 1452, 9000]\nbatches = [1, 3, 70]");
    assert!(all.len() > 200, "{}", all.len());
    for subject in all {
        match arms::check(subject.place, subject.arm) {
            Err(Stopped::NotSupported { what, remedy }) => {
                testing::left_out(format!("{what}; {remedy}"))
            }
            checked => checked.unwrap_or_else(|error| panic!("{subject:?}: {error:?}")),
        }
    }
}

#[test]
fn a_target_is_about_a_pair_that_is_measured() {
    let own: QuicPackets = section("").unwrap();
    let subjects = own.subjects(&Host::with_cpus([0]));
    let pairs = own.pairs(&subjects);
    let wanted = |work, reference| {
        let of = |pair: &&Pair<Place, Arm>| {
            pair.arm.0.work == work && pair.reference.1 == reference && pair.target.is_some()
        };
        pairs.iter().filter(of).count()
    };
    // Of AES-128 and of AES-256.
    for (work, reference) in [
        (Work::Seal, Arm::Ring),
        (Work::Seal, Arm::IpsecMb),
        (Work::Open, Arm::IpsecMb),
        (Work::Mask, Arm::Ring),
    ] {
        assert_eq!(wanted(work, reference), 2, "{work} {reference:?}");
    }
}

#[test]
fn what_no_packet_has_is_refused() {
    assert_refused::<QuicPackets>(&[
        ("suites = ['aes-192-gcm']", "suites", "aes-128-gcm"),
        ("work = ['forge']", "work", "seal, open, mask"),
        ("packet_bytes = [20]", "packet_bytes", "64"),
        ("batches = [0]", "batches", "1"),
    ]);
}
