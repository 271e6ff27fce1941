//! Every back-end against the portable one, which is another library: batches
//! of jobs with keys of their own, of every length up to 128 KiB, scattered,
//! misaligned, in place or not.

mod batch;
mod hidden;
mod judge;
mod keys;
mod pieces;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::layout::{self, many_specs, specs};
use crate::support::{fast_backends, offered};
use lockgate_crypto::{Algorithm, RsaBits};

/// Batches of each kind, and most jobs of a batch: private operations of RSA
/// take milliseconds each.
fn effort(algorithm: Algorithm) -> (u32, usize) {
    match algorithm {
        Algorithm::Rsa(RsaBits::B512 | RsaBits::B1024, _) => (8, 4),
        Algorithm::Rsa(RsaBits::B2048, _) => (3, 3),
        Algorithm::Rsa(..) => (1, 2),
        Algorithm::Ffdh(_) => (2, 3),
        Algorithm::EcdsaP256 | Algorithm::X25519 => (16, 8),
        _ => (20, 40),
    }
}

/// Whether a back-end is checked: where features are hidden from one, the others
/// behave as always.
fn is_checked(name: &str) -> bool {
    hidden::only().is_none_or(|only| only == name)
}

/// Every kind that `chosen` chooses, by every back-end.
fn check(chosen: impl Fn(Algorithm) -> bool) {
    for backend in fast_backends() {
        if !is_checked(backend.name()) {
            continue;
        }
        let kinds = offered(&*backend).into_iter();
        for kind in kinds.filter(|kind| chosen(kind.algorithm)) {
            let (cases, jobs_max) = effort(kind.algorithm);
            // Four processes try the same with features hidden.
            let cases = if hidden::only().is_some() {
                cases / 4
            } else {
                cases
            };
            let config = Config {
                cases: if testing::is_thorough() {
                    cases * 32
                } else {
                    cases
                },
                failure_persistence: None,
                ..Config::default()
            };
            let batches = prop::collection::vec(specs(), 1..=jobs_max);
            TestRunner::new(config)
                .run(&batches, |specs| judge::agrees(&*backend, kind, &specs))
                .unwrap_or_else(|failure| panic!("{} {kind:?}: {failure}", backend.name()));
        }
    }
}

#[test]
fn hundreds_at_once() {
    for backend in fast_backends() {
        let mut kinds = offered(&*backend);
        kinds.retain(|kind| !kind.algorithm.is_public_key());
        for kind in kinds {
            let config = Config {
                cases: if testing::is_thorough() { 32 } else { 1 },
                failure_persistence: None,
                max_shrink_iters: 200,
                ..Config::default()
            };
            let batches = prop::collection::vec(many_specs(), 257..=400);
            TestRunner::new(config)
                .run(&batches, |specs| judge::agrees(&*backend, kind, &specs))
                .unwrap_or_else(|failure| panic!("{} {kind:?}: {failure}", backend.name()));
        }
    }
}

#[test]
fn a_mebibyte() {
    for backend in fast_backends() {
        for kind in offered(&*backend) {
            if kind.algorithm.is_public_key() {
                continue;
            }
            let specs = [1 << 20, (1 << 20) + 1].map(layout::mebibyte);
            judge::agrees(&*backend, kind, &specs)
                .unwrap_or_else(|failure| panic!("{} {kind:?}: {failure}", backend.name()));
        }
    }
}

macro_rules! families {
    ($($name:ident: $pattern:pat,)*) => {
        $(
            #[test]
            fn $name() {
                check(|algorithm| {
                    use Algorithm::*;
                    matches!(algorithm, $pattern)
                });
            }
        )*

        #[test]
        fn every_algorithm_is_of_a_family() {
            use Algorithm::*;
            for algorithm in Algorithm::ALL {
                assert!(matches!(algorithm, $($pattern)|*), "{algorithm}");
            }
        }
    };
}

families! {
    ecb: Aes128Ecb | Aes192Ecb | Aes256Ecb,
    cbc: Aes128Cbc | Aes192Cbc | Aes256Cbc,
    ctr: Aes128Ctr | Aes192Ctr | Aes256Ctr,
    gcm: Aes128Gcm | Aes192Gcm | Aes256Gcm,
    xts: Aes128Xts | Aes256Xts,
    chacha20_poly1305: ChaCha20Poly1305,
    hashes: Sha1 | Sha256 | Sha384 | Sha512,
    hmac: HmacSha256,
    rsa: Rsa(..),
    ecdsa: EcdsaP256,
    key_agreement: X25519 | Ffdh(_),
}
