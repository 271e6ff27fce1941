use disk::{Iv, Mode};
use grid::Arm::{Block, Bulk, BulkIpsecMb};
use kit::testing::{assert_refused, section};

use super::*;

fn subjects(text: &str) -> Vec<Subject<Place, Arm>> {
    section::<DiskSpeed>(text)
        .unwrap()
        .subjects(&Host::with_cpus([0]))
}

/// Each cipher, key and direction, by every arm that computes.
#[test]
fn every_arm_gives_what_another_gives() {
    let keys = "key_bits = [128, 192, 256, 320, 384, 512]\nciphers = ";
    let of_iv = |iv| {
        Mode::ALL
            .map(|mode| format!("'{}'", Spec { mode, iv }))
            .join(", ")
    };
    let all = [Iv::Plain64, Iv::Benbi].map(of_iv).join(", ");
    let mut checked = 0;
    for subject in subjects(&format!("{keys}[{all}]")) {
        match Work::new(subject.place, subject.arm, 8192).check() {
            Err(Stopped::NotSupported { what, remedy }) => {
                testing::left_out(format!("{what}; {remedy}"))
            }
            checked => checked.unwrap_or_else(|error| panic!("{subject:?}: {error:?}")),
        }
        checked += 1;
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn a_target_is_about_a_pair_that_is_measured() {
    let own: DiskSpeed = section("").unwrap();
    let subjects = own.subjects(&Host::with_cpus([0]));
    let pairs = own.pairs(&subjects);
    let wanted = |mode, reference| {
        let of = |pair: &&Pair<Place, Arm>| {
            let place = pair.arm.0;
            place.spec.mode == mode && place.aes_bits() == 256 && pair.reference.1 == reference
        };
        pairs
            .iter()
            .filter(of)
            .filter_map(|pair| pair.target)
            .collect::<Vec<_>>()
    };
    assert_eq!(wanted(Mode::Xts, Bulk), [0.9; 4]);
    assert_eq!(wanted(Mode::Xts, Call), [1.8; 2]);
    assert_eq!(wanted(Mode::Ctr, BulkIpsecMb), [0.9; 2]);
    assert_eq!(wanted(Mode::Cbc, Bulk), [5.0; 2]);
    assert_eq!(wanted(Mode::Lrw, Block), [4.0; 4]);
    let first = subjects.iter().filter(|subject| subject.rank == 0);
    assert!(first.clone().all(|subject| subject.place.aes_bits() == 256));
    assert!(first.clone().any(|subject| subject.arm == Block));
}

#[test]
fn keys_are_those_that_a_cipher_takes() {
    let bits = |text| {
        let mut bits: Vec<_> = subjects(text)
            .iter()
            .map(|own| own.place.key_bits)
            .collect();
        bits.dedup();
        bits
    };
    let one = "sector_bytes = [512]\ndirections = ['write']\nciphers = ['aes-lrw-benbi']";
    assert_eq!(bits(one), [384, 256]);
    assert_eq!(bits(&format!("{one}\nkey_bits = [320, 512]")), [320]);
    assert_refused::<DiskSpeed>(&[
        (
            "ciphers = ['aes-cbc-plain']\nkey_bits = [512]",
            "key_bits",
            "128, 192 or 256",
        ),
        ("ciphers = ['aes-gcm-plain']", "ciphers", "'gcm'"),
        (
            "ciphers = ['aes-xts-plain46']",
            "ciphers",
            "did you mean 'aes-xts-plain64'",
        ),
        (
            "sector_bytes = [1536]",
            "sector_bytes",
            "1024, 2048 or 4096",
        ),
        ("run_bytes = 5000", "run_bytes", "multiple of 4096"),
        ("directions = ['up']", "directions", "write, read"),
    ]);
}
