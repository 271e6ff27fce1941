use std::time::Duration;

use kit::testing::{assert_refused, section};

use super::*;

fn host() -> Host {
    Host {
        l2_bytes: 1 << 20,
        ..Host::with_cpus([0, 1])
    }
}

fn planned(text: &str, budget_s: u64) -> kit::plan::Job<CryptoPeers> {
    let own: CryptoPeers = section(text).unwrap();
    let subjects = own.subjects(&host());
    kit::plan::job(&own, &subjects, Duration::from_secs(budget_s)).unwrap()
}

#[test]
fn all_is_every_algorithm_that_the_back_end_has() {
    let own: CryptoPeers = section("").unwrap();
    let subjects = own.subjects(&host());
    for algorithm in Algorithm::ALL {
        let kind = Kind::from(algorithm);
        let is_own = |place: &Place| {
            let is_usual = algorithm.is_public_key() || place.block_bytes == BLOCK_BYTES;
            place.kind == kind && is_usual
        };
        let is_there = subjects.iter().any(|subject| is_own(&subject.place));
        assert_eq!(
            is_there,
            own.config.backend.get().supports(kind),
            "{kind:?}"
        );
    }
    let verify = |kind: &Kind| kind.operation == Operation::Verify;
    assert!(own.kinds.iter().any(verify));
    let in_flight = |place: &Place| place.depth * place.block_bytes;
    assert!((subjects.iter()).all(|subject| in_flight(&subject.place) <= 512 << 10));
}

#[test]
fn what_is_named_and_installed_is_what_is_measured() {
    let bare = Host {
        missing: vec![openssl::PROGRAM, kit::host::DPDK_CRYPTO],
        ..host()
    };
    let own = [Arm::Engine, Arm::OwnLoop];
    let none: [Arm; 0] = [];
    for (peers, host, wanted) in [
        ("[]", host(), &none[..]),
        ("'none'", host(), &none),
        ("['ring']", host(), &[Arm::Ring]),
        ("['ring', 'All']", host(), &Arm::PEERS),
        ("'all'", bare.clone(), &[Arm::Ring]),
    ] {
        let text = format!("algorithms = ['sha256']\nsizes_bytes = [64]\npeers = {peers}");
        let subjects = section::<CryptoPeers>(&text).unwrap().subjects(&host);
        let mut arms: Vec<_> = subjects.iter().map(|subject| subject.arm).collect();
        arms.sort_unstable();
        assert_eq!(arms, [&own[..], wanted].concat(), "{peers}");
    }
    let own: CryptoPeers = section("").unwrap();
    let left_out = own.left_out(&bare).unwrap();
    assert!(left_out.contains("openssl is not installed"), "{left_out}");
    assert_eq!(own.subjects(&Host::with_cpus([0])).len(), 0);
}

#[test]
fn every_wrong_value_is_named_with_its_limit() {
    let many: Vec<_> = (1..=17).map(|index| (index * 16).to_string()).collect();
    let many = format!("sizes_bytes = [{}]", many.join(", "));
    let not_of_a_hash = "algorithms = ['sha256']\noperations = ['sign']";
    assert_refused::<CryptoPeers>(&[
        (not_of_a_hash, "algorithms", "sha256"),
        ("sizes_bytes = [17]", "sizes_bytes", "multiples of 16"),
        (&many, "sizes_bytes", "the limit is 16"),
        ("peers = ['nss']", "peers", "openssl, dpdk-32"),
    ]);
}

/// The least that claims rest on comes first, then more with every second.
#[test]
fn a_share_of_the_default_run_holds_the_pairs_of_the_claims() {
    let mut before = 0;
    for budget_s in [50, 110, 180, 400, 900] {
        let job = planned("", budget_s);
        assert_eq!(job.rounds, 9, "{budget_s}");
        let is_claim = |place: &Place| place.is_claim() && place.is_largest;
        let of = |arm: Arm| {
            let own = job.subjects.iter().filter(|own| is_claim(&own.place));
            own.filter(|own| own.arm == arm).count()
        };
        assert_eq!([Arm::Engine, Arm::OwnLoop, Arm::OpenSsl].map(of), [4; 3]);
        assert!(job.subjects.len() > before, "{budget_s}");
        before = job.subjects.len();
    }
    assert!(planned("", 36_000).left_out.is_none());
}
