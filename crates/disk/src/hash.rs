//! Hashes by the names that cryptsetup gives them.

use std::fmt;
use std::str::FromStr;

use digest::Digest;
use zeroize::Zeroizing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Ripemd160,
    Whirlpool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hash '{name}' is not supported; supported: {}", Hash::ALL.map(|hash| hash.name()).join(", "))]
pub struct UnknownHash {
    pub name: String,
}

/// Evaluates the body with `$type` as the hash's implementation.
macro_rules! with_digest {
    ($hash:expr, $type:ident => $body:expr) => {
        match $hash {
            Hash::Sha1 => {
                type $type = sha1::Sha1;
                $body
            }
            Hash::Sha224 => {
                type $type = sha2::Sha224;
                $body
            }
            Hash::Sha256 => {
                type $type = sha2::Sha256;
                $body
            }
            Hash::Sha384 => {
                type $type = sha2::Sha384;
                $body
            }
            Hash::Sha512 => {
                type $type = sha2::Sha512;
                $body
            }
            Hash::Ripemd160 => {
                type $type = ripemd::Ripemd160;
                $body
            }
            Hash::Whirlpool => {
                type $type = whirlpool::Whirlpool;
                $body
            }
        }
    };
}

impl Hash {
    pub const ALL: [Self; 7] = [
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Ripemd160,
        Self::Whirlpool,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Ripemd160 => "ripemd160",
            Self::Whirlpool => "whirlpool",
        }
    }

    pub const fn bytes(self) -> usize {
        match self {
            Self::Sha1 | Self::Ripemd160 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 | Self::Whirlpool => 64,
        }
    }

    /// Of the parts, one after the other.
    pub(crate) fn digest(self, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        with_digest!(self, D => {
            let mut state = D::new();
            parts.iter().for_each(|part| state.update(part));
            Zeroizing::new(state.finalize().to_vec())
        })
    }

    /// PBKDF2 (RFC 8018 §5.2) with HMAC of this hash.
    pub(crate) fn pbkdf2(self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        with_digest!(self, D => pbkdf2::pbkdf2_hmac::<D>(password, salt, iterations, key));
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.pad(self.name())
    }
}

impl FromStr for Hash {
    type Err = UnknownHash;

    fn from_str(name: &str) -> Result<Self, UnknownHash> {
        let lower = name.to_ascii_lowercase();
        let known = Self::ALL.into_iter().find(|hash| hash.name() == lower);
        known.ok_or_else(|| UnknownHash {
            name: name.to_owned(),
        })
    }
}
