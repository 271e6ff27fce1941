//! A frame of unknown origin, seen by every view.

use std::net::IpAddr;

use wire::checksum::Pseudo;
use wire::icmp::{self, Over};
use wire::{EtherType, Summary, arp, ethernet, ipv4, ipv6, protocol, udp, vlan};

/// Every view of the bytes as a frame, and as each packet on its own, ends in
/// a value or an error. What is read as a value becomes bytes that are read as
/// the same value; where the bytes had nothing that a value leaves out, they
/// are the same bytes.
pub fn wire_views(data: &[u8]) {
    let _ = Summary(data).to_string();
    let _ = wire::stamp_of(data);
    frame(data);
    network(EtherType::IPV4, data);
    network(EtherType::IPV6, data);
    network(EtherType::ARP, data);
    if let Ok(packet) = ipv4::Packet::of_quote(data) {
        let _ = (packet.payload(), packet.options().count());
    }
    if let Ok(packet) = ipv6::Packet::of_quote(data) {
        let _ = (packet.upper(), packet.extensions().count());
    }
    forward(data);
}

fn frame(data: &[u8]) {
    let Ok(view) = ethernet::Packet::new(data) else {
        return;
    };
    assert_eq!(ethernet::Repr::parse(&view).to_bytes(view.payload()), data);
    for tag in view.tags().flatten() {
        let header = vlan::Repr::parse(&tag).header().expect("fields of a tag");
        assert!(data.windows(4).any(|window| window == header));
    }
    if let Ok((ether_type, bytes)) = view.network() {
        assert!(data.ends_with(bytes), "below all tags is the end");
        network(ether_type, bytes);
    }
}

fn network(ether_type: EtherType, bytes: &[u8]) {
    match ether_type {
        EtherType::ARP => {
            if let Ok(packet) = arp::Packet::new(bytes) {
                let again = arp::Repr::parse(&packet).to_bytes();
                assert!(bytes.starts_with(&again));
            }
        }
        EtherType::IPV4 => {
            if let Ok(packet) = ipv4::Packet::new(bytes) {
                four(&packet, bytes);
            }
        }
        EtherType::IPV6 => {
            if let Ok(packet) = ipv6::Packet::new(bytes) {
                six(&packet, bytes);
            }
        }
        _ => {}
    }
}

fn four(packet: &ipv4::Packet<'_>, bytes: &[u8]) {
    let total = packet.header_bytes() + packet.payload().len();
    assert_eq!(usize::from(packet.total_bytes()), total);
    assert!(packet.options().count() <= 40);
    if let Ok(repr) = ipv4::Repr::parse(packet) {
        let again = repr.to_bytes(packet.payload()).expect("it was a packet");
        // 0 and its complement are the same sum: all other bytes must agree.
        assert_eq!(again[..10], bytes[..10]);
        assert_eq!(again[12..], bytes[12..total]);
    }
    let (source, destination) = (packet.source().into(), packet.destination().into());
    upper(packet.protocol(), packet.payload(), source, destination);
}

fn six(packet: &ipv6::Packet<'_>, bytes: &[u8]) {
    let repr = ipv6::Repr::parse(packet);
    let again = repr.to_bytes(packet.payload()).expect("it was a packet");
    assert!(bytes.starts_with(&again));
    let headers: usize = packet
        .extensions()
        .flatten()
        .map(|header| header.bytes().len())
        .sum();
    if let Ok(found) = packet.upper() {
        assert_eq!(headers + found.payload.len(), packet.payload().len());
        let (source, destination) = (packet.source().into(), packet.destination().into());
        upper(found.protocol, found.payload, source, destination);
    }
}

fn upper(protocol: u8, bytes: &[u8], source: IpAddr, destination: IpAddr) {
    match (protocol, source, destination) {
        (protocol::UDP, ..) => {
            let pseudo = Pseudo::new(source, destination).expect("of one packet");
            if let Ok(datagram) = udp::Packet::new(bytes)
                && let Ok(repr) = udp::Repr::parse(&datagram, &pseudo)
            {
                let again = repr.to_bytes(&pseudo, datagram.payload()).expect("as long");
                let again = udp::Packet::new(&again).expect("it was just made");
                assert_eq!(udp::Repr::parse(&again, &pseudo), Ok(repr));
            }
        }
        (protocol::ICMPV4, ..) => message(bytes, Over::V4),
        (protocol::ICMPV6, IpAddr::V6(source), IpAddr::V6(destination)) => {
            message(bytes, Over::V6(source, destination));
        }
        _ => {}
    }
}

fn message(bytes: &[u8], over: Over) {
    if let Ok(view) = icmp::Packet::new(bytes)
        && let Ok(repr) = icmp::Repr::parse(&view, over)
    {
        let again = repr.to_bytes(over);
        let again = icmp::Packet::new(&again).expect("it was just made");
        assert_eq!(icmp::Repr::parse(&again, over), Ok(repr));
    }
}

/// What a router does in place: a right checksum stays right, and nothing else
/// changes.
fn forward(data: &[u8]) {
    let was_right = ipv4::Packet::new(data).is_ok_and(|packet| packet.is_checksum_right());
    let mut bytes = data.to_vec();
    match ipv4::decrement_ttl(&mut bytes) {
        Ok(ttl) => {
            assert_eq!(ttl, data[8] - 1);
            assert_eq!((&bytes[..8], &bytes[12..]), (&data[..8], &data[12..]));
            let is_right = ipv4::Packet::new(&bytes).is_ok_and(|packet| packet.is_checksum_right());
            assert_eq!(was_right, is_right);
        }
        Err(_) => assert_eq!(bytes, data),
    }
    let mut bytes = data.to_vec();
    match ipv6::decrement_hop_limit(&mut bytes) {
        Ok(left) => assert_eq!((left, &bytes[8..]), (data[7] - 1, &data[8..])),
        Err(_) => assert_eq!(bytes, data),
    }
}
