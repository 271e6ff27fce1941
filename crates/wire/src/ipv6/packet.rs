use std::net::Ipv6Addr;

use super::HEADER_BYTES;
use super::extension::{Extensions, Fragment};
use crate::bytes::{ipv6_at, u16_at, u32_at};
use crate::error::{Layer, ParseError, require};

/// A view of a packet; bytes behind its stated length (padding of the link) are
/// not part of it. Jumbograms (RFC 2675) are not read: a length of 0 is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

/// The upper layer, behind all extension headers that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper<'a> {
    /// See [`crate::protocol`]; 59 in a later fragment, which has none.
    pub protocol: u8,
    pub payload: &'a [u8],
    pub fragment: Option<Fragment>,
}

impl<'a> Packet<'a> {
    /// A view of the payload of a frame of type 0x86dd.
    ///
    /// # Errors
    /// [`ParseError`] if the bytes are fewer than the length says, or the
    /// version is not 6.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        check_header(bytes)?;
        let total = HEADER_BYTES + usize::from(u16_at(bytes, 4));
        require(Layer::Ipv6, total, bytes.len())?;
        let bytes = &bytes[..total];
        Ok(Self { bytes })
    }

    /// A view of the first bytes, as an ICMPv6 error quotes a packet: its length may
    /// be larger.
    ///
    /// # Errors
    /// [`ParseError`] if the header is not whole, or is none.
    pub fn of_quote(bytes: &'a [u8]) -> Result<Self, ParseError> {
        check_header(bytes)?;
        let total = HEADER_BYTES + usize::from(u16_at(bytes, 4));
        let bytes = &bytes[..total.min(bytes.len())];
        Ok(Self { bytes })
    }

    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.bytes, 0) >> 4).to_be_bytes()[1]
    }

    /// Flow label (RFC 6437), 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes, 0) & 0x000f_ffff
    }

    /// As stated: everything behind the 40 bytes of the header.
    pub fn payload_bytes(&self) -> u16 {
        u16_at(self.bytes, 4)
    }

    pub fn next_header(&self) -> u8 {
        self.bytes[6]
    }

    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }

    pub fn source(&self) -> Ipv6Addr {
        ipv6_at(self.bytes, 8)
    }

    pub fn destination(&self) -> Ipv6Addr {
        ipv6_at(self.bytes, 24)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    pub fn extensions(&self) -> Extensions<'a> {
        Extensions::new(self.next_header(), self.payload())
    }

    /// The upper layer behind them.
    ///
    /// # Errors
    /// [`ParseError`] within an extension header.
    pub fn upper(&self) -> Result<Upper<'a>, ParseError> {
        let mut extensions = self.extensions();
        let mut fragment = None;
        for header in extensions.by_ref() {
            fragment = header?.fragment().or(fragment);
        }
        let (protocol, payload) = extensions.rest();
        Ok(Upper {
            protocol,
            payload,
            fragment,
        })
    }
}

fn check_header(bytes: &[u8]) -> Result<(), ParseError> {
    require(Layer::Ipv6, HEADER_BYTES, bytes.len())?;
    let version = bytes[0] >> 4;
    if version != 6 {
        return Err(ParseError::field(Layer::Ipv6, "version", version, "6"));
    }
    Ok(())
}

/// Decrements the hop limit, and returns what is left. IPv6 has no checksum to
/// update.
///
/// # Errors
/// [`ParseError`], and nothing written, if the header is not whole or the hop
/// limit is 0 already.
pub fn decrement_hop_limit(packet: &mut [u8]) -> Result<u8, ParseError> {
    check_header(packet)?;
    let Some(hop_limit) = packet[7].checked_sub(1) else {
        return Err(ParseError::field(
            Layer::Ipv6,
            "hop limit",
            0_u32,
            "1 or more",
        ));
    };
    packet[7] = hop_limit;
    Ok(hop_limit)
}
