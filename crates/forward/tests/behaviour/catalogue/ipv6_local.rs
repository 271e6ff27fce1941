//! IPv6 and neighbour discovery for the DUT itself.

use std::net::Ipv6Addr;

use wire::icmp::{self, Over};
use wire::ipv6::Repr;
use wire::ipv6::extension::{self, Fragment};
use wire::protocol;

use super::Expect::{Answered, Any, Dropped};
use super::{Case, case, echo6, six, tcp_syn, udp6_with};
use crate::behaviour::plan;

pub fn cases() -> Vec<Case> {
    let mut cases = services();
    cases.extend(fragments());
    cases.extend(solicitations());
    cases.extend(messages());
    cases
}

fn local(next_header: u8) -> Repr {
    Repr::new(plan::TESTER_V6[0], plan::DUT_V6[0], next_header)
}

fn services() -> Vec<Case> {
    let repr = local(protocol::UDP);
    let (source, destination) = (repr.source, repr.destination);
    let tcp = tcp_syn(&wire::checksum::Pseudo::V6(source, destination), 80);
    let mut no_checksum = udp6_with(&repr, b"data");
    no_checksum[60..62].fill(0);
    let mut cases = vec![
        case(
            "DUT: IPv6 UDP to a closed port",
            Answered,
            udp6_with(&repr, b"data"),
        ),
        case(
            "DUT: IPv6 UDP, long",
            Answered,
            udp6_with(&repr, &[4; 1400]),
        ),
        case("DUT: IPv6 UDP without checksum", Dropped, no_checksum),
        case("DUT: IPv6 TCP", Answered, six(&local(protocol::TCP), &tcp)),
        case(
            "DUT: IPv6 protocol 253",
            Answered,
            six(&local(253), b"data"),
        ),
    ];
    for length in [0, 1, 56, 1400] {
        let echo = echo6(source, destination, &vec![6; length]);
        let frame = six(&local(protocol::ICMPV6), &echo);
        cases.push(case(format!("DUT: IPv6 echo of {length}"), Answered, frame));
    }
    cases
}

fn fragments() -> Vec<Case> {
    let repr = local(extension::FRAGMENT);
    let message = echo6(repr.source, repr.destination, &[8; 32]);
    let send = |name: &str, expect, identification, from: usize, to: usize| {
        let header = extension::Repr::Fragment(Fragment {
            offset_bytes: from as u16,
            more: to < message.len(),
            identification,
        });
        let bytes = header
            .to_bytes(protocol::ICMPV6, &message[from..to])
            .unwrap();
        case(format!("DUT: IPv6 {name}"), expect, six(&repr, &bytes))
    };
    vec![
        send("first piece", Dropped, 0x101, 0, 16),
        send("last piece", Answered, 0x101, 16, 40),
        send("last piece first", Dropped, 0x102, 24, 40),
        send("first piece last", Answered, 0x102, 0, 24),
        send("only piece", Answered, 0x103, 0, 40),
    ]
}

/// A solicitation for `target`, as the tester or another would send it.
fn solicitation(source: Ipv6Addr, destination: Ipv6Addr, target: Ipv6Addr) -> Vec<u8> {
    let option = [1, 1, 2, 0, 0, 0, 1, 0];
    let options = if source.is_unspecified() {
        &[]
    } else {
        &option[..]
    };
    let data = [&target.octets(), options].concat();
    let message = icmp::Repr::new(icmp::v6::NEIGHBOUR_SOLICITATION, [0; 4], &data);
    let repr = Repr {
        hop_limit: 255,
        ..Repr::new(source, destination, protocol::ICMPV6)
    };
    let mut frame = six(&repr, &message.to_bytes(Over::V6(source, destination)));
    if destination.is_multicast() {
        frame[..2].copy_from_slice(&[0x33, 0x33]);
        frame[2..6].copy_from_slice(&destination.octets()[12..]);
    }
    frame
}

fn solicitations() -> Vec<Case> {
    let group: Ipv6Addr = "ff02::1:ff00:1".parse().unwrap();
    let (tester, dut) = (plan::TESTER_V6[0], plan::DUT_V6[0]);
    let edited = |edit: &dyn Fn(&mut [u8])| {
        let mut frame = solicitation(tester, group, dut);
        edit(&mut frame);
        frame
    };
    vec![
        case(
            "ND: who is the DUT",
            Answered,
            solicitation(tester, group, dut),
        ),
        case(
            "ND: who is the DUT, asked alone",
            Answered,
            solicitation(tester, dut, dut),
        ),
        case(
            "ND: is it taken",
            Answered,
            solicitation(Ipv6Addr::UNSPECIFIED, group, dut),
        ),
        case(
            "ND: the other port",
            Any,
            solicitation(tester, group, plan::DUT_V6[1]),
        ),
        case(
            "ND: a host beyond",
            Any,
            solicitation(tester, group, plan::HOST_V6[1]),
        ),
        case("ND: the tester", Any, solicitation(tester, group, tester)),
        case(
            "ND: hop limit 254",
            Dropped,
            edited(&|frame| frame[21] = 254),
        ),
        case(
            "ND: wrong checksum",
            Dropped,
            edited(&|frame| frame[56] ^= 1),
        ),
        case(
            "ND: an option of no length",
            Dropped,
            edited(&|frame| frame[79] = 0),
        ),
        case(
            "ND: to another station",
            Dropped,
            edited(&|frame| frame[0] = 2),
        ),
    ]
}

fn messages() -> Vec<Case> {
    let original = udp6_with(&local(protocol::UDP), b"data")[14..].to_vec();
    let mut cases = Vec::new();
    for kind in [
        1, 2, 3, 4, 100, 127, 129, 133, 134, 136, 137, 138, 139, 143, 160, 255,
    ] {
        for hop_limit in [64, 255] {
            let repr = Repr {
                hop_limit,
                ..local(protocol::ICMPV6)
            };
            let message = icmp::Repr::new(kind, [0, 0, 5, 0], &original)
                .to_bytes(Over::V6(repr.source, repr.destination));
            let name = format!("DUT: ICMPv6 {kind}, hop limit {hop_limit}");
            cases.push(case(name, Any, six(&repr, &message)));
        }
    }
    cases
}
