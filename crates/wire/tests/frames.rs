//! Known frames, byte by byte, and what a frame looks like to people.

use std::net::{Ipv4Addr, Ipv6Addr};

use lockgate_wire::checksum::Pseudo;
use lockgate_wire::icmp::Over;
use lockgate_wire::ipv6::extension;
use lockgate_wire::{
    EtherType, Layer, ParseError, Summary, arp, ethernet, icmp, ipv4, ipv6, protocol, udp, vlan,
};

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const THERE: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

fn ethernet(ether_type: EtherType) -> ethernet::Repr {
    ethernet::Repr {
        destination: B,
        source: A,
        ether_type,
    }
}

fn six(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

#[test]
fn a_header_known_by_heart_has_its_known_checksum() {
    // The often quoted example, 45 00 00 73 …: its checksum is b861.
    let header = [
        0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
        0xc7,
    ];
    let mut bytes = header.to_vec();
    bytes.resize(0x73, 0);
    let packet = ipv4::Packet::new(&bytes).expect("a packet");
    let repr = ipv4::Repr::parse(&packet).expect("a right checksum");
    assert_eq!(repr.source, Ipv4Addr::new(192, 168, 0, 1));
    assert!(repr.dont_fragment);
    assert_eq!(
        &repr.to_bytes(&[0; 0x73 - 20]).expect("short")[..20],
        header
    );
}

#[test]
fn a_datagram_of_ipv4_is_what_others_send() {
    let pseudo = Pseudo::V4(HERE, THERE);
    let udp = udp::Repr {
        source_port: 1,
        destination_port: 7,
    };
    let datagram = udp.to_bytes(&pseudo, b"ab").expect("short");
    // Summed by hand: c000 0202 c613 0001, 0011 000a, 0001 0007 000a 6162.
    assert_eq!(datagram, [0, 1, 0, 7, 0, 10, 0x16, 0x59, b'a', b'b']);
    let packet = udp::Packet::new(&datagram).expect("whole");
    assert_eq!(udp::Repr::parse(&packet, &pseudo), Ok(udp));
}

#[test]
fn padding_belongs_to_the_link() {
    let packet = ipv4::Repr::new(HERE, THERE, 253)
        .to_bytes(b"data")
        .expect("short");
    let mut frame = ethernet(EtherType::IPV4).to_bytes(&packet);
    frame.resize(60, 0xee);
    let (_, network) = ethernet::Packet::new(&frame)
        .and_then(|frame| frame.network())
        .expect("whole");
    assert_eq!(
        ipv4::Packet::new(network).expect("whole").payload(),
        b"data"
    );
}

#[test]
fn tags_are_passed_one_by_one() {
    let tag = |identifier, ether_type| vlan::Repr {
        identifier,
        priority: 5,
        drop_eligible: true,
        ether_type,
    };
    let inner = tag(7, EtherType::ARP).to_bytes(b"who").expect("fits");
    let outer = tag(4094, EtherType::VLAN).to_bytes(&inner).expect("fits");
    let frame = ethernet(EtherType::PROVIDER_VLAN).to_bytes(&outer);
    let view = ethernet::Packet::new(&frame).expect("whole");
    let tags: Vec<_> = view
        .tags()
        .map(|tag| vlan::Repr::parse(&tag.expect("whole")))
        .collect();
    assert_eq!(tags, [tag(4094, EtherType::VLAN), tag(7, EtherType::ARP)]);
    assert_eq!(view.network(), Ok((EtherType::ARP, &b"who"[..])));

    let cut = ethernet::Packet::new(&frame[..20]).expect("a header");
    assert_eq!(cut.tags().count(), 2);
    assert!(matches!(
        cut.network(),
        Err(ParseError::Truncated {
            layer: Layer::Vlan,
            ..
        })
    ));
}

#[test]
fn a_tag_that_does_not_fit_is_refused() {
    let tag = vlan::Repr {
        identifier: 4096,
        priority: 0,
        drop_eligible: false,
        ether_type: EtherType::IPV4,
    };
    assert!(tag.header().is_err());
    let tag = vlan::Repr {
        identifier: 1,
        priority: 8,
        ..tag
    };
    assert!(tag.header().is_err());
}

#[test]
fn arp_for_another_hardware_says_so() {
    let repr = arp::Repr {
        operation: arp::Operation::REQUEST,
        sender_ethernet: A,
        sender: HERE,
        target_ethernet: [0; 6],
        target: THERE,
    };
    let mut bytes = repr.to_bytes();
    assert_eq!(
        arp::Repr::parse(&arp::Packet::new(&bytes).expect("whole")),
        repr
    );
    bytes[1] = 6;
    let error = arp::Packet::new(&bytes).expect_err("token ring");
    assert_eq!(
        error.to_string(),
        "ARP packet: hardware is 6, not Ethernet (1)"
    );
}

#[test]
fn headers_that_lie_are_refused() {
    let good = ipv4::Repr::new(HERE, THERE, 253)
        .to_bytes(&[1; 20])
        .expect("short");
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        ipv4::Packet::new(&bytes).map(|_| ())
    };
    assert_eq!(with(0, 0x45), Ok(()));
    for (at, value) in [(0, 0x55), (0, 0x44), (0, 0x4f), (3, 19), (3, 41), (2, 1)] {
        assert!(with(at, value).is_err(), "{value:#x} at {at}");
    }
    assert!(ipv4::Packet::new(&good[..19]).is_err());
}

#[test]
fn fragments_count_in_words() {
    for bad in [1, 7, 65_529, 65_536, 1 << 20] {
        assert!(ipv4::Fragment::new(bad, true).is_err(), "{bad}");
    }
    let last = ipv4::Repr {
        fragment: ipv4::Fragment::new(65_528, false).expect("a multiple of 8"),
        ..ipv4::Repr::new(HERE, THERE, 17)
    };
    let bytes = last.to_bytes(&[0; 7]).expect("short");
    let packet = ipv4::Packet::new(&bytes).expect("whole");
    assert!(packet.is_fragment() && !packet.more_fragments());
    assert_eq!(packet.fragment_offset_bytes(), 65_528);
}

#[test]
fn options_are_read_to_their_end() {
    let read = |bytes: &[u8]| {
        let repr = ipv4::Repr {
            options: ipv4::Options::new(bytes).expect("at most 40"),
            ..ipv4::Repr::new(HERE, THERE, 17)
        };
        let bytes = repr.to_bytes(&[]).expect("short");
        let packet = ipv4::Packet::new(&bytes).expect("whole");
        packet
            .options()
            .map(|option| option.map(|option| (option.kind, option.data.to_vec())))
            .collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), []);
    assert_eq!(
        read(&[1, 7, 7, 4, 0, 0, 0, 0, 0, 9]),
        [Ok((1, vec![])), Ok((7, vec![4, 0, 0, 0, 0]))]
    );
    for bad in [&[7, 1, 1, 1][..], &[7, 5, 4, 0], &[1, 1, 1, 7]] {
        let options = read(bad);
        assert!(options.last().is_some_and(Result::is_err), "{options:?}");
    }
    assert!(ipv4::Options::new(&[1; 41]).is_err());
}

#[test]
fn extension_headers_lead_to_the_upper_layer() {
    let (here, there) = (six("2001:2::1"), six("2001:2:0:1::1"));
    let udp = udp::Repr {
        source_port: 1,
        destination_port: 7,
    }
    .to_bytes(&Pseudo::V6(here, there), b"data")
    .expect("short");
    let fragment = extension::Fragment {
        offset_bytes: 0,
        more: true,
        identification: 9,
    };
    let headers = [
        extension::Repr::HopByHop(&[5, 2, 0, 0]),
        extension::Repr::Destination(&[]),
        extension::Repr::Routing {
            kind: 4,
            segments_left: 0,
            data: &[0; 20],
        },
        extension::Repr::Fragment(fragment),
    ];
    let mut bytes = udp.clone();
    let mut next = protocol::UDP;
    for header in headers.iter().rev() {
        bytes = header.to_bytes(next, &bytes).expect("short");
        next = header.kind();
    }
    let bytes = ipv6::Repr::new(here, there, next)
        .to_bytes(&bytes)
        .expect("short");
    let packet = ipv6::Packet::new(&bytes).expect("whole");
    let kinds: Vec<_> = packet
        .extensions()
        .flatten()
        .map(|header| header.kind())
        .collect();
    assert_eq!(kinds, [0, 60, 43, 44]);
    let upper = packet.upper().expect("whole");
    assert_eq!((upper.protocol, upper.payload), (protocol::UDP, &udp[..]));
    assert_eq!(upper.fragment, Some(fragment));
}

#[test]
fn a_later_fragment_has_no_upper_layer() {
    let (here, there) = (six("2001:2::1"), six("2001:2:0:1::1"));
    let fragment = extension::Fragment {
        offset_bytes: 8,
        more: false,
        identification: 9,
    };
    // What it carries looks like another extension header, and is none.
    let bytes = extension::Repr::Fragment(fragment)
        .to_bytes(extension::DESTINATION, &[0xff; 3])
        .expect("short");
    let bytes = ipv6::Repr::new(here, there, extension::FRAGMENT)
        .to_bytes(&bytes)
        .expect("short");
    let upper = ipv6::Packet::new(&bytes)
        .and_then(|packet| packet.upper())
        .expect("whole");
    assert_eq!(upper.protocol, extension::NO_NEXT);
    assert_eq!(upper.payload, [0xff; 3]);
}

#[test]
fn the_time_to_live_goes_down_as_in_linux_for_every_checksum() {
    // ip_decrease_ttl: check += 0x0100; check + (check >= 0xffff).
    let mut repr = ipv4::Repr::new(HERE, THERE, 17);
    for identification in 0..=u16::MAX {
        repr.identification = identification;
        let mut bytes = repr.to_bytes(&[]).expect("short");
        let before = u32::from(u16::from_be_bytes([bytes[10], bytes[11]]));
        assert_eq!(ipv4::decrement_ttl(&mut bytes), Ok(63));
        let sum = before + 0x100;
        let wanted = (sum + u32::from(sum >= 0xffff)) & 0xffff;
        assert_eq!(u16::from_be_bytes([bytes[10], bytes[11]]), wanted as u16);
        let packet = ipv4::Packet::new(&bytes).expect("whole");
        assert!(packet.is_checksum_right(), "{identification:#x}");
    }
}

#[test]
fn nothing_goes_below_zero_hops() {
    let mut four = ipv4::Repr {
        ttl: 0,
        ..ipv4::Repr::new(HERE, THERE, 17)
    }
    .to_bytes(&[])
    .expect("short");
    let before = four.clone();
    assert!(ipv4::decrement_ttl(&mut four).is_err());
    assert_eq!(four, before);
    let mut short = [0x60; 39];
    assert!(ipv6::decrement_hop_limit(&mut short).is_err());
    assert!(ethernet::readdress(&mut short[..13], A, B).is_err());
}

#[test]
fn errors_quote_what_they_are_about() {
    let original = ipv4::Repr {
        ttl: 1,
        ..ipv4::Repr::new(HERE, THERE, 17)
    }
    .to_bytes(&[0; 100])
    .expect("short");
    let message = icmp::Repr::new(icmp::v4::TIME_EXCEEDED, [0; 4], &original[..28]);
    let bytes = message.to_bytes(Over::V4);
    let view = icmp::Packet::new(&bytes).expect("whole");
    assert_eq!(icmp::Repr::parse(&view, Over::V4), Ok(message));
    let packet = ipv4::Repr::new(Ipv4Addr::new(192, 0, 2, 1), HERE, protocol::ICMPV4)
        .to_bytes(&bytes)
        .expect("short");
    let frame = ethernet(EtherType::IPV4).to_bytes(&packet);
    assert_eq!(
        Summary(&frame).to_string(),
        "70 bytes: 02:00:00:00:00:0a > 02:00:00:00:00:0b, IPv4 192.0.2.1 > 192.0.2.2 ttl 64 \
         length 56 id 0x0000, ICMP type 11 code 0 [00, 00, 00, 00] about [, IPv4 192.0.2.2 > \
         198.19.0.1 ttl 1 length 120 id 0x0000, UDP datagram: length is 0, not 8 or more]"
    );
}

#[test]
fn the_checksum_of_icmpv6_covers_the_addresses() {
    let (here, there) = (six("2001:2::1"), six("ff02::1:ff00:1"));
    let target = six("2001:2::2").octets();
    let message = icmp::Repr::new(icmp::v6::NEIGHBOUR_SOLICITATION, [0; 4], &target);
    let bytes = message.to_bytes(Over::V6(here, there));
    let view = icmp::Packet::new(&bytes).expect("whole");
    assert_eq!(icmp::Repr::parse(&view, Over::V6(here, there)), Ok(message));
    for other in [Over::V6(here, six("ff02::1")), Over::V4] {
        assert!(icmp::Repr::parse(&view, other).is_err(), "{other:?}");
    }
}
