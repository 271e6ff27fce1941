//! Published vectors against every back-end: what is common to their sources.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its own part"
)]

mod expected;
pub mod rejection;
pub mod rsa_key;
mod run;
mod suite;

use std::sync::Arc;

use lockgate_crypto::{Algorithm, KeyForm, Kind, Operation};

pub use expected::{Expected, Outcome, pad};
pub use run::are_enough;
pub use suite::Suite;

#[derive(Clone, Debug)]
pub struct Case {
    pub label: String,
    pub kind: Kind,
    pub material: Arc<[u8]>,
    pub iv: [u8; 16],
    pub aad: Vec<u8>,
    pub source: Vec<u8>,
    pub destination_bytes: usize,
    pub tag: Vec<u8>,
    pub expected: Expected,
}

impl Case {
    /// Without additional data or tag, and with a destination as long as the
    /// source.
    pub fn plain(
        label: &str,
        (algorithm, operation): (Algorithm, Operation),
        material: &[u8],
        source: &[u8],
        expected: Expected,
    ) -> Self {
        Self {
            label: label.to_owned(),
            kind: Kind::new(algorithm, operation),
            material: material.into(),
            iv: [0; 16],
            aad: Vec::new(),
            source: source.to_vec(),
            destination_bytes: source.len(),
            tag: Vec::new(),
            expected,
        }
    }

    /// A hash of `source`; its result is `expected`.
    pub fn hash(
        label: &str,
        algorithm: Algorithm,
        key: &[u8],
        source: &[u8],
        expected: Expected,
    ) -> Self {
        let of = (algorithm, Operation::Hash);
        Self {
            destination_bytes: algorithm.digest_bytes(),
            ..Self::plain(label, of, key, source, expected)
        }
    }

    /// A signature over the SHA-256 of `message`, right or wrong.
    pub fn verify(
        label: &str,
        algorithm: Algorithm,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
        is_right: bool,
    ) -> Self {
        use sha2::Digest;
        let expected = Expected::of_signature(algorithm, signature, is_right);
        let of = (algorithm, Operation::Verify);
        let digest = sha2::Sha256::digest(message);
        Self {
            destination_bytes: 0,
            tag: signature.to_vec(),
            ..Self::plain(label, of, key, &digest, expected)
        }
    }

    pub fn with_iv(mut self, iv: &[u8]) -> Self {
        self.iv[..iv.len()].copy_from_slice(iv);
        self
    }
}

/// The AES algorithm of this mode and length of key, if there is one.
pub fn aes(mode: &str, key_bytes: usize) -> Option<Algorithm> {
    let is_it = |algorithm: &Algorithm| {
        algorithm.name().starts_with("aes-")
            && algorithm.name().ends_with(mode)
            && algorithm.key_form() == KeyForm::Bytes(key_bytes)
    };
    Algorithm::ALL.into_iter().find(is_it)
}

pub fn unhex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "half a byte: {digits}");
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("hexadecimal"))
        .collect()
}
