//! Hidden commands: one arm, measured once, for a section that started this
//! program somewhere else, in a guest mostly.

use std::time::Duration;

use clap::Args;
use sections::kspeed::af_alg::{AfAlg, AfAlgType, Direction};
use sections::kspeed::userspace::{LoadMode, UserSpace, UserSpaceError};

use crate::units;

#[derive(Debug, Args)]
pub struct AfAlgArguments {
    /// Type: skcipher, aead, hash
    #[arg(long = "type", value_name = "NAME")]
    pub kind: AfAlgType,

    /// A driver (cbc-aes-aesni), or an algorithm (cbc(aes)): its best driver
    #[arg(long, value_name = "NAME")]
    pub driver: String,

    /// Operation of a cipher: encrypt, decrypt
    #[arg(long = "op", value_name = "NAME", default_value = "encrypt")]
    pub direction: Direction,

    /// Input bytes of a request
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = units::parse_size)]
    pub size: u64,

    /// Bytes of the key; 0: none
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub key: usize,

    /// Associated data of an AEAD request
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    pub aad: usize,

    /// Tag of an AEAD
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    pub tag: usize,

    /// Requests in flight: the number of sockets, each with a thread
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub depth: u32,

    /// Milliseconds of measuring
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub ms: u64,

    /// Milliseconds before that
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub warm_up_ms: u64,
}

impl From<&AfAlgArguments> for AfAlg {
    fn from(arguments: &AfAlgArguments) -> Self {
        Self {
            kind: arguments.kind,
            driver: arguments.driver.clone(),
            direction: arguments.direction,
            size_bytes: bytes(arguments.size),
            key_bytes: arguments.key,
            aad_bytes: arguments.aad,
            tag_bytes: arguments.tag,
            depth: arguments.depth,
            warm_up: Duration::from_millis(arguments.warm_up_ms),
            time: Duration::from_millis(arguments.ms),
        }
    }
}

#[derive(Debug, Args)]
pub struct UserSpaceArguments {
    /// Algorithm, as `lockgate speed` names it
    #[arg(long, value_name = "NAME")]
    pub algorithm: String,

    /// Operation [default: the algorithm's first]
    #[arg(long = "op", value_name = "NAME")]
    pub operation: Option<String>,

    /// Input bytes of a request
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = units::parse_size)]
    pub size: u64,

    /// How requests are kept in flight: raw, sync, batch, async
    #[arg(long, value_name = "NAME", default_value = "async")]
    pub mode: LoadMode,

    /// Requests in flight
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    pub depth: u32,

    /// Library that computes: auto, aws-lc, ipsec-mb, kernels, portable
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub backend: String,

    /// Milliseconds of measuring
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub ms: u64,
}

impl TryFrom<&UserSpaceArguments> for UserSpace {
    type Error = UserSpaceError;

    fn try_from(arguments: &UserSpaceArguments) -> Result<Self, Self::Error> {
        Ok(Self {
            size_bytes: bytes(arguments.size),
            mode: arguments.mode,
            depth: arguments.depth,
            backend: arguments.backend.clone(),
            time: Duration::from_millis(arguments.ms),
            ..Self::named(&arguments.algorithm, arguments.operation.as_deref())?
        })
    }
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
