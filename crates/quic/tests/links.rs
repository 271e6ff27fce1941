//! Every link type, down to a datagram, and what is counted instead.

use crate::make::{self, PORTS, V4, V6, ether, frame, ip4, ip6};
use lockgate_quic::capture::{Datagrams, Frame, LinkType, Skip};
use std::net::SocketAddr;
use wire::{EtherType, ipv4, ipv6, protocol};

const PAYLOAD: &[u8] = b"a datagram";

/// The datagram of one frame, or why there is none.
fn read(frame: &Frame) -> Result<Vec<u8>, Skip> {
    let mut datagrams = Datagrams::new();
    let found = datagrams.datagram(frame);
    let skipped = datagrams.skipped();
    match found {
        Some(datagram) => {
            let ends = if datagram.source.is_ipv4() {
                [V4.map(Into::into), V4.map(Into::into)][0]
            } else {
                V6.map(Into::into)
            };
            assert_eq!(datagram.source, SocketAddr::new(ends[0], PORTS[0]));
            assert_eq!(datagram.destination, SocketAddr::new(ends[1], PORTS[1]));
            assert_eq!(
                (datagram.number, datagram.time_ns, datagram.frames),
                (1, 1, 1)
            );
            assert_eq!(skipped.total(), 0);
            Ok(datagram.payload)
        }
        None => {
            assert_eq!(skipped.total(), 1);
            let reason = Skip::ALL
                .into_iter()
                .find(|reason| skipped.count(*reason) == 1);
            Err(reason.unwrap())
        }
    }
}

fn tag(inner: EtherType, payload: &[u8]) -> Vec<u8> {
    [&[0x20, 7], &inner.0.to_be_bytes()[..], payload].concat()
}

/// Linux cooked headers: version 1 ends with the type, version 2 begins with it.
fn cooked(version: u8, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    let kind = ether_type.0.to_be_bytes();
    match version {
        1 => [
            &[0, 4, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0],
            &kind[..],
            payload,
        ]
        .concat(),
        _ => [&kind[..], &[0; 18], payload].concat(),
    }
}

#[test]
fn a_datagram_is_found_in_frames_of_every_link_type() {
    let (four, six) = (ip4(PAYLOAD), ip6(PAYLOAD));
    let mut made = vec![
        (LinkType::IPV4, four.clone()),
        (LinkType::IPV6, six.clone()),
    ];
    for raw in [12, 14, 101].map(LinkType) {
        made.extend([(raw, four.clone()), (raw, six.clone())]);
    }
    for (kind, packet) in [(EtherType::IPV4, &four), (EtherType::IPV6, &six)] {
        // Padding, as of a short frame, is no part of the packet.
        let padded = [&packet[..], &[0; 9]].concat();
        made.push((LinkType::ETHERNET, ether(kind, &padded)));
        let tagged = tag(kind, packet);
        made.push((LinkType::ETHERNET, ether(EtherType::VLAN, &tagged)));
        let twice = tag(EtherType::VLAN, &tagged);
        made.push((LinkType::ETHERNET, ether(EtherType::PROVIDER_VLAN, &twice)));
        made.push((LinkType::LINUX_SLL, cooked(1, kind, packet)));
        made.push((LinkType::LINUX_SLL, cooked(1, EtherType::VLAN, &tagged)));
        made.push((LinkType::LINUX_SLL2, cooked(2, kind, packet)));
    }
    for link in [LinkType::NULL, LinkType::LOOP] {
        for family in [10_u32, 24, 28, 30] {
            made.push((link, [&family.to_be_bytes(), &six[..]].concat()));
            made.push((link, [&family.to_le_bytes(), &six[..]].concat()));
        }
        made.push((link, [&[0, 0, 0, 2], &four[..]].concat()));
        made.push((link, [&[2, 0, 0, 0], &four[..]].concat()));
    }
    for (link, bytes) in made {
        let found = read(&frame(link, bytes));
        assert_eq!(found.as_deref(), Ok(PAYLOAD), "link type {link}");
    }
}

#[test]
fn headers_between_ip_and_udp_are_passed_over() {
    let options = ipv6::extension::Repr::Destination(&[]);
    let behind = options
        .to_bytes(protocol::UDP, &make::udp6(PAYLOAD))
        .unwrap();
    let hop = ipv6::extension::Repr::HopByHop(&[]);
    let behind = hop.to_bytes(ipv6::extension::DESTINATION, &behind).unwrap();
    // A fragment that is everything.
    let atomic = [&[0, 0, 0, 0, 0, 0, 0, 9], &behind[..]].concat();
    let six = ipv6::Repr::new(V6[0], V6[1], ipv6::extension::FRAGMENT);
    let six = six.to_bytes(&atomic).unwrap();
    assert_eq!(read(&frame(LinkType::IPV6, six)).as_deref(), Ok(PAYLOAD));

    let options = ipv4::Options::new(&[1, 1, 1, 0]).unwrap();
    let header = ipv4::Repr {
        options,
        ..ipv4::Repr::new(V4[0], V4[1], protocol::UDP)
    };
    let four = header.to_bytes(&make::udp4(PAYLOAD)).unwrap();
    assert_eq!(read(&frame(LinkType::IPV4, four)).as_deref(), Ok(PAYLOAD));
}

#[test]
fn checksums_that_a_network_card_fills_in_do_not_matter() {
    let mut packet = ip4(PAYLOAD);
    packet[10] ^= 0xff;
    packet[26] ^= 0xff;
    assert_eq!(read(&frame(LinkType::RAW, packet)).as_deref(), Ok(PAYLOAD));
}

#[test]
fn what_is_no_datagram_is_counted_by_its_reason() {
    let packet = ip4(PAYLOAD);
    let mut tcp = packet.clone();
    tcp[9] = protocol::TCP;
    let mut tcp6 = ip6(PAYLOAD);
    tcp6[6] = protocol::TCP;
    let mut short_header = packet.clone();
    short_header[0] = 0x44;
    let mut short_udp = packet.clone();
    short_udp[25] = 7;
    let mut long_udp = packet.clone();
    long_udp[25] += 1;
    let arp = ether(EtherType::ARP, &[0; 28]);
    for (link, bytes, reason) in [
        (147, packet.clone(), Skip::Link),
        (105, vec![], Skip::Link),
        (1, arp, Skip::NotIp),
        (1, ether(EtherType(46), &[0; 46]), Skip::NotIp),
        (101, vec![0x50; 40], Skip::NotIp),
        (0, vec![0, 0, 0, 7, 1], Skip::NotIp),
        (101, tcp, Skip::NotUdp),
        (101, tcp6, Skip::NotUdp),
        (101, short_header, Skip::Malformed),
        (101, short_udp, Skip::Malformed),
        (101, long_udp, Skip::Malformed),
        (229, packet.clone(), Skip::Malformed),
        (228, vec![], Skip::Malformed),
        (101, vec![], Skip::Malformed),
        (1, vec![0; 13], Skip::Malformed),
        (113, vec![0; 15], Skip::Malformed),
        (276, vec![8; 19], Skip::Malformed),
        (0, vec![0; 3], Skip::Malformed),
        (101, packet[..packet.len() - 1].to_vec(), Skip::Malformed),
    ] {
        let found = read(&frame(LinkType(link), bytes));
        assert_eq!(found, Err(reason), "link type {link}");
    }
}

#[test]
fn a_cut_packet_is_told_from_a_malformed_one() {
    let packet = ether(EtherType::IPV4, &ip4(PAYLOAD));
    for end in 0..packet.len() {
        let whole = frame(LinkType::ETHERNET, packet[..end].to_vec());
        let cut = Frame {
            is_cut: true,
            ..whole.clone()
        };
        assert_eq!(
            (read(&whole), read(&cut)),
            (Err(Skip::Malformed), Err(Skip::Cut))
        );
    }
    // Where only padding was cut, nothing is lacking.
    let cut = Frame {
        is_cut: true,
        ..frame(LinkType::ETHERNET, packet)
    };
    assert_eq!(read(&cut).as_deref(), Ok(PAYLOAD));
}
