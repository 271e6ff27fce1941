//! `lockgate quic`, as data.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  lockgate quic decrypt --pcap trace.pcapng                secrets in the capture itself
  lockgate quic decrypt --pcap trace.pcap --keylog keys.txt
  lockgate quic decrypt --pcap trace.pcap --keylog keys.txt --export json=- | jq .reasons

A key log is what SSLKEYLOGFILE makes browsers, curl and most QUIC stacks write.
Every packet is opened, or it is said why not. Nothing leaves this host, and no
secret is printed.

JSON has the counts by kind and reason, the connections with the SHA-256 of each
stream in each direction, and each packet that is not open.

Exit codes: 0 all was opened; 1 some packets were not; 2 wrong usage, or a file
that is no capture or key log; 3 reading or writing failed.";

#[derive(Debug, Args)]
pub struct QuicArguments {
    #[command(subcommand)]
    pub command: QuicCommand,
}

#[derive(Debug, Subcommand)]
pub enum QuicCommand {
    /// Open the QUIC packets of a capture, with a key log
    #[command(after_help = EXAMPLES)]
    Decrypt(QuicDecryptArguments),
}

#[derive(Debug, Args)]
pub struct QuicDecryptArguments {
    /// The capture: pcap or pcapng; '-' is stdin
    #[arg(long, value_name = "FILE")]
    pub pcap: PathBuf,

    /// The key log (SSLKEYLOGFILE) of either side; a pcapng may bring its own
    #[arg(long, value_name = "FILE")]
    pub keylog: Option<PathBuf>,

    /// Also write json=PATH or pcapng=PATH, the latter with the secrets in it; '-' is stdout
    #[arg(long, value_name = "FORMAT=PATH", value_parser = QuicExport::parse)]
    pub export: Vec<QuicExport>,
}

/// What a trace is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuicExport {
    Json(PathBuf),
    Pcapng(PathBuf),
}

impl QuicExport {
    /// Reads `json=-` or `pcapng=open.pcapng`.
    ///
    /// # Errors
    /// What is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((_, "")) | None => Err("no path; write json=PATH or pcapng=PATH".to_owned()),
            Some(("json", path)) => Ok(Self::Json(path.into())),
            Some(("pcapng", path)) => Ok(Self::Pcapng(path.into())),
            Some((name, _)) => Err(format!("unknown format '{name}'; known: json, pcapng")),
        }
    }

    pub fn json(&self) -> Option<&Path> {
        match self {
            Self::Json(path) => Some(path),
            Self::Pcapng(_) => None,
        }
    }

    pub fn pcapng(&self) -> Option<&Path> {
        match self {
            Self::Pcapng(path) => Some(path),
            Self::Json(_) => None,
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Json(path) | Self::Pcapng(path) => path,
        }
    }
}
