//! A frame in one line, for people who must see why two differ.

use std::fmt::{self, Display, Formatter};

use crate::checksum::Pseudo;
use crate::ethernet::{self, EtherType};
use crate::icmp::{self, Over};
use crate::{ParseError, arp, ipv4, ipv6, protocol, udp};

#[derive(Clone, Copy, Debug)]
pub struct Summary<'a>(pub &'a [u8]);

const QUOTES_MAX: u8 = 2;

impl Display for Summary<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut text = format!("{} bytes: ", self.0.len());
        match ethernet::Packet::new(self.0) {
            Ok(frame) => {
                let shown = show_frame(&mut text, &frame);
                end_with_error(&mut text, shown);
            }
            Err(error) => text += &error.to_string(),
        }
        out.write_str(&text)
    }
}

/// A line shows what could be read, and then why the rest could not.
type Shown = Result<(), ParseError>;

fn end_with_error(text: &mut String, shown: Shown) {
    if let Err(error) = shown {
        *text += &format!(", {error}");
    }
}

struct Address([u8; 6]);

impl Display for Address {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

fn show_frame(text: &mut String, frame: &ethernet::Packet<'_>) -> Shown {
    let (source, destination) = (Address(frame.source()), Address(frame.destination()));
    *text += &format!("{source} > {destination}");
    for tag in frame.tags().flatten() {
        *text += &format!(" vlan {}", tag.identifier());
    }
    match frame.network()? {
        (EtherType::IPV4, bytes) => show_ipv4(text, ipv4::Packet::new(bytes)?, QUOTES_MAX),
        (EtherType::IPV6, bytes) => show_ipv6(text, ipv6::Packet::new(bytes)?, QUOTES_MAX),
        (EtherType::ARP, bytes) => show_arp(text, bytes),
        (other, bytes) => {
            *text += &format!(", type {:#06x}, {} bytes", other.0, bytes.len());
            Ok(())
        }
    }
}

fn show_arp(text: &mut String, bytes: &[u8]) -> Shown {
    let packet = arp::Packet::new(bytes)?;
    *text += &format!(
        ", ARP operation {} from {} ({}) about {}",
        packet.operation().0,
        packet.sender(),
        Address(packet.sender_ethernet()),
        packet.target()
    );
    Ok(())
}

fn show_ipv4(text: &mut String, packet: ipv4::Packet<'_>, quotes: u8) -> Shown {
    *text += &format!(
        ", IPv4 {} > {} ttl {} length {} id {:#06x}",
        packet.source(),
        packet.destination(),
        packet.ttl(),
        packet.total_bytes(),
        packet.identification()
    );
    if packet.dont_fragment() {
        *text += " df";
    }
    if packet.is_fragment() {
        let more = if packet.more_fragments() { "+" } else { "" };
        *text += &format!(" fragment {}{more}", packet.fragment_offset_bytes());
    }
    if !packet.option_bytes().is_empty() {
        *text += &format!(" options {:02x?}", packet.option_bytes());
    }
    if !packet.is_checksum_right() {
        *text += &format!(" wrong checksum {:#06x}", packet.checksum());
    }
    if packet.fragment_offset_bytes() > 0 {
        return Ok(());
    }
    let pseudo = Pseudo::V4(packet.source(), packet.destination());
    show_upper(text, packet.protocol(), packet.payload(), &pseudo, quotes)
}

fn show_ipv6(text: &mut String, packet: ipv6::Packet<'_>, quotes: u8) -> Shown {
    *text += &format!(
        ", IPv6 {} > {} hops {} length {}",
        packet.source(),
        packet.destination(),
        packet.hop_limit(),
        packet.payload_bytes()
    );
    for header in packet.extensions().flatten() {
        *text += &format!(" extension {}", header.kind());
    }
    let upper = packet.upper()?;
    let pseudo = Pseudo::V6(packet.source(), packet.destination());
    show_upper(text, upper.protocol, upper.payload, &pseudo, quotes)
}

fn show_upper(text: &mut String, protocol: u8, bytes: &[u8], pseudo: &Pseudo, quotes: u8) -> Shown {
    match (protocol, *pseudo) {
        (protocol::ICMPV4, Pseudo::V4(..)) => show_icmp(text, bytes, Over::V4, quotes),
        (protocol::ICMPV6, Pseudo::V6(source, destination)) => {
            show_icmp(text, bytes, Over::V6(source, destination), quotes)
        }
        (protocol::UDP, _) => {
            let datagram = udp::Packet::new(bytes)?;
            let (from, to) = (datagram.source_port(), datagram.destination_port());
            let right = wrong_unless(datagram.is_checksum_right(pseudo));
            *text += &format!(", UDP {from} > {to}{right}");
            Ok(())
        }
        (other, _) => {
            *text += &format!(", protocol {other}");
            Ok(())
        }
    }
}

fn wrong_unless(right: bool) -> &'static str {
    if right { "" } else { " wrong checksum" }
}

fn show_icmp(text: &mut String, bytes: &[u8], over: Over, quotes: u8) -> Shown {
    let message = icmp::Packet::new(bytes)?;
    let right = wrong_unless(message.is_checksum_right(over));
    let (kind, code, rest) = (message.kind(), message.code(), message.rest());
    let (name, quotes_a_packet) = match over {
        Over::V4 => ("ICMP", icmp::v4::QUOTING.contains(&kind)),
        // Errors have the upper bit clear (RFC 4443, section 2.1).
        Over::V6(..) => ("ICMPv6", kind < 128),
    };
    *text += &format!(", {name} type {kind} code {code} {rest:02x?}{right}");
    if !quotes_a_packet || quotes == 0 {
        return Ok(());
    }
    *text += " about [";
    let original = message.payload();
    let shown =
        match over {
            Over::V4 => ipv4::Packet::of_quote(original)
                .and_then(|packet| show_ipv4(text, packet, quotes - 1)),
            Over::V6(..) => ipv6::Packet::of_quote(original)
                .and_then(|packet| show_ipv6(text, packet, quotes - 1)),
        };
    end_with_error(text, shown);
    *text += "]";
    Ok(())
}
