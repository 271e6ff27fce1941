//! What a packet is, and why one is not open.

use schemars::JsonSchema;
use serde::Serialize;

/// Kinds of packets, as far as their headers tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    OneRtt,
    Retry,
    VersionNegotiation,
    StatelessReset,
    /// Of a version that is not known: what follows its ids means nothing here.
    UnknownVersion,
    /// Neither a QUIC packet nor a part of one.
    NotQuic,
}

impl Kind {
    pub const ALL: [Self; 9] = [
        Self::Initial,
        Self::ZeroRtt,
        Self::Handshake,
        Self::OneRtt,
        Self::Retry,
        Self::VersionNegotiation,
        Self::StatelessReset,
        Self::UnknownVersion,
        Self::NotQuic,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::ZeroRtt => "zero-rtt",
            Self::Handshake => "handshake",
            Self::OneRtt => "one-rtt",
            Self::Retry => "retry",
            Self::VersionNegotiation => "version-negotiation",
            Self::StatelessReset => "stateless-reset",
            Self::UnknownVersion => "unknown-version",
            Self::NotQuic => "not-quic",
        }
    }

    /// Whether there is anything to open.
    pub fn is_protected(self) -> bool {
        matches!(
            self,
            Self::Initial | Self::ZeroRtt | Self::Handshake | Self::OneRtt
        )
    }
}

/// Why a packet is not open.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    thiserror::Error,
)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    #[error(
        "no connection in this capture has its id: the capture begins later, or lacks its first packets"
    )]
    UnknownConnection,
    #[error("the capture has no ClientHello of its connection, by which secrets are found")]
    NoClientHello,
    #[error("the key log has no secret for it: log all of that connection's")]
    NoSecret,
    #[error(
        "the cipher suite is not supported: AES-128-GCM, AES-256-GCM and ChaCha20-Poly1305 are"
    )]
    Suite,
    #[error("the tag does not match: changed, cut, not of this connection, or of another secret")]
    Authentication,
    #[error("too short for a packet that is protected")]
    Short,
    #[error("reserved bits are set, which its sender may not do")]
    ReservedBits,
    #[error("its header breaks the rules")]
    Header,
    #[error("bytes behind the last packet of a datagram")]
    Trailing,
    #[error("its version is neither 1 nor 2")]
    Version,
    #[error("the tag of a Retry packet does not match")]
    RetryTag,
    #[error("too many connections at once")]
    Connections,
    #[error("the cipher failed")]
    Backend,
}
