//! Views of packets as they travel: packet numbers and payloads are still protected.

use super::varint::{Missing, Reader};
use super::{ConnectionId, FirstByte, LongType, PacketKind, TAG_BYTES, Version};
use crate::bytes::array_at;
use crate::error::{Layer, ParseError};

/// What header protection takes a sample of (RFC 9001, section 5.4.2).
pub const SAMPLE_BYTES: usize = 16;

/// The sample begins where a packet number of four bytes would end.
const SAMPLE_AT: usize = 4;

/// The first packet of a datagram, or of what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    Long(Long<'a>),
    Retry(Retry<'a>),
    VersionNegotiation(VersionNegotiation<'a>),
    /// A long header of a version that is neither 1 nor 2.
    Unknown(Unknown<'a>),
    Short(Short<'a>),
}

/// An Initial, 0-RTT or Handshake packet (RFC 9000, sections 17.2.2 to 17.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long<'a> {
    pub first_byte: FirstByte,
    /// 1 or 2.
    pub version: Version,
    /// Any but Retry.
    pub kind: LongType,
    pub destination: ConnectionId,
    pub source: ConnectionId,
    /// Of an Initial; of others empty.
    pub token: &'a [u8],
    /// Where in `bytes` the protected packet number begins, and what the length
    /// field counts.
    pub packet_number_at: usize,
    /// Header, packet number and payload; of the datagram no more.
    pub bytes: &'a [u8],
}

/// A Retry (RFC 9000, section 17.2.5); it takes the rest of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry<'a> {
    pub first_byte: FirstByte,
    /// 1 or 2.
    pub version: Version,
    pub destination: ConnectionId,
    pub source: ConnectionId,
    /// A client must discard a Retry with an empty one.
    pub token: &'a [u8],
    pub bytes: &'a [u8],
}

/// Version Negotiation (RFC 8999, section 6); it takes the rest of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionNegotiation<'a> {
    /// Up to 255 bytes, as of the version that was refused.
    pub destination: &'a [u8],
    pub source: &'a [u8],
    list: &'a [u8],
    pub bytes: &'a [u8],
}

/// What long headers of all versions have in common (RFC 8999, section 5.1). Where the
/// packet ends is not known: it takes the rest of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown<'a> {
    pub first_byte: FirstByte,
    pub version: Version,
    /// Up to 255 bytes.
    pub destination: &'a [u8],
    pub source: &'a [u8],
    pub bytes: &'a [u8],
}

/// A 1-RTT packet (RFC 9000, section 17.3.1); it takes the rest of the datagram. A
/// stateless reset looks the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short<'a> {
    pub first_byte: FirstByte,
    pub destination: ConnectionId,
    /// Where in `bytes` the protected packet number begins.
    pub packet_number_at: usize,
    pub bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the packet at the beginning of these bytes. A short header does not
    /// say how long its connection ID is: `local_id_bytes` does, from what follows
    /// the first byte.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] if a field, or what the length says, is not there;
    /// [`ParseError::Field`] if a connection ID of version 1 or 2 has more than 20
    /// bytes, or Version Negotiation has no list of whole versions.
    pub fn new(
        bytes: &'a [u8],
        local_id_bytes: impl FnOnce(&'a [u8]) -> usize,
    ) -> Result<Self, ParseError> {
        let mut reader = Reader::new(bytes);
        let first_byte = FirstByte(reader.byte().map_err(missing)?);
        if !first_byte.is_long() {
            let id_bytes = local_id_bytes(reader.rest());
            return Short::read(bytes, reader, id_bytes).map(Self::Short);
        }
        let common = Unknown::read(bytes, &mut reader).map_err(missing)?;
        if common.version.number() == 0 {
            return VersionNegotiation::of(common, reader.rest()).map(Self::VersionNegotiation);
        }
        match LongType::from_bits(common.version, first_byte.long_type_bits()) {
            None => Ok(Self::Unknown(common)),
            Some(LongType::Retry) => Retry::read(common, reader).map(Self::Retry),
            Some(kind) => Long::read(common, kind, reader).map(Self::Long),
        }
    }

    /// The whole packet; the next one of the datagram is behind it.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Long(packet) => packet.bytes,
            Self::Retry(packet) => packet.bytes,
            Self::VersionNegotiation(packet) => packet.bytes,
            Self::Unknown(packet) => packet.bytes,
            Self::Short(packet) => packet.bytes,
        }
    }

    /// Which frames it may carry; `None` if it carries none, or nobody knows.
    pub fn kind(&self) -> Option<PacketKind> {
        match self {
            Self::Long(packet) => PacketKind::of_long(packet.kind),
            Self::Short(_) => Some(PacketKind::OneRtt),
            _ => None,
        }
    }

    /// The destination's connection ID: of all packets of a datagram it should be the
    /// same (RFC 9000, section 12.2).
    pub fn destination(&self) -> &[u8] {
        match self {
            Self::Long(packet) => packet.destination.bytes(),
            Self::Retry(packet) => packet.destination.bytes(),
            Self::VersionNegotiation(packet) => packet.destination,
            Self::Unknown(packet) => packet.destination,
            Self::Short(packet) => packet.destination.bytes(),
        }
    }
}

impl<'a> Unknown<'a> {
    /// With a reader behind the first byte.
    fn read(bytes: &'a [u8], reader: &mut Reader<'a>) -> Result<Self, Missing> {
        let version = u32::from_be_bytes(reader.array()?);
        let destination_bytes = reader.byte()?.into();
        let destination = reader.bytes(destination_bytes)?;
        let source_bytes = reader.byte()?.into();
        Ok(Self {
            first_byte: FirstByte(bytes[0]),
            version: version.into(),
            destination,
            source: reader.bytes(source_bytes)?,
            bytes,
        })
    }
}

impl<'a> Long<'a> {
    fn read(
        common: Unknown<'a>,
        kind: LongType,
        mut reader: Reader<'a>,
    ) -> Result<Self, ParseError> {
        let token = match kind {
            LongType::Initial => reader.counted().map_err(missing)?,
            _ => &[],
        };
        let length = reader.varint().map_err(missing)?;
        let packet_number_at = reader.at();
        reader.bytes(length).map_err(missing)?;
        Ok(Self {
            first_byte: common.first_byte,
            version: common.version,
            kind,
            destination: ConnectionId::new(common.destination)?,
            source: ConnectionId::new(common.source)?,
            token,
            packet_number_at,
            bytes: &common.bytes[..reader.at()],
        })
    }

    /// What header protection takes a sample of (RFC 9001, section 5.4.2); `None` if
    /// the packet is too short for that, and so to be discarded.
    pub fn sample(&self) -> Option<&'a [u8; SAMPLE_BYTES]> {
        sample(self.bytes, self.packet_number_at)
    }
}

impl<'a> Retry<'a> {
    fn read(common: Unknown<'a>, reader: Reader<'a>) -> Result<Self, ParseError> {
        let rest = reader.rest();
        let Some(token_bytes) = rest.len().checked_sub(TAG_BYTES) else {
            return Err(ParseError::Truncated {
                layer: Layer::Quic,
                needed_bytes: reader.at() + TAG_BYTES,
                found_bytes: common.bytes.len(),
            });
        };
        Ok(Self {
            first_byte: common.first_byte,
            version: common.version,
            destination: ConnectionId::new(common.destination)?,
            source: ConnectionId::new(common.source)?,
            token: &rest[..token_bytes],
            bytes: common.bytes,
        })
    }

    /// What the tag is about, besides the connection ID that the client chose first
    /// (RFC 9001, section 5.8), and the tag.
    pub fn untagged_and_tag(&self) -> (&'a [u8], [u8; TAG_BYTES]) {
        let (untagged, tag) = self.bytes.split_at(self.bytes.len() - TAG_BYTES);
        (untagged, array_at(tag, 0))
    }
}

impl<'a> VersionNegotiation<'a> {
    fn of(common: Unknown<'a>, list: &'a [u8]) -> Result<Self, ParseError> {
        if list.is_empty() || !list.len().is_multiple_of(4) {
            return Err(ParseError::field(
                Layer::Quic,
                "length of the versions",
                u32::try_from(list.len()).unwrap_or(u32::MAX),
                "a multiple of 4 bytes, above 0",
            ));
        }
        Ok(Self {
            destination: common.destination,
            source: common.source,
            list,
            bytes: common.bytes,
        })
    }

    /// What the server supports, one at least.
    pub fn versions(&self) -> impl Iterator<Item = Version> + use<'a> {
        versions(self.list)
    }
}

impl<'a> Short<'a> {
    /// With a reader behind the first byte.
    fn read(bytes: &'a [u8], mut reader: Reader<'a>, id_bytes: usize) -> Result<Self, ParseError> {
        let id = reader.bytes(id_bytes as u64).map_err(missing)?;
        Ok(Self {
            first_byte: FirstByte(bytes[0]),
            destination: ConnectionId::new(id)?,
            packet_number_at: reader.at(),
            bytes,
        })
    }

    /// As [`Long::sample`].
    pub fn sample(&self) -> Option<&'a [u8; SAMPLE_BYTES]> {
        sample(self.bytes, self.packet_number_at)
    }
}

/// Versions one behind the other.
pub(super) fn versions<'a>(list: &'a [u8]) -> impl Iterator<Item = Version> + use<'a> {
    list.chunks_exact(4)
        .map(|word| u32::from_be_bytes(array_at(word, 0)).into())
}

fn sample(bytes: &[u8], packet_number_at: usize) -> Option<&[u8; SAMPLE_BYTES]> {
    bytes
        .get(packet_number_at.saturating_add(SAMPLE_AT)..)?
        .first_chunk()
}

fn missing(missing: Missing) -> ParseError {
    missing.of(Layer::Quic)
}
