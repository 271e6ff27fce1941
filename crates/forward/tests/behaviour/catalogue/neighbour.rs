//! A frame for a next hop that is not known, and the answer of that hop.

use wire::icmp::{self, Over};
use wire::{EtherType, arp, protocol};

use super::{ethernet, fresh4, into_port, six, udp4_with, udp6_with};
use crate::behaviour::plan;

pub fn frames() -> [(Vec<u8>, Vec<u8>); 2] {
    [(question4(), answer4()), (question6(), answer6())]
}

fn question4() -> Vec<u8> {
    udp4_with(&fresh4(plan::SILENT_V4), b"data")
}

fn answer4() -> Vec<u8> {
    let reply = arp::Repr {
        operation: arp::Operation::REPLY,
        sender_ethernet: plan::TESTER[1],
        sender: plan::SILENT_V4,
        target_ethernet: plan::DUT[1],
        target: plan::DUT_V4[1],
    };
    ethernet(1, EtherType::ARP, &reply.to_bytes())
}

fn question6() -> Vec<u8> {
    let repr = wire::ipv6::Repr::new(plan::HOST_V6[0], plan::SILENT_V6, protocol::UDP);
    udp6_with(&repr, b"data")
}

fn answer6() -> Vec<u8> {
    let data = [&plan::SILENT_V6.octets()[..], &[2, 1], &plan::TESTER[1]].concat();
    // Solicited, and in the place of what was known.
    let reply = icmp::Repr::new(icmp::v6::NEIGHBOUR_ADVERTISEMENT, [0x60, 0, 0, 0], &data);
    let (source, destination) = (plan::SILENT_V6, plan::DUT_V6[1]);
    let repr = wire::ipv6::Repr {
        hop_limit: 255,
        ..wire::ipv6::Repr::new(source, destination, protocol::ICMPV6)
    };
    into_port(
        1,
        six(&repr, &reply.to_bytes(Over::V6(source, destination))),
    )
}
