//! ICMP (RFC 792), ICMPv6 (RFC 4443) and neighbour discovery (RFC 4861): one
//! header, under two lists of types.

use std::net::Ipv6Addr;

use crate::bytes::array_at;
use crate::checksum::{Pseudo, Sum};
use crate::error::{Layer, ParseError, require};
use crate::protocol;

/// Bytes of the header: type, code, checksum and four that the type explains.
pub const HEADER_BYTES: usize = 8;

/// Types of ICMP (RFC 792).
pub mod v4 {
    pub const ECHO_REPLY: u8 = 0;
    pub const DESTINATION_UNREACHABLE: u8 = 3;
    pub const REDIRECT: u8 = 5;
    pub const ECHO_REQUEST: u8 = 8;
    pub const TIME_EXCEEDED: u8 = 11;
    pub const PARAMETER_PROBLEM: u8 = 12;
    pub const TIMESTAMP_REPLY: u8 = 14;

    /// Errors: each quotes the packet that it is about.
    pub const QUOTING: [u8; 4] = [
        DESTINATION_UNREACHABLE,
        REDIRECT,
        TIME_EXCEEDED,
        PARAMETER_PROBLEM,
    ];
}

/// Types of ICMPv6 (RFC 4443, RFC 4861).
pub mod v6 {
    pub const PACKET_TOO_BIG: u8 = 2;
    pub const TIME_EXCEEDED: u8 = 3;
    pub const ECHO_REQUEST: u8 = 128;
    pub const ROUTER_SOLICITATION: u8 = 133;
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    /// I listen to these groups (RFC 3810).
    pub const MULTICAST_REPORT_V2: u8 = 143;
}

/// The packet that carries a message: in IPv6 the checksum covers its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    V4,
    /// Source, destination.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Over {
    fn sum(self, message: &[u8]) -> u16 {
        let sum = match self {
            Self::V4 => Sum::new(),
            Self::V6(source, destination) => Sum::new().over_pseudo(
                &Pseudo::V6(source, destination),
                protocol::ICMPV6,
                message.len(),
            ),
        };
        sum.over(message).finish()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of an IPv4 packet of protocol 1 or an IPv6 packet of
    /// protocol 58.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Icmp, HEADER_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    pub fn is_checksum_right(&self, over: Over) -> bool {
        over.sum(self.bytes) == 0
    }

    pub fn rest(&self) -> [u8; 4] {
        array_at(self.bytes, 4)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    pub kind: u8,
    pub code: u8,
    /// What the type explains: see [`echo`], or an MTU, a pointer, flags.
    pub rest: [u8; 4],
    pub data: &'a [u8],
}

impl<'a> Repr<'a> {
    /// With code 0.
    pub fn new(kind: u8, rest: [u8; 4], data: &'a [u8]) -> Self {
        let code = 0;
        Self {
            kind,
            code,
            rest,
            data,
        }
    }

    /// From a view.
    ///
    /// # Errors
    /// [`ParseError::Checksum`].
    pub fn parse(packet: &Packet<'a>, over: Over) -> Result<Self, ParseError> {
        if !packet.is_checksum_right(over) {
            return Err(ParseError::Checksum { layer: Layer::Icmp });
        }
        Ok(Self {
            kind: packet.kind(),
            code: packet.code(),
            rest: packet.rest(),
            data: packet.payload(),
        })
    }

    pub fn to_bytes(&self, over: Over) -> Vec<u8> {
        let mut bytes = [&[self.kind, self.code, 0, 0], &self.rest[..], self.data].concat();
        let checksum = over.sum(&bytes);
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }
}

/// The four bytes of an echo's request and reply.
pub fn echo(identifier: u16, sequence: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (identifier.to_be_bytes(), sequence.to_be_bytes());
    [a, b, c, d]
}
