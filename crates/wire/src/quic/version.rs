//! Versions, and what differs between them in a header.

use std::fmt;

/// A version of QUIC (RFC 9000, section 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// RFC 9000.
    V1,
    /// RFC 9369.
    V2,
    /// Any other number; make it by `from`, so that equal versions are equal.
    Other(u32),
}

impl Version {
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 0x6b33_43cf,
            Self::Other(number) => number,
        }
    }

    /// Whether it is one of the numbers 0x?a?a?a?a, which nobody may support: they
    /// are sent so that peers do not forget to negotiate (RFC 9000, section 15).
    pub const fn is_reserved(self) -> bool {
        self.number() & 0x0f0f_0f0f == 0x0a0a_0a0a
    }
}

impl From<u32> for Version {
    fn from(number: u32) -> Self {
        [Self::V1, Self::V2]
            .into_iter()
            .find(|version| version.number() == number)
            .unwrap_or(Self::Other(number))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1 => formatter.write_str("v1"),
            Self::V2 => formatter.write_str("v2"),
            Self::Other(number) => write!(formatter, "{number:#010x}"),
        }
    }
}

/// Packets with a long header (RFC 9000, section 17.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LongType {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

impl LongType {
    /// In the order of version 1; version 2 begins with the last.
    pub const ALL: [Self; 4] = [Self::Initial, Self::ZeroRtt, Self::Handshake, Self::Retry];

    /// By the two type bits, bits 5 and 4 of the first byte (RFC 9000, section 17.2;
    /// RFC 9369, section 3.2); `None` if the version is not known.
    pub fn from_bits(version: Version, bits: u8) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.bits(version) == Some(bits))
    }

    /// The two type bits, from 0 to 3; `None` if the version is not known.
    pub fn bits(self, version: Version) -> Option<u8> {
        match version {
            Version::V1 => Some(self as u8),
            Version::V2 => Some((self as u8 + 1) % 4),
            Version::Other(_) => None,
        }
    }
}

/// Packets that carry frames (RFC 9000, section 12.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    Initial,
    ZeroRtt,
    Handshake,
    OneRtt,
}

impl PacketKind {
    pub const ALL: [Self; 4] = [Self::Initial, Self::ZeroRtt, Self::Handshake, Self::OneRtt];

    /// `None` for a Retry, which has no frames.
    pub fn of_long(kind: LongType) -> Option<Self> {
        match kind {
            LongType::Initial => Some(Self::Initial),
            LongType::ZeroRtt => Some(Self::ZeroRtt),
            LongType::Handshake => Some(Self::Handshake),
            LongType::Retry => None,
        }
    }
}
