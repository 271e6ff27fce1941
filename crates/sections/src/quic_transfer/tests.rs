use kit::testing::{assert_refused, section};

use super::*;

fn own(text: &str) -> QuicTransfer {
    section(text).unwrap()
}

#[test]
fn each_target_is_about_a_pair_that_is_measured() {
    let own = own("");
    let subjects = own.subjects(&Host::with_cpus([0, 1]));
    let pairs = own.pairs(&subjects);
    let targets: Vec<_> = pairs.iter().filter(|pair| pair.target.is_some()).collect();
    assert_eq!(targets.len(), 3);
    for pair in targets {
        assert_ne!(pair.measure, RATE);
        assert_eq!(pair.arm.0.rank(), 0);
    }
    let changes = pairs.iter().filter(|pair| !pair.change.is_empty()).count();
    assert_eq!(changes, 10, "one for each size and start");
}

#[test]
fn no_pair_has_an_arm_that_is_left_out() {
    let own = own("stacks = ['quic-stock', 'quic-offloaded']\nstarts = ['cold']");
    let subjects = own.subjects(&Host::with_cpus([0, 1]));
    assert_eq!(subjects.len(), 10);
    assert_eq!(own.pairs(&subjects).len(), 5);
}

#[test]
fn what_no_transfer_has_is_refused() {
    assert_refused::<QuicTransfer>(&[
        ("sizes_bytes = [10]", "sizes_bytes", "1000"),
        ("starts = ['warm']", "starts", "0-rtt"),
        ("stacks = ['sctp']", "stacks", "quic-stock"),
        ("suite = 'aes-192-gcm'", "suite", "chacha20-poly1305"),
        ("payload_bytes = 1199", "payload_bytes", "1200"),
    ]);
}

/// Every stack carries what it is asked for, however it begins.
#[test]
fn every_stack_transfers() {
    let identity = Identity::generate(&["localhost"]).unwrap();
    let host = Host::of(None);
    let own = own("sizes_bytes = [200_000]");
    for subject in own.subjects(&host) {
        let transfer = own.transfer(subject.place, subject.arm);
        let slice = Slice::whole(std::time::Duration::from_millis(5));
        let done = match transfer.run(&identity, transfers::cores(&host), slice) {
            Ok(done) => done,
            Err(kit::prelude::Stopped::NotSupported { what, remedy }) => {
                return testing::skipped(format!("{what}; {remedy}"));
            }
            Err(error) => panic!("{subject:?}: {error:?}"),
        };
        assert_eq!(done.bytes, 200_000 * done.times_ns.len() as u64);
        let packets = done.bytes / 1452;
        match subject.arm.is_tcp() {
            true => assert_eq!(done.datagrams, 0),
            false => assert!(done.datagrams > packets, "{subject:?}: {done:?}"),
        }
        let values = values(&done);
        assert!(values.iter().all(|(_, value)| value.is_finite()));
    }
}
