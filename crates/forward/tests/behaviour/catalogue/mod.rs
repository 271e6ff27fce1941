//! Frames that a router must treat right: ordinary, odd and wrong ones, by
//! layer. Each says what kernel routing does with it, so that two DUTs which
//! drop everything are not called alike.

mod addresses;
mod ipv4;
mod ipv4_local;
mod ipv6;
mod ipv6_local;
mod link;
pub mod neighbour;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use wire::checksum::Pseudo;
use wire::icmp::{self, Over};
use wire::{EtherType, ethernet, protocol, udp};

use crate::behaviour::changes::{LOCAL_V4, LOCAL_V6};
use crate::behaviour::plan;
use crate::behaviour::probe::Output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Forwarded,
    Answered,
    Dropped,
    Any,
}

impl Expect {
    pub fn fits(self, port: usize, output: &Output) -> bool {
        let [back, on] = [!output[port].is_empty(), !output[1 - port].is_empty()];
        match self {
            Self::Forwarded => on && !back,
            Self::Answered => back && !on,
            Self::Dropped => !back && !on,
            Self::Any => true,
        }
    }
}

/// A frame for one of the DUT's ports.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub port: usize,
    pub frame: Vec<u8>,
    pub expect: Expect,
}

pub fn case(name: impl Into<String>, expect: Expect, frame: Vec<u8>) -> Case {
    Case {
        name: name.into(),
        port: 0,
        frame,
        expect,
    }
}

impl Case {
    /// The same, into the other port; the frame must be made for it.
    pub fn into_port(self, port: usize) -> Self {
        Self { port, ..self }
    }
}

/// All frames, in an order that matters only for fragments of one packet.
pub fn all() -> Vec<Case> {
    let mut cases = link::cases();
    cases.extend(ipv4::cases());
    cases.extend(ipv4_local::cases());
    cases.extend(ipv6::cases());
    cases.extend(addresses::cases());
    cases.extend(ipv6_local::cases());
    cases
}

pub fn ethernet(port: usize, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    ethernet::Repr {
        destination: plan::DUT[port],
        source: plan::TESTER[port],
        ether_type,
    }
    .to_bytes(payload)
}

/// An IPv4 header from the host behind port 0 to the one behind port 1.
pub fn across4(protocol: u8) -> wire::ipv4::Repr {
    wire::ipv4::Repr::new(plan::HOST_V4[0], plan::HOST_V4[1], protocol)
}

/// A header from another host behind port 0 each time: kernels limit how often
/// one sender gets an error about something that cannot be reached.
pub fn fresh4(destination: Ipv4Addr) -> wire::ipv4::Repr {
    static COUNT: AtomicU16 = AtomicU16::new(0x100);
    let [a, b] = COUNT.fetch_add(1, Relaxed).to_be_bytes();
    let source = Ipv4Addr::new(198, 18, a, b);
    wire::ipv4::Repr::new(source, destination, protocol::UDP)
}

/// An IPv6 header from the host behind port 0 to the one behind port 1.
pub fn across6(next_header: u8) -> wire::ipv6::Repr {
    wire::ipv6::Repr::new(plan::HOST_V6[0], plan::HOST_V6[1], next_header)
}

pub fn four(repr: &wire::ipv4::Repr, payload: &[u8]) -> Vec<u8> {
    ethernet(0, EtherType::IPV4, &repr.to_bytes(payload).unwrap())
}

pub fn six(repr: &wire::ipv6::Repr, payload: &[u8]) -> Vec<u8> {
    ethernet(0, EtherType::IPV6, &repr.to_bytes(payload).unwrap())
}

const PORTS: udp::Repr = udp::Repr {
    source_port: 1024,
    destination_port: 7,
};

pub fn udp4(source: Ipv4Addr, destination: Ipv4Addr, data: &[u8]) -> Vec<u8> {
    PORTS
        .to_bytes(&Pseudo::V4(source, destination), data)
        .unwrap()
}

pub fn udp6(source: Ipv6Addr, destination: Ipv6Addr, data: &[u8]) -> Vec<u8> {
    PORTS
        .to_bytes(&Pseudo::V6(source, destination), data)
        .unwrap()
}

pub fn udp4_with(repr: &wire::ipv4::Repr, data: &[u8]) -> Vec<u8> {
    four(repr, &udp4(repr.source, repr.destination, data))
}

pub fn udp6_with(repr: &wire::ipv6::Repr, data: &[u8]) -> Vec<u8> {
    six(repr, &udp6(repr.source, repr.destination, data))
}

/// A datagram of either family, into port 0.
fn datagram(source: IpAddr, destination: IpAddr, data: &[u8]) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let repr = wire::ipv4::Repr::new(source, destination, protocol::UDP);
            udp4_with(&repr, data)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let repr = wire::ipv6::Repr::new(source, destination, protocol::UDP);
            udp6_with(&repr, data)
        }
        _ => panic!("{source} and {destination} are of two families"),
    }
}

/// An echo request of either family, into port 0.
fn echo(source: IpAddr, destination: IpAddr) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let repr = wire::ipv4::Repr::new(source, destination, protocol::ICMPV4);
            four(&repr, &echo4(b"data"))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let repr = wire::ipv6::Repr::new(source, destination, protocol::ICMPV6);
            six(&repr, &echo6(source, destination, b"data"))
        }
        _ => panic!("{source} and {destination} are of two families"),
    }
}

pub fn plain4(port: usize) -> Vec<u8> {
    let (source, destination) = (plan::HOST_V4[port], plan::HOST_V4[1 - port]);
    into_port(
        port,
        datagram(source.into(), destination.into(), &[0x5a; 30]),
    )
}

pub fn plain6(port: usize) -> Vec<u8> {
    let (source, destination) = (plan::HOST_V6[port], plan::HOST_V6[1 - port]);
    into_port(
        port,
        datagram(source.into(), destination.into(), &[0x5a; 30]),
    )
}

/// A frame for port 0, readdressed to this port.
fn into_port(port: usize, mut frame: Vec<u8>) -> Vec<u8> {
    wire::ethernet::readdress(&mut frame, plan::TESTER[port], plan::DUT[port]).unwrap();
    frame
}

pub fn echo4(data: &[u8]) -> Vec<u8> {
    icmp::Repr::new(icmp::v4::ECHO_REQUEST, icmp::echo(1, 2), data).to_bytes(Over::V4)
}

pub fn echo6(source: Ipv6Addr, destination: Ipv6Addr, data: &[u8]) -> Vec<u8> {
    icmp::Repr::new(icmp::v6::ECHO_REQUEST, icmp::echo(1, 2), data)
        .to_bytes(Over::V6(source, destination))
}

pub fn tcp_syn(pseudo: &Pseudo, port: u16) -> Vec<u8> {
    let mut bytes = vec![0x04, 0x00];
    bytes.extend(port.to_be_bytes());
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x02, 0x20, 0, 0, 0, 0, 0]);
    let checksum = wire::checksum::Sum::new()
        .over_pseudo(pseudo, protocol::TCP, bytes.len())
        .over(&bytes)
        .finish();
    bytes[16..18].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// Whether an untagged IPv4 frame has one of the DUT's addresses as its source.
pub fn pretends_to_be_the_dut(frame: &[u8]) -> bool {
    let source = |address: Ipv4Addr| frame.get(26..30) == Some(&address.octets());
    frame.get(12..14) == Some(&[8, 0]) && plan::DUT_V4.into_iter().any(source)
}

/// The same frame the other way: for the other port and, where it goes from one
/// host to the other, from that to this. No checksum sees the difference.
pub fn mirrored(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let from = usize::from(frame[..6] == plan::DUT[1] || frame[6..12] == plan::TESTER[1]);
    if frame[..6] == plan::DUT[from] {
        frame[..6].copy_from_slice(&plan::DUT[1 - from]);
    }
    if frame[6..12] == plan::TESTER[from] {
        frame[6..12].copy_from_slice(&plan::TESTER[1 - from]);
    }
    let four = plan::HOST_V4.map(|host| host.octets());
    let six = plan::HOST_V6.map(|host| host.octets());
    if frame.len() >= 34 && frame[26..30] == four[from] && frame[30..34] == four[1 - from] {
        frame[26..34].rotate_left(4);
    }
    if frame.len() >= 54 && frame[22..38] == six[from] && frame[38..54] == six[1 - from] {
        frame[22..54].rotate_left(16);
    }
    frame
}

/// The IPv4 header of an untagged frame, changed, with its checksum put right.
pub fn edited4(mut frame: Vec<u8>, edit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let header = &mut frame[14..34];
    edit(header);
    header[10..12].fill(0);
    let checksum = wire::checksum::of(header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame
}

/// Frames that show whether a path follows a change of the kernel's tables, and
/// the ports they go into.
pub fn of_changes() -> Vec<(usize, Vec<u8>)> {
    let to4 = |destination, dont_fragment, length| {
        let repr = wire::ipv4::Repr {
            dont_fragment,
            ..fresh4(destination)
        };
        (0, udp4_with(&repr, &vec![2; length]))
    };
    let to6 = |destination, length| {
        let repr = wire::ipv6::Repr {
            destination,
            ..across6(protocol::UDP)
        };
        (0, udp6_with(&repr, &vec![2; length]))
    };
    let (four, six) = (plan::HOST_V4[1], plan::HOST_V6[1]);
    vec![
        (1, plain4(1)),
        (1, plain6(1)),
        to4(four, false, 30),
        to4(four, false, 1330),
        to4(four, true, 1330),
        to4(LOCAL_V4, false, 30),
        to4(plan::TESTER_V4[1], false, 30),
        to6(six, 30),
        to6(six, 1310),
        to6(LOCAL_V6, 30),
        to6(plan::TESTER_V6[1], 30),
    ]
}
