//! IPv6 packets to be sent on, or not.

use wire::icmp::{self, Over};
use wire::ipv6::Repr;
use wire::ipv6::extension::{self, Fragment};
use wire::protocol;

use super::Expect::{Answered, Any, Dropped, Forwarded};
use super::{Case, across6, case, echo6, plain6, six, tcp_syn, udp6, udp6_with};
use crate::behaviour::plan;

pub fn cases() -> Vec<Case> {
    let mut cases = headers();
    cases.extend(hops());
    cases.extend(sizes());
    cases.extend(options());
    cases.extend(extensions());
    cases.extend(protocols());
    cases
}

fn headers() -> Vec<Case> {
    let mut cases = Vec::new();
    for version in (0..16).filter(|version| *version != 6) {
        let mut frame = plain6(0);
        frame[14] = version << 4;
        cases.push(case(format!("IPv6 version {version}"), Dropped, frame));
    }
    let right = plain6(0).len() as u16 - 54;
    for (length, expect) in [
        (0, Forwarded),
        (1, Forwarded),
        (8, Forwarded),
        (right - 1, Forwarded),
        (right + 1, Dropped),
        (1460, Dropped),
        (0xffff, Dropped),
    ] {
        let mut frame = plain6(0);
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        cases.push(case(format!("IPv6 payload length {length}"), expect, frame));
    }
    for (traffic_class, flow_label) in [(0, 1), (1, 0), (3, 0xfffff), (0xb8, 0x12345), (0xff, 0)] {
        let repr = Repr {
            traffic_class,
            flow_label,
            ..across6(protocol::UDP)
        };
        let name = format!("IPv6 class {traffic_class:#x} label {flow_label:#x}");
        cases.push(case(name, Forwarded, udp6_with(&repr, b"data")));
    }
    cases
}

fn hops() -> Vec<Case> {
    let base = across6(protocol::UDP);
    let udp = |hop_limit, expect| {
        let name = format!("IPv6 hop limit {hop_limit}");
        case(
            name,
            expect,
            udp6_with(&Repr { hop_limit, ..base }, &[1; 20]),
        )
    };
    let last = |next_header| Repr {
        hop_limit: 1,
        ..across6(next_header)
    };
    let (source, destination) = (base.source, base.destination);
    let quote = udp6_with(&base, b"data")[14..].to_vec();
    let error = icmp::Repr::new(icmp::v6::TIME_EXCEEDED, [0; 4], &quote)
        .to_bytes(Over::V6(source, destination));
    let echo = echo6(source, destination, b"x");
    let own = Repr {
        destination: plan::DUT_V6[1],
        ..last(protocol::ICMPV6)
    };
    let own = six(&own, &echo6(source, plan::DUT_V6[1], b"x"));
    let lost = Repr {
        destination: "2001:db8::1".parse().unwrap(),
        ..last(protocol::UDP)
    };
    vec![
        udp(0, Answered),
        udp(1, Answered),
        udp(2, Forwarded),
        udp(255, Forwarded),
        case(
            "IPv6 last hop, echo",
            Answered,
            six(&last(protocol::ICMPV6), &echo),
        ),
        case(
            "IPv6 last hop, error",
            Dropped,
            six(&last(protocol::ICMPV6), &error),
        ),
        case(
            "IPv6 last hop, long",
            Answered,
            udp6_with(&last(protocol::UDP), &[7; 1300]),
        ),
        case("IPv6 last hop, no way", Any, udp6_with(&lost, b"data")),
        case("IPv6 last hop, for the DUT", Any, own),
    ]
}

fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (total, expect) in [
        (1279, Forwarded),
        (1280, Forwarded),
        (1399, Forwarded),
        (1400, Forwarded),
        (1401, Answered),
        (1499, Answered),
        (1500, Answered),
        (1501, Any),
        (1504, Any),
    ] {
        let frame = udp6_with(&across6(protocol::UDP), &vec![3; total - 48]);
        cases.push(case(format!("IPv6 of {total} bytes"), expect, frame));
    }
    let mut padded = udp6_with(&across6(protocol::UDP), &[3; 1400 - 48]);
    padded.resize(1480, 0);
    let name = "IPv6 of 1400 bytes in a frame of 1480";
    cases.push(case(name, Forwarded, padded));
    cases
}

/// Hop-by-hop options are for every router, by the two upper bits of their
/// kind (RFC 8200, section 4.2); destination options for none.
fn options() -> Vec<Case> {
    let base = across6(0);
    let udp = udp6(base.source, base.destination, b"data");
    let mut cases = Vec::new();
    for (name, options) in [
        ("padding", &[1, 4, 0, 0, 0, 0][..]),
        ("single padding", &[0; 6]),
        ("router alert", &[5, 2, 0, 0, 1, 0]),
        ("router alert, length 3", &[5, 3, 0, 0, 0, 0]),
        ("unknown 0x1e", &[0x1e, 4, 0, 0, 0, 0]),
        ("unknown 0x5e", &[0x5e, 4, 0, 0, 0, 0]),
        ("unknown 0x9e", &[0x9e, 4, 0, 0, 0, 0]),
        ("unknown 0xde", &[0xde, 4, 0, 0, 0, 0]),
        ("jumbo", &[0xc2, 4, 0, 1, 0, 0]),
        ("jumbo of a short packet", &[0xc2, 4, 0, 0, 0, 9]),
        ("an option too long", &[1, 200, 0, 0, 0, 0]),
        (
            "much padding",
            &[
                1, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
        ),
    ] {
        for (kind, header) in [
            ("hop-by-hop", extension::Repr::HopByHop(options)),
            ("destination", extension::Repr::Destination(options)),
        ] {
            let repr = Repr {
                next_header: header.kind(),
                ..base
            };
            let bytes = header.to_bytes(protocol::UDP, &udp).unwrap();
            let name = format!("IPv6 {kind}: {name}");
            cases.push(case(name, Any, six(&repr, &bytes)));
        }
    }
    let mut empty_jumbo = extension::Repr::HopByHop(&[0xc2, 4, 0, 1, 0, 0])
        .to_bytes(protocol::UDP, &udp)
        .unwrap();
    let mut frame = six(&base, &empty_jumbo);
    frame[18..20].fill(0);
    cases.push(case("IPv6 jumbogram", Any, frame));
    empty_jumbo[1] = 200;
    let name = "IPv6 hop-by-hop beyond the end";
    cases.push(case(name, Any, six(&base, &empty_jumbo)));
    cases
}

fn extensions() -> Vec<Case> {
    let base = across6(0);
    let udp = udp6(base.source, base.destination, b"data");
    let behind = |name: &str, expect, headers: &[extension::Repr<'_>]| {
        let mut bytes = udp.clone();
        let mut next_header = protocol::UDP;
        for header in headers.iter().rev() {
            bytes = header.to_bytes(next_header, &bytes).unwrap();
            next_header = header.kind();
        }
        let repr = Repr {
            next_header,
            ..base
        };
        case(format!("IPv6 behind {name}"), expect, six(&repr, &bytes))
    };
    let part = |offset_bytes, more| {
        extension::Repr::Fragment(Fragment {
            offset_bytes,
            more,
            identification: 0x1234,
        })
    };
    let route = |kind, segments_left| extension::Repr::Routing {
        kind,
        segments_left,
        data: &[0; 20],
    };
    let destination = extension::Repr::Destination(&[]);
    let hop_by_hop = extension::Repr::HopByHop(&[]);
    let mut cases = vec![
        behind("a first fragment", Forwarded, &[part(0, true)]),
        behind("a later fragment", Forwarded, &[part(8, true)]),
        behind("a last fragment", Forwarded, &[part(1232, false)]),
        behind("an atomic fragment", Forwarded, &[part(0, false)]),
        behind("destination options", Forwarded, &[destination]),
        behind(
            "hop-by-hop and destination",
            Any,
            &[hop_by_hop, destination],
        ),
        behind(
            "destination and hop-by-hop",
            Any,
            &[destination, hop_by_hop],
        ),
        behind(
            "everything",
            Any,
            &[hop_by_hop, destination, route(4, 0), part(0, true)],
        ),
        behind("many", Any, &[destination; 12]),
    ];
    for kind in [0, 1, 2, 3, 4, 253] {
        for left in [0, 1] {
            let name = format!("a route of kind {kind}, {left} left");
            cases.push(behind(&name, Forwarded, &[route(kind, left)]));
        }
    }
    for next_header in [
        extension::AUTHENTICATION,
        50,
        135,
        139,
        140,
        59,
        60,
        43,
        44,
        0,
    ] {
        for length in [0, 1, 2, 7, 8] {
            let repr = Repr {
                next_header,
                ..base
            };
            let name = format!("IPv6 header {next_header} of {length} bytes");
            cases.push(case(name, Any, six(&repr, &vec![0; length])));
        }
    }
    cases
}

fn protocols() -> Vec<Case> {
    let mut cases = Vec::new();
    for number in [1, 2, 4, 6, 17, 41, 47, 50, 58, 59, 89, 132, 253, 255] {
        for length in [0, 1, 8, 64] {
            let name = format!("IPv6 protocol {number} with {length} bytes");
            let frame = six(&across6(number), &vec![0xa5; length]);
            cases.push(case(name, Forwarded, frame));
        }
    }
    let (source, destination) = (plan::HOST_V6[0], plan::HOST_V6[1]);
    let syn = tcp_syn(&wire::checksum::Pseudo::V6(source, destination), 80);
    let name = "IPv6 TCP";
    cases.push(case(name, Forwarded, six(&across6(protocol::TCP), &syn)));
    let echo = echo6(source, destination, b"hello");
    let name = "IPv6 echo";
    let frame = six(&across6(protocol::ICMPV6), &echo);
    cases.push(case(name, Forwarded, frame));
    cases
}
