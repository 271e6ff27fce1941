//! Keys: zeroised on drop, never shown.

use std::any::{Any, TypeId};
use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use crate::{Algorithm, KeyForm, SectorMode};

/// Raw key bytes on their way into a back-end. Zeroised on drop; `Debug`
/// shows only the length.
pub struct KeyMaterial(Zeroizing<Vec<u8>>);

impl KeyMaterial {
    /// Takes the bytes and leaves `bytes` zeroised.
    pub fn take(bytes: &mut [u8]) -> Self {
        let own = sys::secret::within(|| Self(Zeroizing::new(bytes.to_vec())));
        bytes.zeroize();
        own
    }

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

/// A key in the form of one back-end (expanded, in the library's context). `Send` but
/// not `Sync`: contexts are scratch space too, so each worker has its own copy and
/// nothing is locked.
pub trait Key: Any + Send {
    /// For the back-end that made it, whose keys are of type `of`: the key itself or,
    /// in a key made for several back-ends, that back-end's part. `None` for other
    /// back-ends.
    fn part(&self, of: TypeId) -> Option<&dyn Any>;

    /// Asks for the memory of its parts, where they lie apart from the key itself, which
    /// was [asked for](crate::prefetch()) a while before.
    fn prefetch_parts(&self) {}
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("{algorithm} takes a key of {expected} bytes, got {got}")]
    Length {
        algorithm: Algorithm,
        expected: usize,
        got: usize,
    },
    #[error("sectors in {} take a key of {} bytes, got {got}", .mode.name(), .mode.key_bytes().map(|bytes| bytes.to_string()).join(", "))]
    SectorKey { mode: SectorMode, got: usize },
    #[error("sectors of {got} bytes are not supported; take 512, 1024, 2048 or 4096")]
    SectorBytes { got: usize },
    /// OAEP or PSS with 512 bits.
    #[error(
        "a modulus of 512 bits has no room for OAEP or PSS with SHA-256; take 1024 bits or more"
    )]
    NoSuchAlgorithm,
    #[error(
        "keys of {algorithm} protect nothing and are accepted only for measurements; take 2048 bits or more"
    )]
    ForMeasuringOnly { algorithm: Algorithm },
    /// XTS with two equal halves (SP 800-38E requires them to differ).
    #[error("the two halves of an XTS key must differ; generate random bytes")]
    EqualXtsHalves,
    #[error("neither a PKCS#8 private key nor a SubjectPublicKeyInfo, in DER, for {algorithm}")]
    Malformed { algorithm: Algorithm },
    #[error("back-end {backend} has no {algorithm}")]
    Unsupported {
        backend: &'static str,
        algorithm: Algorithm,
    },
    #[error("back-end {backend} could not set up a key for {algorithm}")]
    Backend {
        backend: &'static str,
        algorithm: Algorithm,
    },
}
