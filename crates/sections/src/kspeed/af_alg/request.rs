//! What is asked of AF_ALG, and what can be.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::kspeed::af_alg::AfAlgError;

/// What kind of transform a socket offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfAlgType {
    /// A cipher without authentication.
    Skcipher,
    /// An authenticated cipher.
    Aead,
    /// A hash, keyed or not.
    Hash,
}

impl AfAlgType {
    /// AF_ALG's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skcipher => "skcipher",
            Self::Aead => "aead",
            Self::Hash => "hash",
        }
    }

    /// The kernel crypto API's word, which the module uses.
    #[must_use]
    pub const fn module_name(self) -> &'static str {
        match self {
            Self::Hash => "ahash",
            other => other.name(),
        }
    }
}

impl FromStr for AfAlgType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "skcipher" => Ok(Self::Skcipher),
            "aead" => Ok(Self::Aead),
            "hash" | "ahash" | "shash" => Ok(Self::Hash),
            _ => Err(format!(
                "unknown type '{name}'; AF_ALG has skcipher, aead, hash"
            )),
        }
    }
}

/// Which way a cipher goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Towards the ciphertext.
    #[default]
    Encrypt,
    /// Towards the plaintext.
    Decrypt,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "encrypt" => Ok(Self::Encrypt),
            "decrypt" => Ok(Self::Decrypt),
            _ => Err(format!(
                "unknown operation '{name}'; known: encrypt, decrypt"
            )),
        }
    }
}

/// One arm. A hash ignores `direction`, `aad_bytes` and `tag_bytes`, a plain
/// cipher the last two.
#[derive(Clone, Debug, PartialEq)]
pub struct AfAlg {
    /// What kind.
    pub kind: AfAlgType,
    /// A driver (`cbc-aes-aesni`), or an algorithm (`cbc(aes)`), of which the
    /// kernel takes the driver with the highest priority.
    pub driver: String,
    /// Which way.
    pub direction: Direction,
    /// Input bytes of a request, without associated data and tag.
    pub size_bytes: usize,
    /// Bytes of the key; 0 sets none.
    pub key_bytes: usize,
    /// Associated data of a request, bytes.
    pub aad_bytes: usize,
    /// Authentication tag, bytes.
    pub tag_bytes: usize,
    /// Requests in flight: so many sockets, each with a thread.
    pub depth: u32,
    /// Time before counting begins.
    pub warm_up: Duration,
    /// Time of counting.
    pub time: Duration,
}

/// The values that a request may have.
pub struct Limits;

impl Limits {
    /// Bytes of a request: what a socket's buffer surely takes.
    pub const SIZE_BYTES: RangeInclusive<usize> = 1..=65_536;
    /// Bytes of a key: XTS with AES-256 has 64, a keyed hash may have more.
    pub const KEY_BYTES: RangeInclusive<usize> = 0..=128;
    /// Bytes of associated data.
    pub const AAD_BYTES: RangeInclusive<usize> = 0..=4096;
    /// Bytes of a tag.
    pub const TAG_BYTES: RangeInclusive<usize> = 4..=64;
    /// Sockets, and threads.
    pub const DEPTH: RangeInclusive<usize> = 1..=256;
    /// Milliseconds of measuring.
    pub const MS: RangeInclusive<usize> = 1..=600_000;
    /// Milliseconds of warming up.
    pub const WARM_UP_MS: RangeInclusive<usize> = 0..=60_000;
    /// Bytes of a driver's name: a field of 64 in the address, ended by 0.
    pub const DRIVER_BYTES: RangeInclusive<usize> = 1..=63;
}

impl AfAlg {
    /// The operation's name, as the module has it.
    #[must_use]
    pub const fn operation_name(&self) -> &'static str {
        match (self.kind, self.direction) {
            (AfAlgType::Hash, _) => "digest",
            (_, Direction::Encrypt) => "encrypt",
            (_, Direction::Decrypt) => "decrypt",
        }
    }

    /// Checks what can be checked without a kernel.
    pub(super) fn check(&self) -> Result<(), AfAlgError> {
        let ms = |time: Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        let mut values = vec![
            ("size", self.size_bytes, Limits::SIZE_BYTES),
            ("key", self.key_bytes, Limits::KEY_BYTES),
            ("depth", self.depth as usize, Limits::DEPTH),
            ("ms", ms(self.time), Limits::MS),
            ("warm-up-ms", ms(self.warm_up), Limits::WARM_UP_MS),
        ];
        if self.kind == AfAlgType::Aead {
            values.push(("aad", self.aad_bytes, Limits::AAD_BYTES));
            values.push(("tag", self.tag_bytes, Limits::TAG_BYTES));
        }
        let wrong = values.into_iter().find(|(_, got, may)| !may.contains(got));
        if let Some((what, got, may)) = wrong {
            let limit = format!("{} to {}", may.start(), may.end());
            return Err(AfAlgError::Value { what, got, limit });
        }
        if !Limits::DRIVER_BYTES.contains(&self.driver.len()) || self.driver.contains('\0') {
            return Err(AfAlgError::DriverName {
                driver: self.driver.clone(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::kspeed::af_alg) fn cbc() -> AfAlg {
        AfAlg {
            kind: AfAlgType::Skcipher,
            driver: "cbc(aes)".to_owned(),
            direction: Direction::Encrypt,
            size_bytes: 512,
            key_bytes: 16,
            aad_bytes: 0,
            tag_bytes: 16,
            depth: 1,
            warm_up: Duration::from_millis(1),
            time: Duration::from_millis(10),
        }
    }

    #[test]
    fn values_out_of_range_are_named_with_their_limit() {
        assert!(cbc().check().is_ok());
        let refused = |request: AfAlg, parts: &[&str]| {
            let error = request.check().unwrap_err();
            assert!(error.is_usage(), "{error}");
            for part in parts {
                assert!(error.to_string().contains(part), "{error}");
            }
        };
        let own = cbc;
        refused(
            AfAlg {
                size_bytes: 0,
                ..own()
            },
            &["size", "0", "1 to 65536"],
        );
        refused(AfAlg { depth: 0, ..own() }, &["depth", "1 to 256"]);
        refused(
            AfAlg {
                driver: "x".repeat(64),
                ..own()
            },
            &["63"],
        );
        refused(
            AfAlg {
                driver: "a\0b".to_owned(),
                ..own()
            },
            &["driver"],
        );
        let aead = AfAlg {
            kind: AfAlgType::Aead,
            tag_bytes: 3,
            ..own()
        };
        refused(aead, &["tag", "3", "4 to 64"]);
    }

    #[test]
    fn names_are_read_in_both_vocabularies() {
        assert_eq!("ahash".parse(), Ok(AfAlgType::Hash));
        assert_eq!(AfAlgType::Hash.module_name(), "ahash");
        assert!(
            "rng"
                .parse::<AfAlgType>()
                .unwrap_err()
                .contains("skcipher, aead, hash")
        );
        assert!("sign".parse::<Direction>().unwrap_err().contains("decrypt"));
    }
}
