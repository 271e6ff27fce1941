//! UDP (RFC 768; over IPv6 RFC 8200, section 8.1).

use crate::bytes::u16_at;
use crate::checksum::{Pseudo, Sum};
use crate::error::{EmitError, Layer, ParseError, length_field, require};
use crate::protocol;

pub const HEADER_BYTES: usize = 8;

/// A view of a datagram; bytes behind its stated length are not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of an IP packet.
    ///
    /// # Errors
    /// [`ParseError`] if the header, or what its length says, is not there, or
    /// the length is below 8.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Udp, HEADER_BYTES, bytes.len())?;
        let length = u16_at(bytes, 4);
        if usize::from(length) < HEADER_BYTES {
            return Err(ParseError::field(Layer::Udp, "length", length, "8 or more"));
        }
        require(Layer::Udp, length.into(), bytes.len())?;
        let bytes = &bytes[..length.into()];
        Ok(Self { bytes })
    }

    pub fn source_port(&self) -> u16 {
        u16_at(self.bytes, 0)
    }

    pub fn destination_port(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// As sent; 0: none.
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 6)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Whether the checksum is valid, or is missing where it may be: over IPv4.
    pub fn is_checksum_right(&self, pseudo: &Pseudo) -> bool {
        if self.checksum() == 0 {
            return matches!(pseudo, Pseudo::V4(..));
        }
        Sum::new()
            .over_pseudo(pseudo, protocol::UDP, self.bytes.len())
            .over(self.bytes)
            .finish()
            == 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub source_port: u16,
    pub destination_port: u16,
}

impl Repr {
    /// From a view.
    ///
    /// # Errors
    /// [`ParseError::Checksum`].
    pub fn parse(packet: &Packet<'_>, pseudo: &Pseudo) -> Result<Self, ParseError> {
        if !packet.is_checksum_right(pseudo) {
            return Err(ParseError::Checksum { layer: Layer::Udp });
        }
        Ok(Self {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
        })
    }

    /// A datagram with this payload.
    ///
    /// # Errors
    /// [`EmitError::Long`] above 65,527 bytes.
    pub fn to_bytes(&self, pseudo: &Pseudo, payload: &[u8]) -> Result<Vec<u8>, EmitError> {
        let length = length_field(Layer::Udp, HEADER_BYTES + payload.len())?;
        let mut bytes = Vec::with_capacity(length.into());
        bytes.extend(self.source_port.to_be_bytes());
        bytes.extend(self.destination_port.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        let checksum = checksum(
            Sum::new()
                .over_pseudo(pseudo, protocol::UDP, bytes.len())
                .over(&bytes),
        );
        bytes[6..8].copy_from_slice(&checksum.to_be_bytes());
        Ok(bytes)
    }
}

/// A computed 0 is sent as its complement, because 0 says that there is none.
pub(crate) fn checksum(sum: Sum) -> u16 {
    match sum.finish() {
        0 => 0xffff,
        checksum => checksum,
    }
}
