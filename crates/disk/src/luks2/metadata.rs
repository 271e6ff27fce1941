//! The JSON of a LUKS2 header (LUKS2 on-disk format 1.1, §3), as far as opening needs it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Metadata {
    pub keyslots: BTreeMap<Number, Keyslot>,
    #[serde(default)]
    pub tokens: BTreeMap<Number, Token>,
    pub segments: BTreeMap<Number, Segment>,
    pub digests: BTreeMap<Number, Digest>,
    pub config: Config,
}

/// Of a key slot, token, segment or digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number(pub u32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.parse().map(Self);
        number.map_err(|_| D::Error::custom(format!("'{text}' is no number of an object")))
    }
}

/// A 64-bit number, which the format writes as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Long(pub u64);

impl<'de> Deserialize<'de> for Long {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.parse().map(Self);
        number.map_err(|_| D::Error::custom(format!("'{text}' is no 64-bit number")))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = BASE64_STANDARD.decode(&text).map(Self);
        bytes.map_err(|error| D::Error::custom(format!("no base64: {error}")))
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Keyslot {
    Luks2 {
        key_size: usize,
        area: Area,
        kdf: Kdf,
        af: Af,
        #[serde(default = "normal")]
        priority: u32,
    },
    Reencrypt {},
    #[serde(other)]
    Unknown,
}

const fn normal() -> u32 {
    1
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Area {
    pub r#type: String,
    pub offset: Long,
    pub size: Long,
    pub encryption: String,
    pub key_size: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Kdf {
    Pbkdf2 {
        hash: String,
        iterations: u32,
        salt: Bytes,
    },
    Argon2i(Argon2),
    Argon2id(Argon2),
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Argon2 {
    pub time: u32,
    /// KiB.
    pub memory: u32,
    pub cpus: u32,
    pub salt: Bytes,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Af {
    pub r#type: String,
    pub stripes: usize,
    pub hash: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Token {
    pub r#type: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Segment {
    pub r#type: String,
    pub offset: Long,
    /// Bytes, or `dynamic`: up to the end of the device.
    pub size: String,
    pub iv_tweak: Option<Long>,
    pub encryption: Option<String>,
    pub sector_size: Option<usize>,
    pub integrity: Option<serde_json::Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Digest {
    pub r#type: String,
    pub keyslots: Vec<Number>,
    pub segments: Vec<Number>,
    pub hash: String,
    pub iterations: u32,
    pub salt: Bytes,
    pub digest: Bytes,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Config {
    pub json_size: Long,
    pub keyslots_size: Long,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub requirements: Requirements,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Requirements {
    #[serde(default)]
    pub mandatory: Vec<String>,
}
