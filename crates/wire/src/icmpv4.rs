//! ICMP (RFC 792, with the MTU of RFC 1191).

use std::net::Ipv4Addr;

use crate::bytes::{array_at, u16_at};
use crate::checksum;
use crate::error::{Layer, ParseError, require};

/// Bytes of the header: type, code, checksum and four that the type explains.
pub const HEADER_BYTES: usize = 8;

pub mod kind {
    pub const ECHO_REPLY: u8 = 0;
    pub const DESTINATION_UNREACHABLE: u8 = 3;
    pub const REDIRECT: u8 = 5;
    pub const ECHO_REQUEST: u8 = 8;
    pub const TIME_EXCEEDED: u8 = 11;
    pub const PARAMETER_PROBLEM: u8 = 12;
    pub const TIMESTAMP_REPLY: u8 = 14;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A view of the payload of an IPv4 packet of protocol 1.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] below 8 bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ParseError> {
        require(Layer::Icmpv4, HEADER_BYTES, bytes.len())?;
        Ok(Self { bytes })
    }

    pub fn kind(&self) -> u8 {
        self.bytes[0]
    }

    pub fn code(&self) -> u8 {
        self.bytes[1]
    }

    pub fn is_checksum_right(&self) -> bool {
        checksum::of(self.bytes) == 0
    }

    pub fn rest(&self) -> [u8; 4] {
        array_at(self.bytes, 4)
    }

    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }
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
    DestinationUnreachable {
        code: u8,
        /// With code 4, the most bytes of a packet that would have passed.
        next_hop_mtu: u16,
        original: &'a [u8],
    },
    Redirect {
        code: u8,
        gateway: Ipv4Addr,
        original: &'a [u8],
    },
    TimeExceeded {
        /// 0: on the way; 1: during reassembly.
        code: u8,
        original: &'a [u8],
    },
    ParameterProblem {
        code: u8,
        pointer: u8,
        original: &'a [u8],
    },
    /// Another type, or one with bits set that must be zero.
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

    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, code, rest, data) = self.parts();
        let mut bytes = [&[kind, code, 0, 0], &rest, data].concat();
        let checksum = checksum::of(&bytes);
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }

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
