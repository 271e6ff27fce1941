//! What can be computed, by its usual name.

use std::fmt;
use std::str::FromStr;

/// An algorithm with its key size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Algorithm {
    /// AES-128 in cipher block chaining mode (SP 800-38A §6.2), no padding.
    Aes128Cbc,
    /// AES-256 in cipher block chaining mode, no padding.
    Aes256Cbc,
    /// AES-128 in counter mode (SP 800-38A §6.5), 128-bit big-endian counter.
    Aes128Ctr,
    /// AES-256 in counter mode.
    Aes256Ctr,
    /// AES-128 in Galois/counter mode (SP 800-38D), 12-byte IV, 16-byte tag.
    Aes128Gcm,
    /// AES-256 in Galois/counter mode, 12-byte IV, 16-byte tag.
    Aes256Gcm,
    /// AES-256 in XTS (IEEE 1619, SP 800-38E): 64-byte key, 16-byte tweak.
    Aes256Xts,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// RSA with a 2048-bit modulus, PKCS#1 v1.5 over a SHA-256 digest (RFC 8017 §8.2).
    Rsa2048,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Encrypt; with an AEAD, seal.
    Encrypt,
    /// Decrypt; with an AEAD, open.
    Decrypt,
    /// Digest.
    Hash,
    /// Sign a digest.
    Sign,
    /// Verify a signature over a digest.
    Verify,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 5] = [
        Self::Encrypt,
        Self::Decrypt,
        Self::Hash,
        Self::Sign,
        Self::Verify,
    ];

    /// The name that flags, files and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Decrypt => "decrypt",
            Self::Hash => "hash",
            Self::Sign => "sign",
            Self::Verify => "verify",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no operation.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown operation '{name}'; known: {}", Operation::ALL.map(Operation::name).join(", "))]
pub struct UnknownOperation {
    /// What was given.
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
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The operation.
    pub operation: Operation,
}

/// A name that is none of ours.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown algorithm '{name}'; known: {}", Algorithm::ALL.map(Algorithm::name).join(", "))]
pub struct UnknownAlgorithm {
    /// What was given.
    pub name: String,
}

impl Algorithm {
    /// Every algorithm, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Aes128Cbc,
        Self::Aes256Cbc,
        Self::Aes128Ctr,
        Self::Aes256Ctr,
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::Aes256Xts,
        Self::Sha256,
        Self::Rsa2048,
    ];

    /// The name that flags, files and reports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Cbc => "aes-128-cbc",
            Self::Aes256Cbc => "aes-256-cbc",
            Self::Aes128Ctr => "aes-128-ctr",
            Self::Aes256Ctr => "aes-256-ctr",
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::Aes256Xts => "aes-256-xts",
            Self::Sha256 => "sha256",
            Self::Rsa2048 => "rsa-2048",
        }
    }

    /// Key length in bytes; `None` for RSA, whose key is PKCS#8 DER of any
    /// length. A hash has a key of 0 bytes.
    #[must_use]
    pub const fn key_bytes(self) -> Option<usize> {
        match self {
            Self::Aes128Cbc | Self::Aes128Ctr | Self::Aes128Gcm => Some(16),
            Self::Aes256Cbc | Self::Aes256Ctr | Self::Aes256Gcm => Some(32),
            Self::Aes256Xts => Some(64),
            Self::Sha256 => Some(0),
            Self::Rsa2048 => None,
        }
    }

    /// The operations this algorithm has.
    #[must_use]
    pub const fn operations(self) -> &'static [Operation] {
        match self {
            Self::Sha256 => &[Operation::Hash],
            Self::Rsa2048 => &[Operation::Sign, Operation::Verify],
            _ => &[Operation::Encrypt, Operation::Decrypt],
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let lower = name.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == lower)
            .ok_or_else(|| UnknownAlgorithm {
                name: name.to_owned(),
            })
    }
}
