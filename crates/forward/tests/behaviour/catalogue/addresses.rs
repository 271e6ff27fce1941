//! Sources and destinations of IP packets: what is odd about one shows in the routing
//! table only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Expect::{self, Answered, Any, Dropped, Forwarded};
use super::{Case, case, datagram, echo, fresh4};
use crate::behaviour::plan;

const ODD: &str = "
    0.0.0.0 0.0.0.1 0.255.255.255 10.1.2.3 127.0.0.1 127.255.255.255 128.0.0.0
    169.254.1.1 172.16.0.1 192.0.0.1 192.0.2.0 192.0.2.1 192.0.2.2 192.0.2.3
    192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.7 192.0.2.8 192.88.99.1 192.168.1.1
    198.18.0.0 198.18.0.7 198.18.255.255 198.19.0.0 198.19.0.7 198.19.255.255
    203.0.113.1 203.0.113.65 203.0.113.129 203.0.113.193 223.255.255.255 224.0.0.1
    224.0.0.2 224.0.0.5 224.0.1.1 239.255.255.250 240.0.0.1 255.0.0.0
    255.255.255.254 255.255.255.255
    :: ::1 ::2 ::ffff:1.2.3.4 ::1.2.3.4 64:ff9b::1 100::1 2001::1 2001:db8::1
    2001:2:: 2001:2::7 2001:2:0:1:: 2001:2:0:1::7 2001:2:0:ff00:: 2001:2:0:ff00::1
    2001:2:0:ff00::2 2001:2:0:ff00::3 2001:2:0:ff01:: 2001:2:0:ff01::1
    2001:2:0:ff01::2 2001:2:0:b0::1 2001:2:0:b1::1 2001:2:0:b2::1 2002::1 3ffe::1
    fc00::1 fe80::1 fe80::ff:fe00:200 fe80::ff:fe00:201 fec0::1 ff00::1 ff01::1
    ff02::1 ff02::2 ff02::1:ff00:1 ff02::16 ff05::1 ff05::2 ff0e::1 ffff::1
";

/// Destinations of either family, and what becomes of packets to them.
const KNOWN: [(&str, Ipv4Addr, Ipv6Addr, Expect); 7] = {
    use plan::*;
    [
        ("no route", NO_ROUTE_V4, NO_ROUTE_V6, Answered),
        ("a black hole", BLACKHOLE_V4, BLACKHOLE_V6, Dropped),
        ("the unreachable", UNREACHABLE_V4, UNREACHABLE_V6, Answered),
        ("the forbidden", PROHIBITED_V4, PROHIBITED_V6, Answered),
        ("the DUT", DUT_V4[0], DUT_V6[0], Answered),
        ("the DUT's other port", DUT_V4[1], DUT_V6[1], Answered),
        (
            "the tester's other port",
            TESTER_V4[1],
            TESTER_V6[1],
            Forwarded,
        ),
    ]
};

const NO_ROUTE_V4: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
const NO_ROUTE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Sources that no packet may have.
const SPOOFED: [(&str, IpAddr); 8] = [
    ("the DUT", IpAddr::V4(plan::DUT_V4[0])),
    ("the DUT's other port", IpAddr::V4(plan::DUT_V4[1])),
    ("a group", IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1))),
    ("the broadcast", IpAddr::V4(Ipv4Addr::BROADCAST)),
    ("the loopback", IpAddr::V4(Ipv4Addr::LOCALHOST)),
    ("the unspecified", IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
    ("the loopback", IpAddr::V6(Ipv6Addr::LOCALHOST)),
    (
        "a group",
        IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)),
    ),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |what: &str, of: IpAddr, name: &str, expect, frame| {
        let family = if of.is_ipv4() { "IPv4" } else { "IPv6" };
        cases.push(case(format!("{family} {what} {name}"), expect, frame));
    };
    for address in ODD.split_whitespace() {
        let odd: IpAddr = address.parse().unwrap();
        add("from", odd, address, Any, from(odd));
        add("to", odd, address, Any, to(odd));
        add("echo to", odd, address, Any, echo(sender_to(odd), odd));
    }
    for (name, four, six, expect) in KNOWN {
        for known in [IpAddr::V4(four), IpAddr::V6(six)] {
            add("to", known, name, expect, to(known));
        }
    }
    for (name, source) in SPOOFED {
        add("as if from", source, name, Dropped, from(source));
    }
    let back = Ipv4Addr::new(198, 18, 9, 9).into();
    let frame = datagram(plan::HOST_V4[0].into(), back, b"data");
    add("back", back, "where it came from", Answered, frame);
    cases
}

/// From `source` to the host behind port 1.
fn from(source: IpAddr) -> Vec<u8> {
    let destination = match source {
        IpAddr::V4(_) => plan::HOST_V4[1].into(),
        IpAddr::V6(_) => plan::HOST_V6[1].into(),
    };
    datagram(source, destination, b"data")
}

fn to(destination: IpAddr) -> Vec<u8> {
    datagram(sender_to(destination), destination, b"data")
}

/// A host behind port 0; of IPv4 another each time.
fn sender_to(destination: IpAddr) -> IpAddr {
    match destination {
        IpAddr::V4(address) => fresh4(address).source.into(),
        IpAddr::V6(_) => plan::HOST_V6[0].into(),
    }
}
