//! Hidden commands: one request, measured once, for a section that started this
//! program somewhere else, in a guest mostly.

use std::time::Duration;

use clap::Args;
use sections::kspeed::program::{Kind, Request};

use crate::units;

#[derive(Debug, Args)]
pub struct RequestArguments {
    /// Algorithm: aes-128-cbc, aes-128-gcm, sha256
    #[arg(long, value_name = "NAME")]
    pub algorithm: Kind,

    /// Input bytes of a request
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = units::parse_size)]
    pub size: u64,

    /// Milliseconds of measuring
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub ms: u64,
}

impl RequestArguments {
    /// As the section has it.
    pub fn request(&self) -> Request {
        Request {
            kind: self.algorithm,
            size_bytes: usize::try_from(self.size).unwrap_or(usize::MAX),
            time: Duration::from_millis(self.ms),
        }
    }
}

#[derive(Debug, Args)]
pub struct AfAlgArguments {
    /// A driver of the kernel: cbc-aes-aesni
    #[arg(long, value_name = "NAME")]
    pub driver: String,

    #[command(flatten)]
    pub request: RequestArguments,
}

#[derive(Debug, Args)]
pub struct UserSpaceArguments {
    /// Requests in flight
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    pub depth: usize,

    #[command(flatten)]
    pub request: RequestArguments,
}
