//! Headers as values: what a sender writes before it protects a packet.

use super::packet_number::Truncated;
use super::varint::{TooLarge, Width, append, append_in, encoded};
use super::{ConnectionId, FirstByte, LongType, Version};
use crate::error::{EmitError, Layer};

/// The header of an Initial, 0-RTT or Handshake packet (RFC 9000, section 17.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongRepr<'a> {
    /// 1 or 2.
    pub version: Version,
    /// Any but Retry.
    pub kind: LongType,
    pub destination: ConnectionId,
    pub source: ConnectionId,
    /// Only of an Initial.
    pub token: &'a [u8],
    /// How many bytes of the header are kept for the length: two are enough for a
    /// datagram of up to 16,383 bytes.
    pub length_width: Width,
    pub packet_number: Truncated,
}

impl LongRepr<'_> {
    /// Appends the header through its packet number. Its length is 0 until
    /// [`Reserved::close`].
    ///
    /// # Errors
    /// [`EmitError::Field`] if the version is not known, the type is Retry, or the type
    /// has no token but one is given; then nothing was written.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> Result<Reserved, EmitError> {
        let type_bits = type_bits(self.kind, self.version)?;
        if self.kind == LongType::Retry {
            return Err(EmitError::field(Layer::Quic, "type", type_bits, "no Retry"));
        }
        let is_initial = self.kind == LongType::Initial;
        if !is_initial && !self.token.is_empty() {
            let found = u32::try_from(self.token.len()).unwrap_or(u32::MAX);
            let limit = "only an Initial has one";
            return Err(EmitError::field(Layer::Quic, "token", found, limit));
        }
        let first = FirstByte::long(type_bits, self.packet_number.bytes().len());
        append_common(first, self.version.number(), bytes);
        append_ids(self.destination.bytes(), self.source.bytes(), bytes)?;
        if is_initial {
            append(self.token.len() as u64, bytes).map_err(too_long)?;
            bytes.extend(self.token);
        }
        let length_at = bytes.len();
        append_in(self.length_width, 0, bytes).map_err(too_long)?;
        bytes.extend(self.packet_number.bytes());
        Ok(Reserved {
            length_at,
            length_width: self.length_width,
        })
    }
}

/// A long header whose length is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the header has no length yet"]
pub struct Reserved {
    length_at: usize,
    length_width: Width,
}

impl Reserved {
    /// Where in the buffer the packet number begins.
    pub fn packet_number_at(&self) -> usize {
        self.length_at + self.length_width.bytes()
    }

    /// Writes the length of the packet with which the buffer ends, and to which so many
    /// bytes are still to come: the AEAD's tag, which covers the header.
    ///
    /// # Errors
    /// [`EmitError::Long`] if the packet is longer than the width can say.
    ///
    /// # Panics
    /// If the buffer ends before the packet number begins: it is another buffer.
    pub fn close(self, bytes: &mut [u8], trailing_bytes: usize) -> Result<(), EmitError> {
        let at = self.packet_number_at();
        assert!(at <= bytes.len(), "the buffer that the header is in");
        let length = (bytes.len() - at).saturating_add(trailing_bytes);
        let word = encoded(self.length_width, length as u64).map_err(too_long)?;
        bytes[self.length_at..at].copy_from_slice(&word[8 - self.length_width.bytes()..]);
        Ok(())
    }
}

/// The header of a 1-RTT packet (RFC 9000, section 17.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortRepr {
    pub destination: ConnectionId,
    pub spin: bool,
    pub key_phase: bool,
    pub packet_number: Truncated,
}

impl ShortRepr {
    /// Appends the header through its packet number, and returns where that begins.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> usize {
        let number = self.packet_number.bytes();
        bytes.push(FirstByte::short(self.spin, self.key_phase, number.len()).0);
        bytes.extend(self.destination.bytes());
        bytes.extend(number);
        bytes.len() - number.len()
    }
}

/// A Retry without its tag (RFC 9000, section 17.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryRepr<'a> {
    /// 1 or 2.
    pub version: Version,
    /// Anything: four bits without a meaning.
    pub unused: u8,
    pub destination: ConnectionId,
    pub source: ConnectionId,
    pub token: &'a [u8],
}

impl RetryRepr<'_> {
    /// Appends all but the tag, which goes behind it (RFC 9001, section 5.8).
    ///
    /// # Errors
    /// [`EmitError::Field`] if the version is not known, or the token is empty (RFC
    /// 9000, section 17.2.5.2); then nothing was written.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> Result<(), EmitError> {
        let type_bits = type_bits(LongType::Retry, self.version)?;
        if self.token.is_empty() {
            let limit = "1 byte or more";
            return Err(EmitError::field(Layer::Quic, "token", 0_u32, limit));
        }
        let first = FirstByte::unprotected(type_bits << 4, self.unused, 0x0f);
        append_common(first, self.version.number(), bytes);
        append_ids(self.destination.bytes(), self.source.bytes(), bytes)?;
        bytes.extend(self.token);
        Ok(())
    }
}

/// Version Negotiation (RFC 9000, section 17.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionNegotiationRepr<'a> {
    /// Anything: six bits without a meaning.
    pub unused: u8,
    /// 255 bytes at most, and so of the source: the client's, in either order.
    pub destination: &'a [u8],
    pub source: &'a [u8],
    pub versions: &'a [Version],
}

impl VersionNegotiationRepr<'_> {
    /// Appends the whole packet.
    ///
    /// # Errors
    /// [`EmitError`] if there is no version, or a connection ID is longer than 255
    /// bytes; then nothing was written.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> Result<(), EmitError> {
        if self.versions.is_empty() {
            let limit = "one or more";
            return Err(EmitError::field(Layer::Quic, "versions", 0_u32, limit));
        }
        let start = bytes.len();
        append_common(FirstByte::unprotected(0, self.unused, 0x3f), 0, bytes);
        append_ids(self.destination, self.source, bytes).inspect_err(|_| bytes.truncate(start))?;
        for version in self.versions {
            bytes.extend(version.number().to_be_bytes());
        }
        Ok(())
    }
}

fn append_common(first: FirstByte, version: u32, bytes: &mut Vec<u8>) {
    bytes.push(first.0);
    bytes.extend(version.to_be_bytes());
}

fn append_ids(destination: &[u8], source: &[u8], bytes: &mut Vec<u8>) -> Result<(), EmitError> {
    for id in [destination, source] {
        bytes.push(u8::try_from(id.len()).map_err(|_| EmitError::Long {
            layer: Layer::Quic,
            found_bytes: id.len(),
            limit_bytes: 255,
        })?);
        bytes.extend(id);
    }
    Ok(())
}

fn type_bits(kind: LongType, version: Version) -> Result<u8, EmitError> {
    kind.bits(version)
        .ok_or_else(|| EmitError::field(Layer::Quic, "version", version.number(), "1 or 2"))
}

fn too_long(error: TooLarge) -> EmitError {
    let bytes = |value| usize::try_from(value).unwrap_or(usize::MAX);
    EmitError::Long {
        layer: Layer::Quic,
        found_bytes: bytes(error.found),
        limit_bytes: bytes(error.limit),
    }
}
