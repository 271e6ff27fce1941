//! `lockgate quic`, as data.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

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

const PERF_EXAMPLES: &str = "\
Examples:
  lockgate quic perf server --listen 0.0.0.0:4433
  lockgate quic perf client 192.0.2.7:4433 --insecure --download 1G
  lockgate quic perf client 192.0.2.7:4433 --insecure --protection stock

Both ends speak draft-banks-quic-performance, as quinn's, msquic's and s2n-quic's
programs do: each end may be another stack. CPU time is this end's alone.

Exit codes: 0 all was transferred; 2 wrong usage, or a file that is no certificate;
3 no connection, or one that was lost.";

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
    /// Measure transfers between two hosts, or against another stack
    #[command(subcommand, after_help = PERF_EXAMPLES)]
    Perf(QuicPerf),
}

#[derive(Debug, Subcommand)]
pub enum QuicPerf {
    /// Send as many bytes as clients ask for, until Ctrl-C
    Server(QuicServerArguments),
    /// Ask a server for bytes, and say what they cost
    Client(QuicClientArguments),
}

/// How packets are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protection {
    /// As quinn does it, with ring
    Stock,
    /// The same, but more datagrams are sent by one call
    Coalesced,
    /// By our kernels, one packet after the other
    Inline,
    /// By our kernels, many packets together
    Offloaded,
    /// The same, sealed and sent by a thread of its own
    Worker,
}

#[derive(Debug, Args)]
pub struct QuicEndArguments {
    /// How packets are protected
    #[arg(long, value_enum, default_value_t = Protection::Offloaded)]
    pub protection: Protection,

    /// Bytes of a UDP payload, 1200 to 65000, where the path is known to carry them;
    /// otherwise the path is probed, up to 1452
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1200..=65_000))]
    pub payload_bytes: Option<u16>,
}

#[derive(Debug, Args)]
pub struct QuicServerArguments {
    /// Address and port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:4433")]
    pub listen: SocketAddr,

    /// Certificate chain in PEM; without it one is made, for this run alone
    #[arg(long, value_name = "FILE", requires = "key")]
    pub certificate: Option<PathBuf>,

    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,

    /// Validate the address of each client by a Retry packet
    #[arg(long)]
    pub retry: bool,

    #[command(flatten)]
    pub end: QuicEndArguments,
}

#[derive(Debug, Args)]
pub struct QuicClientArguments {
    /// The server's address and port
    #[arg(value_name = "ADDRESS:PORT")]
    pub server: SocketAddr,

    /// Name that its certificate is for
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub name: String,

    /// Certificates to trust, in PEM
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub trust: Option<PathBuf>,

    /// Trust whoever answers: for measuring only
    #[arg(long)]
    pub insecure: bool,

    /// Bytes that the server sends: 500k, 10M, 1G (powers of 1000)
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = decimal_bytes)]
    pub download: u64,

    /// Bytes that the client sends before
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = decimal_bytes)]
    pub upload: u64,

    /// Transfers, one after the other, each by a connection of its own
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub transfers: u32,

    /// Update the keys every 20 ms
    #[arg(long)]
    pub update_keys: bool,

    /// Move to another port every 100 ms
    #[arg(long = "move")]
    pub moves: bool,

    #[command(flatten)]
    pub end: QuicEndArguments,
}

/// `500k`, `10M`, `1G`.
fn decimal_bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let bytes = digits
        .parse()
        .ok()
        .and_then(|count: u64| count.checked_mul(factor));
    bytes.filter(|bytes| *bytes <= BYTES_MAX).ok_or_else(|| {
        format!("'{text}' is not a number of bytes up to 1000G; write 500k, 10M, 1G")
    })
}

const BYTES_MAX: u64 = 1_000_000_000_000;

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
