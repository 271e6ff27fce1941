//! Why bytes are no packet, and why a value becomes none.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    Ethernet,
    Vlan,
    Arp,
    Ipv4,
    Ipv4Option,
    Ipv6,
    Ipv6Extension,
    Icmp,
    Udp,
    Quic,
    QuicTransportParameter,
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ethernet => "Ethernet header",
            Self::Vlan => "802.1Q tag",
            Self::Arp => "ARP packet",
            Self::Ipv4 => "IPv4 packet",
            Self::Ipv4Option => "IPv4 option",
            Self::Ipv6 => "IPv6 packet",
            Self::Ipv6Extension => "IPv6 extension header",
            Self::Icmp => "ICMP message",
            Self::Udp => "UDP datagram",
            Self::Quic => "QUIC packet",
            Self::QuicTransportParameter => "QUIC transport parameter",
        })
    }
}

/// Why bytes are not what their header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("{layer}: {found_bytes} bytes, of {needed_bytes}")]
    Truncated {
        layer: Layer,
        needed_bytes: usize,
        found_bytes: usize,
    },
    #[error("{layer}: {field} is {found}, not {wanted}")]
    Field {
        layer: Layer,
        field: &'static str,
        found: u32,
        wanted: &'static str,
    },
    #[error("{layer}: the checksum is wrong")]
    Checksum { layer: Layer },
}

impl ParseError {
    pub(crate) fn field(
        layer: Layer,
        field: &'static str,
        found: impl Into<u32>,
        wanted: &'static str,
    ) -> Self {
        Self::Field {
            layer,
            field,
            found: found.into(),
            wanted,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    #[error("{layer}: {found_bytes} bytes are more than its length field holds, {limit_bytes}")]
    Long {
        layer: Layer,
        found_bytes: usize,
        limit_bytes: usize,
    },
    #[error("{layer}: {field} {found} is not valid: {limit}")]
    Field {
        layer: Layer,
        field: &'static str,
        found: u32,
        limit: &'static str,
    },
}

impl EmitError {
    pub(crate) fn field(
        layer: Layer,
        field: &'static str,
        found: impl Into<u32>,
        limit: &'static str,
    ) -> Self {
        Self::Field {
            layer,
            field,
            found: found.into(),
            limit,
        }
    }
}

pub(crate) fn require(
    layer: Layer,
    needed_bytes: usize,
    found_bytes: usize,
) -> Result<(), ParseError> {
    if found_bytes < needed_bytes {
        return Err(ParseError::Truncated {
            layer,
            needed_bytes,
            found_bytes,
        });
    }
    Ok(())
}

/// A length as a field of 16 bits.
pub(crate) fn length_field(layer: Layer, found_bytes: usize) -> Result<u16, EmitError> {
    u16::try_from(found_bytes).map_err(|_| EmitError::Long {
        layer,
        found_bytes,
        limit_bytes: usize::from(u16::MAX),
    })
}
