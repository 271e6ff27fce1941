//! What can be asked of an algorithm.

use std::fmt;
use std::str::FromStr;

use wire::quic::TAG_BYTES;

use crate::Algorithm;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    Encrypt,
    Decrypt,
    Hash,
    Sign,
    Verify,
    /// Agree on a secret with a peer's public value.
    Derive,
}

impl Operation {
    pub const ALL: [Self; 6] = [
        Self::Encrypt,
        Self::Decrypt,
        Self::Hash,
        Self::Sign,
        Self::Verify,
        Self::Derive,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::Hash => "hash",
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::Derive => "derive",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown operation '{name}'; known: {}", Operation::ALL.map(Operation::name).join(", "))]
pub struct UnknownOperation {
    pub name: String,
}

impl FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or_else(|| UnknownOperation {
                name: name.to_owned(),
            })
    }
}

/// What a batch is grouped by: algorithm with its key size, and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    pub algorithm: Algorithm,
    pub operation: Operation,
}

/// Its first operation.
impl From<Algorithm> for Kind {
    fn from(algorithm: Algorithm) -> Self {
        Self::new(algorithm, algorithm.operations()[0])
    }
}

impl Kind {
    pub const fn new(algorithm: Algorithm, operation: Operation) -> Self {
        Self {
            algorithm,
            operation,
        }
    }

    /// Bytes that a job of this kind writes to its destination where its
    /// source has `source_bytes`; `None` where the job itself says it: for
    /// RSA decryption, and where there is no such source of a packet. Whether the kind takes such a source is not looked at.
    pub const fn destination_bytes(self, source_bytes: usize) -> Option<usize> {
        match self.operation {
            Operation::Encrypt if self.is_of_packets() => source_bytes.checked_add(TAG_BYTES),
            Operation::Decrypt if self.is_of_packets() => source_bytes.checked_sub(TAG_BYTES),
            Operation::Hash => Some(self.algorithm.digest_bytes()),
            Operation::Sign | Operation::Verify => Some(0),
            Operation::Decrypt if self.algorithm.is_public_key() => None,
            Operation::Encrypt | Operation::Derive if self.algorithm.is_public_key() => {
                Some(self.algorithm.modulus_bytes())
            }
            _ => Some(source_bytes),
        }
    }

    const fn is_of_packets(self) -> bool {
        matches!(self.algorithm, Algorithm::Packets(_))
    }

    pub fn all() -> impl Iterator<Item = Self> {
        Algorithm::ALL.into_iter().flat_map(|algorithm| {
            let operations = algorithm.operations().iter();
            operations.map(move |&operation| Self::new(algorithm, operation))
        })
    }
}
