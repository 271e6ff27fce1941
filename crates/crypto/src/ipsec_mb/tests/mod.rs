//! The back-end where the library is installed; a visible skip elsewhere.

mod agreement;
mod guard;
mod header;
mod residue;
mod threads;
mod tiers;

use std::sync::Arc;

use super::layout::Version;
use super::{IpsecMb, Unavailable, opened};

fn backend() -> Option<Arc<IpsecMb>> {
    opened()
        .inspect_err(|error| testing::skipped(format!("{error}")))
        .ok()
}

#[test]
fn every_operation_passes_its_self_test() {
    let Some(backend) = backend() else { return };
    is_whole(&backend);
    assert!(backend.supported.len() > 20);
}

/// Only ChaCha20-Poly1305 fails its self-test, where it reads beyond a segment.
fn is_whole(backend: &IpsecMb) {
    let refused = 2 * usize::from(backend.chosen.chacha_reads_beyond());
    assert_eq!(backend.refused.len(), refused, "{:?}", backend.refused);
}

#[test]
fn asked_for_by_name() {
    match (crate::by_name("IPSEC-MB"), opened()) {
        (Ok(found), Ok(own)) => assert_eq!(found.version(), crate::Backend::version(&*own)),
        (Err(error), Err(reason)) => {
            assert_eq!(error, crate::UnknownBackend::Unavailable(reason));
        }
        _ => panic!("one finds it and the other does not"),
    }
}

#[test]
fn why_not_and_what_helps() {
    for (error, remedy) in [
        (
            Unavailable::NotInstalled {
                reason: "libIPSec_MB.so.1: not found".to_owned(),
            },
            "apt-get install libipsec-mb1",
        ),
        (
            Unavailable::Version {
                file: "libIPSec_MB.so.1",
                version: "1.2.0".to_owned(),
            },
            "install one of 1.3, 1.4, 1.5 or 2.0",
        ),
    ] {
        let text = error.to_string();
        assert!(text.contains(remedy), "{text}");
    }
}

#[test]
fn other_versions_are_not_let_through() {
    for number in [0, 0x01_02_00, 0x01_06_00, 0x02_01_00, u32::MAX] {
        assert_eq!(Version::of(number), None);
    }
    assert_eq!(Version::of(0x01_03_07), Some(Version::V1_3));
}
