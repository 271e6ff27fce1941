//! From a frame to the IP packet in it, by link type (IANA, "PCAP Link Types").

use std::fmt;

use wire::{EtherType, ParseError, ethernet, ipv4, ipv6, vlan};

use super::datagrams::{Refusal, Skip};

/// A number of IANA's registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a protocol family in the byte order of the host that captured.
    pub const NULL: Self = Self(0);
    pub const ETHERNET: Self = Self(1);
    /// IP without a header of a link.
    pub const RAW: Self = Self(101);
    /// What OpenBSD's and others' files have for [`Self::RAW`].
    pub const RAW_AS_WRITTEN: [Self; 2] = [Self(12), Self(14)];
    /// OpenBSD loopback: as [`Self::NULL`], in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    pub const IPV4: Self = Self(228);
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// From pcap's header, which also says how long check sequences are: those are behind
    /// what IP counts.
    pub(super) fn of_field(field: u32) -> Self {
        let [.., high, low] = field.to_be_bytes();
        Self(u16::from_be_bytes([high, low]))
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(text)
    }
}

pub(super) enum Network<'f> {
    V4(ipv4::Packet<'f>),
    V6(ipv6::Packet<'f>),
}

/// `AF_INET` is the same everywhere; `AF_INET6` is of Linux, NetBSD and OpenBSD, FreeBSD,
/// and Darwin.
const FAMILY_V4: u32 = 2;
const FAMILIES_V6: [u32; 4] = [10, 24, 28, 30];

const SLL_BYTES: usize = 16;
const SLL2_BYTES: usize = 20;

pub(super) fn network(link: LinkType, bytes: &[u8]) -> Result<Network<'_>, Refusal> {
    match link {
        LinkType::ETHERNET => {
            let frame = ethernet::Packet::new(bytes)?;
            by_type(frame.ether_type(), frame.payload())
        }
        LinkType::RAW => raw(bytes),
        link if LinkType::RAW_AS_WRITTEN.contains(&link) => raw(bytes),
        LinkType::IPV4 => Ok(Network::V4(ipv4::Packet::new(bytes)?)),
        LinkType::IPV6 => Ok(Network::V6(ipv6::Packet::new(bytes)?)),
        LinkType::LINUX_SLL => cooked(bytes, SLL_BYTES, 14),
        LinkType::LINUX_SLL2 => cooked(bytes, SLL2_BYTES, 0),
        LinkType::NULL | LinkType::LOOP => loopback(bytes),
        _ => Err(Skip::Link.into()),
    }
}

fn by_type(mut ether_type: EtherType, mut bytes: &[u8]) -> Result<Network<'_>, Refusal> {
    while ether_type.is_tag() {
        let tag = vlan::Packet::new(bytes)?;
        (ether_type, bytes) = (tag.ether_type(), tag.payload());
    }
    match ether_type {
        EtherType::IPV4 => Ok(Network::V4(ipv4::Packet::new(bytes)?)),
        EtherType::IPV6 => Ok(Network::V6(ipv6::Packet::new(bytes)?)),
        _ => Err(Skip::NotIp.into()),
    }
}

fn raw(bytes: &[u8]) -> Result<Network<'_>, Refusal> {
    match bytes.first().map(|first| first >> 4) {
        Some(6) => Ok(Network::V6(ipv6::Packet::new(bytes)?)),
        Some(4) | None => Ok(Network::V4(ipv4::Packet::new(bytes)?)),
        Some(_) => Err(Skip::NotIp.into()),
    }
}

/// A header of the capture's own, with the Ethernet type at byte `at`.
fn cooked(bytes: &[u8], header_bytes: usize, at: usize) -> Result<Network<'_>, Refusal> {
    let Some((header, payload)) = bytes.split_at_checked(header_bytes) else {
        return Err(Refusal::Short);
    };
    let ether_type = u16::from_be_bytes([header[at], header[at + 1]]);
    by_type(EtherType(ether_type), payload)
}

/// Families are small, so that a number says its byte order itself.
fn loopback(bytes: &[u8]) -> Result<Network<'_>, Refusal> {
    let Some((family, payload)) = bytes.split_first_chunk() else {
        return Err(Refusal::Short);
    };
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    match family {
        FAMILY_V4 => Ok(Network::V4(ipv4::Packet::new(payload)?)),
        family if FAMILIES_V6.contains(&family) => Ok(Network::V6(ipv6::Packet::new(payload)?)),
        _ => Err(Skip::NotIp.into()),
    }
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::Truncated { .. } => Self::Short,
            _ => Skip::Malformed.into(),
        }
    }
}
