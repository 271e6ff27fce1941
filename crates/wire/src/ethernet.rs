//! Ethernet II frames as memory holds them: without preamble and frame check
//! sequence (IEEE 802.3, clause 3).

use crate::bytes::{array_at, u16_at};
use crate::error::{Layer, ParseError, require};
use crate::vlan;

pub const HEADER_BYTES: usize = 14;

pub const BROADCAST: [u8; 6] = [0xff; 6];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// RFC 894.
    pub const IPV4: Self = Self(0x0800);
    /// RFC 826.
    pub const ARP: Self = Self(0x0806);
    /// A customer's tag (IEEE 802.1Q).
    pub const VLAN: Self = Self(0x8100);
    /// RFC 2464.
    pub const IPV6: Self = Self(0x86dd);
    /// A provider's tag (IEEE 802.1ad).
    pub const PROVIDER_VLAN: Self = Self(0x88a8);

    pub fn is_tag(self) -> bool {
        self == Self::VLAN || self == Self::PROVIDER_VLAN
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of bytes without a frame check sequence.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 14 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Ethernet, HEADER_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    pub fn destination(&self) -> [u8; 6] {
        array_at(self.bytes, 0)
    }

    pub fn source(&self) -> [u8; 6] {
        array_at(self.bytes, 6)
    }

    pub fn ether_type(&self) -> EtherType {
        EtherType(u16_at(self.bytes, 12))
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    pub fn tags(&self) -> vlan::Tags<'a> {
        vlan::Tags::new(self.ether_type(), self.payload())
    }

    /// The protocol below all tags, and its bytes.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] within a tag.
    pub fn network(&self) -> Result<(EtherType, &'a [u8]), ParseError> {
        let mut inner = (self.ether_type(), self.payload());
        for tag in self.tags() {
            let tag = tag?;
            inner = (tag.ether_type(), tag.payload());
        }
        Ok(inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub destination: [u8; 6],
    pub source: [u8; 6],
    pub ether_type: EtherType,
}

impl Repr {
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            destination: packet.destination(),
            source: packet.source(),
            ether_type: packet.ether_type(),
        }
    }

    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..6].copy_from_slice(&self.destination);
        header[6..12].copy_from_slice(&self.source);
        header[12..].copy_from_slice(&self.ether_type.0.to_be_bytes());
        header
    }

    pub fn to_bytes(&self, payload: &[u8]) -> Vec<u8> {
        [&self.header(), payload].concat()
    }
}

/// Writes both addresses into a frame, as a router does.
///
/// # Errors
/// [`ParseError::Truncated`] below 14 bytes; then nothing was written.
pub fn readdress(
    frame: &mut [u8],
    source: [u8; 6],
    destination: [u8; 6],
) -> Result<(), ParseError> {
    require(Layer::Ethernet, HEADER_BYTES, frame.len())?;
    frame[..6].copy_from_slice(&destination);
    frame[6..12].copy_from_slice(&source);
    Ok(())
}
