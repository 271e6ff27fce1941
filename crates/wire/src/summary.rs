//! A frame in one line, for people who must see why two differ.

use std::fmt::{self, Display, Formatter};

use crate::checksum::Pseudo;
use crate::ethernet::{self, EtherType};
use crate::{arp, icmpv4, icmpv6, ipv4, ipv6, protocol, udp};

#[derive(Clone, Copy, Debug)]
pub struct Summary<'a>(pub &'a [u8]);

const QUOTES_MAX: u8 = 2;

impl Display for Summary<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes: ", self.0.len())?;
        let frame = match ethernet::Packet::new(self.0) {
            Ok(frame) => frame,
            Err(error) => return write!(out, "{error}"),
        };
        write!(
            out,
            "{} > {}",
            Address(frame.source()),
            Address(frame.destination())
        )?;
        for tag in frame.tags().flatten() {
            write!(out, " vlan {}", tag.identifier())?;
        }
        match frame.network() {
            Ok((EtherType::IPV4, bytes)) => show_ipv4(out, ipv4::Packet::new(bytes), QUOTES_MAX),
            Ok((EtherType::IPV6, bytes)) => show_ipv6(out, ipv6::Packet::new(bytes), QUOTES_MAX),
            Ok((EtherType::ARP, bytes)) => show_arp(out, bytes),
            Ok((other, bytes)) => write!(out, ", type {:#06x}, {} bytes", other.0, bytes.len()),
            Err(error) => write!(out, ", {error}"),
        }
    }
}

struct Address([u8; 6]);

impl Display for Address {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

fn show_arp(out: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    match arp::Packet::new(bytes) {
        Ok(packet) => write!(
            out,
            ", ARP operation {} from {} ({}) about {}",
            packet.operation().0,
            packet.sender(),
            Address(packet.sender_ethernet()),
            packet.target()
        ),
        Err(error) => write!(out, ", {error}"),
    }
}

fn show_ipv4(
    out: &mut Formatter<'_>,
    packet: Result<ipv4::Packet<'_>, crate::ParseError>,
    quotes: u8,
) -> fmt::Result {
    let packet = match packet {
        Ok(packet) => packet,
        Err(error) => return write!(out, ", {error}"),
    };
    write!(
        out,
        ", IPv4 {} > {} ttl {} length {} id {:#06x}",
        packet.source(),
        packet.destination(),
        packet.ttl(),
        packet.total_bytes(),
        packet.identification()
    )?;
    if packet.dont_fragment() {
        out.write_str(" df")?;
    }
    if packet.is_fragment() {
        let more = if packet.more_fragments() { "+" } else { "" };
        write!(out, " fragment {}{more}", packet.fragment_offset_bytes())?;
    }
    if !packet.option_bytes().is_empty() {
        write!(out, " options {:02x?}", packet.option_bytes())?;
    }
    if !packet.is_checksum_right() {
        write!(out, " wrong checksum {:#06x}", packet.checksum())?;
    }
    let pseudo = Pseudo::V4(packet.source(), packet.destination());
    let bytes = packet.payload();
    match packet.protocol() {
        _ if packet.fragment_offset_bytes() > 0 => Ok(()),
        protocol::ICMPV4 => show_icmpv4(out, bytes, quotes),
        protocol::UDP => show_udp(out, bytes, &pseudo),
        other => write!(out, ", protocol {other}"),
    }
}

fn show_ipv6(
    out: &mut Formatter<'_>,
    packet: Result<ipv6::Packet<'_>, crate::ParseError>,
    quotes: u8,
) -> fmt::Result {
    let packet = match packet {
        Ok(packet) => packet,
        Err(error) => return write!(out, ", {error}"),
    };
    write!(
        out,
        ", IPv6 {} > {} hops {} length {}",
        packet.source(),
        packet.destination(),
        packet.hop_limit(),
        packet.payload_bytes()
    )?;
    for header in packet.extensions().flatten() {
        write!(out, " extension {}", header.kind())?;
    }
    let (source, destination) = (packet.source(), packet.destination());
    match packet.upper() {
        Ok(upper) if upper.protocol == protocol::ICMPV6 => {
            show_icmpv6(out, upper.payload, source, destination, quotes)
        }
        Ok(upper) if upper.protocol == protocol::UDP => {
            show_udp(out, upper.payload, &Pseudo::V6(source, destination))
        }
        Ok(upper) => write!(out, ", protocol {}", upper.protocol),
        Err(error) => write!(out, ", {error}"),
    }
}

fn show_udp(out: &mut Formatter<'_>, bytes: &[u8], pseudo: &Pseudo) -> fmt::Result {
    match udp::Packet::new(bytes) {
        Ok(datagram) => write!(
            out,
            ", UDP {} > {}{}",
            datagram.source_port(),
            datagram.destination_port(),
            wrong_unless(datagram.is_checksum_right(pseudo))
        ),
        Err(error) => write!(out, ", {error}"),
    }
}

fn wrong_unless(right: bool) -> &'static str {
    if right { "" } else { " wrong checksum" }
}

fn show_icmpv4(out: &mut Formatter<'_>, bytes: &[u8], quotes: u8) -> fmt::Result {
    let message = match icmpv4::Packet::new(bytes) {
        Ok(message) => message,
        Err(error) => return write!(out, ", {error}"),
    };
    let right = wrong_unless(message.is_checksum_right());
    let (kind, code, rest) = (message.kind(), message.code(), message.rest());
    write!(out, ", ICMP type {kind} code {code} {rest:02x?}{right}")?;
    let quotes_a_packet = [
        icmpv4::kind::DESTINATION_UNREACHABLE,
        icmpv4::kind::REDIRECT,
        icmpv4::kind::TIME_EXCEEDED,
        icmpv4::kind::PARAMETER_PROBLEM,
    ]
    .contains(&kind);
    if !quotes_a_packet || quotes == 0 {
        return Ok(());
    }
    out.write_str(" about [")?;
    show_ipv4(out, ipv4::Packet::of_quote(message.payload()), quotes - 1)?;
    out.write_str("]")
}

fn show_icmpv6(
    out: &mut Formatter<'_>,
    bytes: &[u8],
    source: std::net::Ipv6Addr,
    destination: std::net::Ipv6Addr,
    quotes: u8,
) -> fmt::Result {
    let message = match icmpv6::Packet::new(bytes) {
        Ok(message) => message,
        Err(error) => return write!(out, ", {error}"),
    };
    let right = wrong_unless(message.is_checksum_right(source, destination));
    let (kind, code, rest) = (message.kind(), message.code(), message.rest());
    write!(out, ", ICMPv6 type {kind} code {code} {rest:02x?}{right}")?;
    // Errors have the upper bit clear (RFC 4443, section 2.1).
    if kind >= 128 || quotes == 0 {
        return Ok(());
    }
    out.write_str(" about [")?;
    show_ipv6(out, ipv6::Packet::of_quote(message.payload()), quotes - 1)?;
    out.write_str("]")
}
