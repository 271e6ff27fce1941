use std::net::Ipv4Addr;

use super::{HEADER_BYTES, OptionsIter};
use crate::bytes::{ipv4_at, u16_at};
use crate::checksum;
use crate::error::{Layer, ParseError, require};

/// A view of a packet; bytes behind its total length (padding of the link) are not
/// part of it. Its checksum may be invalid: see [`Self::is_checksum_right`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of a frame of type 0x0800. The checks are those of RFC
    /// 1812, section 5.2.2, except for the checksum.
    ///
    /// # Errors
    /// [`ParseError`] if the bytes are fewer than a length says, the version
    /// is not 4, the header is shorter than 20 bytes or longer than the packet.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let header_bytes = header_bytes(bytes)?;
        let total = u16_at(bytes, 2);
        if usize::from(total) < header_bytes {
            return Err(ParseError::field(
                Layer::Ipv4,
                "total length",
                total,
                "the header's length or more",
            ));
        }
        require(Layer::Ipv4, total.into(), bytes.len())?;
        let bytes = &bytes[..total.into()];
        Ok(Self { bytes })
    }

    /// A view of the header and the first bytes behind it, as an ICMP error quotes a
    /// packet: its total length may be larger.
    ///
    /// # Errors
    /// [`ParseError`] if the header is not whole, or is none.
    pub fn of_quote(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let header_bytes = header_bytes(bytes)?;
        let total = usize::from(u16_at(bytes, 2)).max(header_bytes);
        let bytes = &bytes[..total.min(bytes.len())];
        Ok(Self { bytes })
    }

    /// Bytes of the header with its options, 20 to 60.
    pub fn header_bytes(&self) -> usize {
        usize::from(self.bytes[0] & 0x0f) * 4
    }

    pub fn total_bytes(&self) -> u16 {
        u16_at(self.bytes, 2)
    }

    /// Differentiated services and congestion bits (RFC 2474, RFC 3168).
    pub fn traffic_class(&self) -> u8 {
        self.bytes[1]
    }

    pub fn identification(&self) -> u16 {
        u16_at(self.bytes, 4)
    }

    pub fn dont_fragment(&self) -> bool {
        self.bytes[6] & 0x40 != 0
    }

    pub fn more_fragments(&self) -> bool {
        self.bytes[6] & 0x20 != 0
    }

    /// A flag without a meaning, which routers leave unchanged.
    pub fn reserved_flag(&self) -> bool {
        self.bytes[6] & 0x80 != 0
    }

    /// The offset of its payload in the datagram's, bytes.
    pub fn fragment_offset_bytes(&self) -> u32 {
        u32::from(u16_at(self.bytes, 6) & 0x1fff) * 8
    }

    pub fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset_bytes() > 0
    }

    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }

    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, 10)
    }

    pub fn is_checksum_right(&self) -> bool {
        checksum::of(&self.bytes[..self.header_bytes()]) == 0
    }

    pub fn source(&self) -> Ipv4Addr {
        ipv4_at(self.bytes, 12)
    }

    pub fn destination(&self) -> Ipv4Addr {
        ipv4_at(self.bytes, 16)
    }

    /// The options' bytes, 0 to 40.
    pub fn option_bytes(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..self.header_bytes()]
    }

    pub fn options(&self) -> OptionsIter<'a> {
        OptionsIter::new(self.option_bytes())
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_bytes()..]
    }
}

fn header_bytes(bytes: &[u8]) -> Result<usize, ParseError> {
    require(Layer::Ipv4, HEADER_BYTES, bytes.len())?;
    let field = |field, found: u8, wanted| ParseError::field(Layer::Ipv4, field, found, wanted);
    if bytes[0] >> 4 != 4 {
        return Err(field("version", bytes[0] >> 4, "4"));
    }
    let words = bytes[0] & 0x0f;
    if words < 5 {
        return Err(field("header length in words", words, "5 or more"));
    }
    let header_bytes = usize::from(words) * 4;
    require(Layer::Ipv4, header_bytes, bytes.len())?;
    Ok(header_bytes)
}

/// Decrements the time to live and updates the checksum (RFC 1812, section 5.3.1; RFC
/// 1624), as Linux does: the same bytes for every header with a valid checksum.
/// Returns what is left. The checksum is not verified.
///
/// # Errors
/// [`ParseError`], and nothing written, if the header is not whole or the time
/// to live is 0 already.
pub fn decrement_ttl(packet: &mut [u8]) -> Result<u8, ParseError> {
    header_bytes(packet)?;
    let Some(ttl) = packet[8].checked_sub(1) else {
        return Err(ParseError::field(
            Layer::Ipv4,
            "time to live",
            0_u32,
            "1 or more",
        ));
    };
    packet[8] = ttl;
    // The word lost 0x0100, so the complement gains it, with the carry put
    // back; 0xffff becomes 0, which RFC 1624 prefers.
    let sum = u32::from(u16_at(packet, 10)) + 0x0100;
    let sum = if sum >= 0xffff { sum + 1 } else { sum };
    packet[10..12].copy_from_slice(&sum.to_be_bytes()[2..]);
    Ok(ttl)
}
