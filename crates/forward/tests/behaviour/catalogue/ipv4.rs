//! IPv4 packets to be sent on, or not.

use std::net::Ipv4Addr;

use wire::icmp::{self, Over};
use wire::ipv4::{Fragment, Options, Repr};
use wire::protocol;

use super::Expect::{self, Answered, Any, Dropped, Forwarded};
use super::{Case, across4, case, echo4, edited4, four, plain4, udp4_with};
use crate::behaviour::plan;

pub fn cases() -> Vec<Case> {
    let mut cases = headers();
    cases.extend(checksums());
    cases.extend(hops());
    cases.extend(sizes());
    cases.extend(fragments());
    cases.extend(options());
    cases.extend(protocols());
    cases
}

fn headers() -> Vec<Case> {
    let frame = plain4(0);
    let edit = |name: String, expect, edit: &dyn Fn(&mut [u8])| {
        case(name, expect, edited4(frame.clone(), |header| edit(header)))
    };
    let mut cases = Vec::new();
    for version in (0..16).filter(|version| *version != 4) {
        let name = format!("IPv4 version {version}");
        cases.push(edit(name, Dropped, &|header| header[0] = version << 4 | 5));
    }
    for words in (0..16).filter(|words| *words != 5) {
        let name = format!("IPv4 header of {words} words");
        cases.push(edit(name, Any, &|header| header[0] = 0x40 | words));
    }
    let total = (frame.len() - 14) as u16;
    for (length, expect) in [
        (0, Dropped),
        (1, Dropped),
        (19, Dropped),
        (20, Forwarded),
        (21, Forwarded),
        (28, Forwarded),
        (total - 1, Forwarded),
        (total + 1, Dropped),
        (1500, Dropped),
        (0xffff, Dropped),
    ] {
        cases.push(edit(
            format!("IPv4 total length {length}"),
            expect,
            &|header| {
                header[2..4].copy_from_slice(&u16::to_be_bytes(length));
            },
        ));
    }
    for class in [1, 2, 3, 4, 0x10, 0x1e, 0xb8, 0xff] {
        let name = format!("IPv4 traffic class {class:#x}");
        cases.push(edit(name, Forwarded, &|header| header[1] = class));
    }
    cases
}

/// Wrong by each bit; right ones at the ends of the one's complement, where an
/// update in place may carry.
fn checksums() -> Vec<Case> {
    let mut cases = Vec::new();
    for bit in 0..16 {
        let mut frame = plain4(0);
        frame[24 + bit / 8] ^= 1 << (bit % 8);
        let name = format!("IPv4 checksum wrong in bit {bit}");
        cases.push(case(name, Dropped, frame));
    }
    for value in [0, 0xffff] {
        let mut frame = plain4(0);
        frame[24..26].copy_from_slice(&u16::to_be_bytes(value));
        let name = format!("IPv4 checksum {value:#x}, wrong");
        cases.push(case(name, Dropped, frame));
    }
    let edges = [
        0x0000, 0x0001, 0x00ff, 0x0100, 0xfdff, 0xfe00, 0xfefe, 0xfeff, 0xff00, 0xfffe,
    ];
    for wanted in edges {
        let frame = with_checksum(wanted);
        let name = format!("IPv4 checksum {wanted:#06x}, right");
        cases.push(case(name, Forwarded, frame));
    }
    // 0 can be written as its complement, too.
    let mut frame = with_checksum(0);
    frame[24..26].fill(0xff);
    cases.push(case("IPv4 checksum 0 as 0xffff", Forwarded, frame));
    cases
}

fn with_checksum(wanted: u16) -> Vec<u8> {
    let found = (0..=u16::MAX).find_map(|identification| {
        let repr = Repr {
            identification,
            ..across4(protocol::UDP)
        };
        let frame = udp4_with(&repr, &[]);
        (frame[24..26] == wanted.to_be_bytes()).then_some(frame)
    });
    found.expect("the identification has as many values as the checksum")
}

fn hops() -> Vec<Case> {
    let with =
        |name: &str, expect, repr: Repr, payload: &[u8]| case(name, expect, four(&repr, payload));
    let base = across4(protocol::UDP);
    let udp = |ttl, expect| {
        let name = format!("IPv4 time to live {ttl}");
        case(name, expect, udp4_with(&Repr { ttl, ..base }, &[1; 20]))
    };
    let last = |protocol| Repr {
        ttl: 1,
        ..across4(protocol)
    };
    let quote = four(&base, &[0; 8])[14..].to_vec();
    let error = icmp::Repr::new(icmp::v4::TIME_EXCEEDED, [0; 4], &quote).to_bytes(Over::V4);
    let later = Fragment::new(8, false).unwrap();
    let long = udp4_with(&last(protocol::UDP), &[7; 1300]);
    vec![
        udp(0, Answered),
        udp(1, Answered),
        udp(2, Forwarded),
        udp(64, Forwarded),
        udp(255, Forwarded),
        case("IPv4 last hop, long packet", Answered, long),
        with(
            "IPv4 last hop, echo",
            Answered,
            last(protocol::ICMPV4),
            &echo4(b"x"),
        ),
        with(
            "IPv4 last hop, error",
            Dropped,
            last(protocol::ICMPV4),
            &error,
        ),
        with(
            "IPv4 last hop, later fragment",
            Dropped,
            Repr {
                fragment: later,
                ..last(protocol::UDP)
            },
            &[0; 16],
        ),
        with(
            "IPv4 last hop, no way",
            Any,
            Repr {
                destination: Ipv4Addr::new(8, 8, 8, 8),
                ..last(protocol::UDP)
            },
            &[0; 16],
        ),
        with(
            "IPv4 last hop, for the DUT",
            Any,
            Repr {
                destination: plan::DUT_V4[1],
                ..last(protocol::ICMPV4)
            },
            &echo4(b"x"),
        ),
    ]
}

fn sizes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (total, fits) in [
        (1279, true),
        (1399, true),
        (1400, true),
        (1401, false),
        (1402, false),
        (1499, false),
        (1500, false),
    ] {
        for dont_fragment in [false, true] {
            let repr = Repr {
                dont_fragment,
                identification: 0x1234,
                ..across4(protocol::UDP)
            };
            let expect = if fits || !dont_fragment {
                Forwarded
            } else {
                Answered
            };
            let name = format!("IPv4 of {total} bytes, df {dont_fragment}");
            cases.push(case(name, expect, udp4_with(&repr, &vec![3; total - 28])));
        }
    }
    // A port takes four bytes more than its MTU, for a tag.
    for total in 1501..=1505 {
        let frame = udp4_with(&across4(protocol::UDP), &vec![3; total - 28]);
        cases.push(case(format!("IPv4 of {total} bytes"), Any, frame));
    }
    let mut padded = udp4_with(&across4(protocol::UDP), &vec![3; 1400 - 28]);
    padded.resize(1480, 0);
    let name = "IPv4 of 1400 bytes in a frame of 1480";
    cases.push(case(name, Forwarded, padded));
    cases
}

fn fragments() -> Vec<Case> {
    let mut cases = Vec::new();
    for (offset, more) in [
        (0, true),
        (8, true),
        (8, false),
        (1480, true),
        (65_528, false),
    ] {
        for dont_fragment in [false, true] {
            for length in [1, 8, 1000, 1408] {
                let repr = Repr {
                    fragment: Fragment::new(offset, more).unwrap(),
                    dont_fragment,
                    identification: 0x77,
                    ..across4(protocol::UDP)
                };
                let name = format!("IPv4 fragment {offset} {more} of {length}, df {dont_fragment}");
                let expect = if length > 1380 && dont_fragment {
                    Any
                } else {
                    Forwarded
                };
                cases.push(case(name, expect, four(&repr, &vec![9; length])));
            }
        }
    }
    let reserved = edited4(plain4(0), |header| header[6] |= 0x80);
    cases.push(case("IPv4 reserved flag", Forwarded, reserved));
    cases
}

fn options() -> Vec<Case> {
    let with = |name: &str, expect: Expect, options: &[u8]| {
        let repr = Repr {
            options: Options::new(options).unwrap(),
            ..across4(protocol::UDP)
        };
        case(
            format!("IPv4 option: {name}"),
            expect,
            udp4_with(&repr, b"data"),
        )
    };
    let gateway = plan::TESTER_V4[1].octets();
    let [a, b, c, d] = gateway;
    let mut full = vec![7, 39, 40];
    full.resize(39, 0);
    vec![
        with("no operations", Forwarded, &[1; 4]),
        with("no operations, all 40", Forwarded, &[1; 40]),
        with("end", Forwarded, &[0; 4]),
        with("end, then rubbish", Forwarded, &[0, 7, 1, 99]),
        with("route, room for one", Forwarded, &[7, 7, 4, 0, 0, 0, 0]),
        with(
            "route, room for two",
            Forwarded,
            &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        with("route, full", Forwarded, &[7, 7, 8, 1, 2, 3, 4]),
        with("route, all 39", Forwarded, &full),
        with("route, pointer 0", Any, &[7, 7, 0, 0, 0, 0, 0]),
        with("route, pointer between", Any, &[7, 7, 6, 0, 0, 0, 0]),
        with("route, length 2", Any, &[7, 2, 1, 1]),
        with(
            "route twice",
            Any,
            &[7, 7, 4, 0, 0, 0, 0, 7, 7, 4, 0, 0, 0, 0],
        ),
        with("length 0", Any, &[7, 0, 4, 0]),
        with("length 1", Any, &[7, 1, 4, 0]),
        with("length beyond the header", Any, &[7, 40, 4, 0]),
        with("cut at its length", Any, &[1, 1, 1, 7]),
        with("time", Forwarded, &[68, 8, 5, 0, 0, 0, 0, 0]),
        with(
            "time and address",
            Forwarded,
            &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        with("time, full", Forwarded, &[68, 8, 9, 0, 1, 2, 3, 4]),
        with(
            "time, overflow at its end",
            Any,
            &[68, 8, 9, 0xf0, 1, 2, 3, 4],
        ),
        with(
            "time of named, not the DUT",
            Forwarded,
            &[68, 12, 5, 3, a, b, c, d, 0, 0, 0, 0],
        ),
        with(
            "time of the DUT",
            Forwarded,
            &[68, 12, 5, 3, 192, 0, 2, 1, 0, 0, 0, 0],
        ),
        with("time, wrong flag", Any, &[68, 8, 5, 9, 0, 0, 0, 0]),
        with("loose route", Any, &[131, 7, 4, a, b, c, d]),
        with("strict route", Any, &[137, 7, 4, a, b, c, d]),
        with("loose route, done", Any, &[131, 7, 8, a, b, c, d]),
        with("router alert", Forwarded, &[148, 4, 0, 0]),
        with("router alert, another value", Any, &[148, 4, 1, 0]),
        with("security", Forwarded, &[130, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        with("CIPSO", Any, &[134, 8, 0, 0, 0, 1, 1, 2]),
        with("stream", Forwarded, &[136, 4, 0, 1]),
        with("unknown", Any, &[0x5e, 4, 1, 2]),
        with("unknown, copied", Any, &[0xde, 4, 1, 2]),
    ]
}

fn protocols() -> Vec<Case> {
    let mut cases = Vec::new();
    for number in [
        0, 1, 2, 4, 6, 17, 41, 46, 47, 50, 51, 58, 89, 103, 112, 132, 136, 253, 255,
    ] {
        for length in [0, 1, 4, 8, 64] {
            let name = format!("IPv4 protocol {number} with {length} bytes");
            let frame = four(&across4(number), &vec![0xa5; length]);
            cases.push(case(name, Forwarded, frame));
        }
    }
    let pseudo = wire::checksum::Pseudo::V4(plan::HOST_V4[0], plan::HOST_V4[1]);
    let syn = super::tcp_syn(&pseudo, 80);
    let name = "IPv4 TCP";
    cases.push(case(name, Forwarded, four(&across4(protocol::TCP), &syn)));
    let echo = four(&across4(protocol::ICMPV4), &echo4(b"hello"));
    cases.push(case("IPv4 echo", Forwarded, echo));
    let mut no_checksum = plain4(0);
    no_checksum[40..42].fill(0);
    cases.push(case("IPv4 UDP without checksum", Forwarded, no_checksum));
    let mut wrong = plain4(0);
    wrong[40] ^= 1;
    cases.push(case("IPv4 UDP with a wrong checksum", Forwarded, wrong));
    cases
}
