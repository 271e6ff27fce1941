//! ICMPv6 (RFC 4443) and neighbour discovery (RFC 4861).

use std::net::Ipv6Addr;

use crate::bytes::{array_at, ipv6_at, u16_at, u32_at};
use crate::checksum::{Pseudo, Sum};
use crate::error::{Layer, ParseError, require};
use crate::protocol;

/// Bytes of the header: type, code, checksum and four that the type explains.
pub const HEADER_BYTES: usize = 8;

pub mod kind {
    pub const DESTINATION_UNREACHABLE: u8 = 1;
    pub const PACKET_TOO_BIG: u8 = 2;
    pub const TIME_EXCEEDED: u8 = 3;
    pub const PARAMETER_PROBLEM: u8 = 4;
    pub const ECHO_REQUEST: u8 = 128;
    pub const ECHO_REPLY: u8 = 129;
    pub const ROUTER_SOLICITATION: u8 = 133;
    pub const NEIGHBOUR_SOLICITATION: u8 = 135;
    pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
    pub const REDIRECT: u8 = 137;
    /// I listen to these groups (RFC 3810).
    pub const MULTICAST_REPORT_V2: u8 = 143;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of an IPv6 packet of protocol 58.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Icmpv6, HEADER_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Whether it adds up, from `source` to `destination`.
    pub fn is_checksum_right(&self, source: Ipv6Addr, destination: Ipv6Addr) -> bool {
        sum(self.bytes, source, destination) == 0
    }

    pub fn rest(&self) -> [u8; 4] {
        array_at(self.bytes, 4)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }
}

fn sum(bytes: &[u8], source: Ipv6Addr, destination: Ipv6Addr) -> u16 {
    Sum::new()
        .over_pseudo(
            &Pseudo::V6(source, destination),
            protocol::ICMPV6,
            bytes.len(),
        )
        .over(bytes)
        .finish()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    EchoRequest {
        identifier: u16,
        sequence: u16,
        data: &'a [u8],
    },
    EchoReply {
        identifier: u16,
        sequence: u16,
        data: &'a [u8],
    },
    PacketTooBig {
        /// The most bytes of a packet that would have passed.
        mtu: u32,
        original: &'a [u8],
    },
    NeighbourSolicitation {
        target: Ipv6Addr,
        options: &'a [u8],
    },
    NeighbourAdvertisement {
        router: bool,
        solicited: bool,
        overrides: bool,
        target: Ipv6Addr,
        options: &'a [u8],
    },
    /// Another type: unreachable (1), time exceeded (3), parameter problem (4), or
    /// one with bits set that must be zero.
    Other {
        kind: u8,
        code: u8,
        rest: [u8; 4],
        data: &'a [u8],
    },
}

impl<'a> Repr<'a> {
    /// From a view.
    ///
    /// # Errors
    /// [`ParseError::Checksum`].
    pub fn parse(
        packet: &Packet<'a>,
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> Result<Self, ParseError> {
        if !packet.is_checksum_right(source, destination) {
            return Err(ParseError::Checksum {
                layer: Layer::Icmpv6,
            });
        }
        let (rest, data) = (packet.rest(), packet.payload());
        let (identifier, sequence) = (u16_at(&rest, 0), u16_at(&rest, 2));
        Ok(match (packet.kind(), packet.code(), rest) {
            (kind::ECHO_REQUEST, 0, _) => Self::EchoRequest {
                identifier,
                sequence,
                data,
            },
            (kind::ECHO_REPLY, 0, _) => Self::EchoReply {
                identifier,
                sequence,
                data,
            },
            (kind::PACKET_TOO_BIG, 0, _) => Self::PacketTooBig {
                mtu: u32_at(&rest, 0),
                original: data,
            },
            (kind::NEIGHBOUR_SOLICITATION, 0, [0, 0, 0, 0]) if data.len() >= 16 => {
                Self::NeighbourSolicitation {
                    target: ipv6_at(data, 0),
                    options: &data[16..],
                }
            }
            (kind::NEIGHBOUR_ADVERTISEMENT, 0, [flags, 0, 0, 0])
                if data.len() >= 16 && flags & 0x1f == 0 =>
            {
                Self::NeighbourAdvertisement {
                    router: flags & 0x80 != 0,
                    solicited: flags & 0x40 != 0,
                    overrides: flags & 0x20 != 0,
                    target: ipv6_at(data, 0),
                    options: &data[16..],
                }
            }
            (kind, code, _) => Self::Other {
                kind,
                code,
                rest,
                data,
            },
        })
    }

    pub fn to_bytes(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
        let mut bytes = self.unsummed();
        let checksum = sum(&bytes, source, destination);
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    fn unsummed(&self) -> Vec<u8> {
        let message = |kind: u8, code: u8, rest: [u8; 4], pieces: [&[u8]; 2]| {
            let [first, second] = pieces;
            [&[kind, code, 0, 0], &rest, first, second].concat()
        };
        let pair = |a: u16, b: u16| {
            let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
            [a, b, c, d]
        };
        match *self {
            Self::EchoRequest {
                identifier,
                sequence,
                data,
            } => message(
                kind::ECHO_REQUEST,
                0,
                pair(identifier, sequence),
                [data, &[]],
            ),
            Self::EchoReply {
                identifier,
                sequence,
                data,
            } => message(kind::ECHO_REPLY, 0, pair(identifier, sequence), [data, &[]]),
            Self::PacketTooBig { mtu, original } => {
                message(kind::PACKET_TOO_BIG, 0, mtu.to_be_bytes(), [original, &[]])
            }
            Self::NeighbourSolicitation { target, options } => message(
                kind::NEIGHBOUR_SOLICITATION,
                0,
                [0; 4],
                [&target.octets(), options],
            ),
            Self::NeighbourAdvertisement {
                router,
                solicited,
                overrides,
                target,
                options,
            } => {
                let flags =
                    u8::from(router) << 7 | u8::from(solicited) << 6 | u8::from(overrides) << 5;
                message(
                    kind::NEIGHBOUR_ADVERTISEMENT,
                    0,
                    [flags, 0, 0, 0],
                    [&target.octets(), options],
                )
            }
            Self::Other {
                kind,
                code,
                rest,
                data,
            } => message(kind, code, rest, [data, &[]]),
        }
    }
}
