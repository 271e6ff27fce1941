//! Keys: zeroised on drop, never shown.

use std::any::{Any, TypeId};
use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::{Algorithm, KeyForm};

/// Raw key bytes on their way into a back-end. Zeroised on drop; `Debug`
/// shows only the length.
pub struct KeyMaterial(Zeroizing<Vec<u8>>);

impl KeyMaterial {
    /// Takes the bytes and leaves `bytes` zeroised.
    #[must_use]
    pub fn take(bytes: &mut [u8]) -> Self {
        let own = Self(Zeroizing::new(bytes.to_vec()));
        bytes.zeroize();
        own
    }

    /// The bytes, for a back-end's key set-up.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, when they could be a key for `algorithm`: of its length
    /// and, for XTS, of two different halves.
    pub(crate) fn expose_for(&self, algorithm: Algorithm) -> Result<&[u8], KeyError> {
        let (bytes, got) = (self.expose(), self.0.len());
        match algorithm.key_form() {
            _ if !algorithm.exists() => Err(KeyError::NoSuchAlgorithm),
            KeyForm::Bytes(expected) if expected != got => Err(KeyError::Length {
                algorithm,
                expected,
                got,
            }),
            _ if algorithm.is_xts() && halves_equal(bytes) => Err(KeyError::EqualXtsHalves),
            _ => Ok(bytes),
        }
    }
}

/// Compares in the same time wherever the halves differ.
fn halves_equal(key: &[u8]) -> bool {
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    data_key
        .iter()
        .zip(tweak_key)
        .fold(0, |differing, (a, b)| differing | (a ^ b))
        == 0
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyMaterial({} bytes)", self.0.len())
    }
}

/// A key as one back-end wants it (expanded, in the library's context).
/// `Send` but not `Sync`: contexts are scratch space too, so each worker has
/// its own copy and nothing is locked.
pub trait Key: Any + Send {
    /// For the back-end that made it, whose keys are of type `of`: the key
    /// itself, or, of a key made for several back-ends, the part that is that
    /// one's. `None` when it is another's.
    fn part(&self, of: TypeId) -> Option<&dyn Any>;
}

/// Why a key was refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Wrong length.
    #[error("{algorithm} takes a key of {expected} bytes, got {got}")]
    Length {
        /// For which algorithm.
        algorithm: Algorithm,
        /// What it takes.
        expected: usize,
        /// What was given.
        got: usize,
    },
    /// OAEP or PSS with 512 bits.
    #[error(
        "a modulus of 512 bits has no room for OAEP or PSS with SHA-256; take 1024 bits or more"
    )]
    NoSuchAlgorithm,
    /// Its keys are too short to protect anything.
    #[error(
        "{algorithm} protects nothing: only an engine for measuring takes it; take 2048 bits or more"
    )]
    ForMeasuringOnly {
        /// What was asked.
        algorithm: Algorithm,
    },
    /// XTS with two equal halves (SP 800-38E requires them to differ).
    #[error("the two halves of an XTS key must differ; generate random bytes")]
    EqualXtsHalves,
    /// Neither a PKCS#8 key nor a public key of the stated kind and size.
    #[error("neither a PKCS#8 private key nor a SubjectPublicKeyInfo, in DER, for {algorithm}")]
    Malformed {
        /// For which algorithm.
        algorithm: Algorithm,
    },
    /// The back-end lacks the algorithm.
    #[error("back-end {backend} has no {algorithm}")]
    Unsupported {
        /// Its name.
        backend: &'static str,
        /// What was asked.
        algorithm: Algorithm,
    },
    /// The library refused or had no memory.
    #[error("back-end {backend} could not set up a key for {algorithm}")]
    Backend {
        /// Its name.
        backend: &'static str,
        /// What was asked.
        algorithm: Algorithm,
    },
}
