//! IPv4 and ARP for the DUT itself.

use wire::icmp::{self, Over};
use wire::ipv4::{Fragment, Repr};
use wire::{EtherType, arp, protocol};

use super::Expect::{Answered, Any, Dropped};
use super::{Case, case, echo4, ethernet, four, tcp_syn, udp4_with};
use crate::behaviour::plan;

pub fn cases() -> Vec<Case> {
    let mut cases = services();
    cases.extend(messages());
    cases.extend(fragments());
    cases.extend(resolution());
    cases
}

fn local(protocol: u8) -> Repr {
    Repr::new(plan::TESTER_V4[0], plan::DUT_V4[0], protocol)
}

fn services() -> Vec<Case> {
    let repr = local(protocol::UDP);
    let pseudo = wire::checksum::Pseudo::V4(repr.source, repr.destination);
    let mut wrong = udp4_with(&repr, b"data");
    wrong[40] ^= 1;
    let tcp = four(&local(protocol::TCP), &tcp_syn(&pseudo, 80));
    vec![
        case(
            "DUT: UDP to a closed port",
            Answered,
            udp4_with(&repr, b"data"),
        ),
        case("DUT: UDP, long", Answered, udp4_with(&repr, &[4; 1400])),
        case("DUT: UDP with a wrong checksum", Dropped, wrong),
        case("DUT: TCP to a closed port", Answered, tcp),
        case(
            "DUT: a protocol it lacks",
            Answered,
            four(&local(253), b"data"),
        ),
        case(
            "DUT: a cut TCP header",
            Dropped,
            four(&local(protocol::TCP), &[0; 12]),
        ),
    ]
}

fn messages() -> Vec<Case> {
    let send = |name: &str, expect, bytes: &[u8]| {
        let frame = four(&local(protocol::ICMPV4), bytes);
        case(format!("DUT: {name}"), expect, frame)
    };
    let mut cases = Vec::new();
    for length in [0, 1, 7, 56, 1000, 1472] {
        let echo = echo4(&vec![6; length]);
        cases.push(send(&format!("echo of {length}"), Answered, &echo));
    }
    let mut wrong = echo4(b"data");
    wrong[2] ^= 1;
    cases.push(send("echo with a wrong checksum", Dropped, &wrong));
    let original = local(protocol::UDP).to_bytes(&[0; 8]).unwrap();
    for kind in [
        0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 15, 17, 18, 30, 40, 42, 255,
    ] {
        for code in [0, 4] {
            let message = icmp::Repr {
                code,
                ..icmp::Repr::new(kind, [0, 0, 2, 0], &original)
            };
            let name = format!("message {kind} {code}");
            cases.push(send(&name, Any, &message.to_bytes(Over::V4)));
        }
    }
    cases
}

/// A packet in pieces is answered once it is whole, in any order.
fn fragments() -> Vec<Case> {
    let message = echo4(&[8; 32]);
    let piece = |identification, from: usize, to: usize| Repr {
        identification,
        fragment: Fragment::new(from as u32, to < message.len()).unwrap(),
        ..local(protocol::ICMPV4)
    };
    let send = |name: &str, expect, identification, from: usize, to: usize| {
        let frame = four(&piece(identification, from, to), &message[from..to]);
        case(format!("DUT: {name}"), expect, frame)
    };
    vec![
        send("first piece", Dropped, 0x101, 0, 16),
        send("last piece", Answered, 0x101, 16, 40),
        send("last piece first", Dropped, 0x102, 24, 40),
        send("first piece last", Answered, 0x102, 0, 24),
        send("a piece", Dropped, 0x103, 8, 24),
        send("a piece over it", Dropped, 0x103, 16, 40),
    ]
}

fn resolution() -> Vec<Case> {
    let ask = arp::Repr {
        operation: arp::Operation::REQUEST,
        sender_ethernet: plan::TESTER[0],
        sender: plan::TESTER_V4[0],
        target_ethernet: [0; 6],
        target: plan::DUT_V4[0],
    };
    let to = |name: &str, expect, destination: [u8; 6], bytes: &[u8]| {
        let mut frame = ethernet(0, EtherType::ARP, bytes);
        frame[..6].copy_from_slice(&destination);
        case(format!("ARP: {name}"), expect, frame)
    };
    let all = |name: &str, expect, repr: arp::Repr| to(name, expect, [0xff; 6], &repr.to_bytes());
    let about = |target| arp::Repr { target, ..ask };
    let reply = arp::Repr {
        operation: arp::Operation::REPLY,
        target_ethernet: plan::DUT[0],
        ..ask
    };
    let mut other_hardware = ask.to_bytes();
    other_hardware[1] = 6;
    let mut padded = ask.to_bytes().to_vec();
    padded.resize(46, 0);
    let mut cases = vec![
        all("who is the DUT", Answered, ask),
        to(
            "who is the DUT, asked alone",
            Answered,
            plan::DUT[0],
            &ask.to_bytes(),
        ),
        to("who is the DUT, padded", Answered, [0xff; 6], &padded),
        to(
            "who is the DUT, to another",
            Dropped,
            [2, 0, 0, 0, 9, 9],
            &ask.to_bytes(),
        ),
        to("another hardware", Any, [0xff; 6], &other_hardware),
        all("who is the other port", Any, about(plan::DUT_V4[1])),
        all("who is the tester", Any, about(plan::TESTER_V4[0])),
        all("who is a host beyond", Any, about(plan::HOST_V4[1])),
        all("who is the broadcast address", Any, about([255; 4].into())),
        all(
            "a probe",
            Any,
            arp::Repr {
                sender: [0; 4].into(),
                ..ask
            },
        ),
        all(
            "from the DUT's address",
            Any,
            arp::Repr {
                sender: plan::DUT_V4[0],
                ..ask
            },
        ),
        all("gratuitous", Dropped, about(plan::TESTER_V4[0])),
        all("an answer", Dropped, reply),
        all(
            "operation 3",
            Any,
            arp::Repr {
                operation: arp::Operation(3),
                ..ask
            },
        ),
    ];
    for length in [0, 1, 8, 27] {
        let cut = &ask.to_bytes()[..length];
        cases.push(to(&format!("cut to {length}"), Dropped, [0xff; 6], cut));
    }
    cases
}
