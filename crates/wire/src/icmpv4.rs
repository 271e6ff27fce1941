//! ICMP (RFC 792, with the MTU of RFC 1191).

use std::net::Ipv4Addr;

use crate::bytes::{array_at, u16_at};
use crate::checksum;
use crate::error::{Layer, ParseError, require};

/// Bytes of the header: type, code, checksum and four that the type explains.
pub const HEADER_BYTES: usize = 8;

/// Types of messages.
pub mod kind {
    /// An answer to an echo request.
    pub const ECHO_REPLY: u8 = 0;
    /// It could not be delivered.
    pub const DESTINATION_UNREACHABLE: u8 = 3;
    /// There is a shorter way.
    pub const REDIRECT: u8 = 5;
    /// Send this back.
    pub const ECHO_REQUEST: u8 = 8;
    /// The time to live ran out.
    pub const TIME_EXCEEDED: u8 = 11;
    /// A header is wrong.
    pub const PARAMETER_PROBLEM: u8 = 12;
    /// What time is it?
    pub const TIMESTAMP_REQUEST: u8 = 13;
    /// It is this late.
    pub const TIMESTAMP_REPLY: u8 = 14;
}

/// A view of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Of what an IPv4 packet of protocol 1 carries.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Icmpv4, HEADER_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    /// Its type: see [`kind`].
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// What the type explains.
    #[must_use]
    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    /// Whether it adds up.
    #[must_use]
    pub fn is_checksum_right(&self) -> bool {
        checksum::of(self.bytes) == 0
    }

    /// The four bytes that the type explains.
    #[must_use]
    pub fn rest(&self) -> [u8; 4] {
        array_at(self.bytes, 4)
    }

    /// What follows the header: data, or the packet that an error is about.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    /// Type 8.
    EchoRequest {
        /// Whose.
        identifier: u16,
        /// Which.
        sequence: u16,
        /// To send back.
        data: &'a [u8],
    },
    /// Type 0.
    EchoReply {
        /// Whose.
        identifier: u16,
        /// Which.
        sequence: u16,
        /// As asked.
        data: &'a [u8],
    },
    /// Type 3.
    DestinationUnreachable {
        /// Why.
        code: u8,
        /// With code 4, the most bytes of a packet that would have passed.
        next_hop_mtu: u16,
        /// The packet, or its first bytes.
        original: &'a [u8],
    },
    /// Type 5.
    Redirect {
        /// For what.
        code: u8,
        /// The shorter way.
        gateway: Ipv4Addr,
        /// The packet, or its first bytes.
        original: &'a [u8],
    },
    /// Type 11.
    TimeExceeded {
        /// 0: on the way; 1: while it was put together.
        code: u8,
        /// The packet, or its first bytes.
        original: &'a [u8],
    },
    /// Type 12.
    ParameterProblem {
        /// Why.
        code: u8,
        /// Which byte of the packet.
        pointer: u8,
        /// The packet, or its first bytes.
        original: &'a [u8],
    },
    /// Another, or one with bits set that should not be.
    Other {
        /// Its type.
        kind: u8,
        /// What the type explains.
        code: u8,
        /// Likewise.
        rest: [u8; 4],
        /// What follows the header.
        data: &'a [u8],
    },
}

impl<'a> Repr<'a> {
    /// From a view.
    ///
    /// # Errors
    /// [`ParseError::Checksum`].
    pub fn parse(packet: &Packet<'a>) -> Result<Self, ParseError> {
        if !packet.is_checksum_right() {
            return Err(ParseError::Checksum {
                layer: Layer::Icmpv4,
            });
        }
        let (code, rest, data) = (packet.code(), packet.rest(), packet.payload());
        let (identifier, sequence) = (u16_at(&rest, 0), u16_at(&rest, 2));
        Ok(match (packet.kind(), code, rest) {
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
            (kind::DESTINATION_UNREACHABLE, _, [0, 0, ..]) => Self::DestinationUnreachable {
                code,
                next_hop_mtu: sequence,
                original: data,
            },
            (kind::REDIRECT, ..) => Self::Redirect {
                code,
                gateway: rest.into(),
                original: data,
            },
            (kind::TIME_EXCEEDED, _, [0, 0, 0, 0]) => Self::TimeExceeded {
                code,
                original: data,
            },
            (kind::PARAMETER_PROBLEM, _, [pointer, 0, 0, 0]) => Self::ParameterProblem {
                code,
                pointer,
                original: data,
            },
            (kind, ..) => Self::Other {
                kind,
                code,
                rest,
                data,
            },
        })
    }

    /// As bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, code, rest, data) = self.parts();
        let mut bytes = [&[kind, code, 0, 0], &rest, data].concat();
        let checksum = checksum::of(&bytes);
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

    /// Type, code, the four bytes, the data.
    fn parts(&self) -> (u8, u8, [u8; 4], &'a [u8]) {
        let pair = |a: u16, b: u16| {
            let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
            [a, b, c, d]
        };
        match *self {
            Self::EchoRequest {
                identifier,
                sequence,
                data,
            } => (kind::ECHO_REQUEST, 0, pair(identifier, sequence), data),
            Self::EchoReply {
                identifier,
                sequence,
                data,
            } => (kind::ECHO_REPLY, 0, pair(identifier, sequence), data),
            Self::DestinationUnreachable {
                code,
                next_hop_mtu,
                original,
            } => (
                kind::DESTINATION_UNREACHABLE,
                code,
                pair(0, next_hop_mtu),
                original,
            ),
            Self::Redirect {
                code,
                gateway,
                original,
            } => (kind::REDIRECT, code, gateway.octets(), original),
            Self::TimeExceeded { code, original } => (kind::TIME_EXCEEDED, code, [0; 4], original),
            Self::ParameterProblem {
                code,
                pointer,
                original,
            } => (kind::PARAMETER_PROBLEM, code, [pointer, 0, 0, 0], original),
            Self::Other {
                kind,
                code,
                rest,
                data,
            } => (kind, code, rest, data),
        }
    }
}
