//! Address resolution for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use crate::bytes::{array_at, ipv4_at, u16_at};
use crate::error::{Layer, ParseError, require};

pub const PACKET_BYTES: usize = 28;

/// Hardware type Ethernet, protocol IPv4, address lengths 6 and 4.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation(pub u16);

impl Operation {
    pub const REQUEST: Self = Self(1);
    pub const REPLY: Self = Self(2);
}

/// A view of a packet, including padding that may follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of a frame of type 0x0806.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 28 bytes, [`ParseError::Field`] if it is
    /// for something else than IPv4 over Ethernet.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Arp, PACKET_BYTES, bytes.len())?;
        let field =
            |field, found: u16, wanted| Err(ParseError::field(Layer::Arp, field, found, wanted));
        match (u16_at(bytes, 0), u16_at(bytes, 2), u16_at(bytes, 4)) {
            (1, 0x0800, 0x0604) => Ok(Self { bytes }),
            (1, 0x0800, lengths) => field("address lengths", lengths, "6 and 4 (1540)"),
            (1, protocol, _) => field("protocol", protocol, "IPv4 (2048)"),
            (hardware, ..) => field("hardware", hardware, "Ethernet (1)"),
        }
    }

    pub fn operation(&self) -> Operation {
        Operation(u16_at(self.bytes, 6))
    }

    pub fn sender_ethernet(&self) -> [u8; 6] {
        array_at(self.bytes, 8)
    }

    pub fn sender(&self) -> Ipv4Addr {
        ipv4_at(self.bytes, 14)
    }

    pub fn target_ethernet(&self) -> [u8; 6] {
        array_at(self.bytes, 18)
    }

    pub fn target(&self) -> Ipv4Addr {
        ipv4_at(self.bytes, 24)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    pub operation: Operation,
    pub sender_ethernet: [u8; 6],
    pub sender: Ipv4Addr,
    pub target_ethernet: [u8; 6],
    pub target: Ipv4Addr,
}

impl Repr {
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            operation: packet.operation(),
            sender_ethernet: packet.sender_ethernet(),
            sender: packet.sender(),
            target_ethernet: packet.target_ethernet(),
            target: packet.target(),
        }
    }

    pub fn to_bytes(&self) -> [u8; PACKET_BYTES] {
        let mut bytes = [0; PACKET_BYTES];
        bytes[..6].copy_from_slice(&KIND);
        bytes[6..8].copy_from_slice(&self.operation.0.to_be_bytes());
        bytes[8..14].copy_from_slice(&self.sender_ethernet);
        bytes[14..18].copy_from_slice(&self.sender.octets());
        bytes[18..24].copy_from_slice(&self.target_ethernet);
        bytes[24..].copy_from_slice(&self.target.octets());
        bytes
    }
}
