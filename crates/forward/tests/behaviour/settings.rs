//! What a path must hear of, besides changes of its tables: settings, neighbours
//! that fall silent, several next hops.

use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use wire::icmp::{self, Over};
use wire::protocol;

use crate::behaviour::catalogue::{self, neighbour};
use crate::behaviour::plan;
use crate::behaviour::probe::Pair;
use crate::behaviour::rig::Rig;

/// How long after a change a path may be out of date, with time for a busy machine.
const SETTLED: Duration = Duration::from_millis(500);

/// Sources that belong behind another port are dropped where a setting says
/// so (RFC 3704).
pub fn strict_sources(pair: &mut Pair) {
    for value in ["1", "2", "0"] {
        for rig in pair.both() {
            rig.set("ipv4", "rp_filter", value);
        }
        std::thread::sleep(SETTLED);
        let mut base = catalogue::across4(wire::protocol::UDP);
        for source in [
            plan::HOST_V4[0],
            plan::HOST_V4[1],
            plan::TESTER_V4[0],
            plan::TESTER_V4[1],
            plan::BLACKHOLE_V4,
            plan::SILENT_V4,
            [8, 8, 8, 8].into(),
        ] {
            base.source = source;
            let frame = catalogue::udp4_with(&base, b"data");
            for _ in 0..2 {
                if let Err(difference) = pair.compare(0, &frame) {
                    panic!("rp_filter {value}: {}", difference.0);
                }
            }
        }
    }
}

/// Linux forwards IPv6 if it does on all links, whatever the port says.
pub fn ipv6_at_the_ports_only(pair: &mut Pair) {
    for (all, port) in [("0", "1"), ("1", "1")] {
        for rig in pair.both() {
            // Setting it for all sets it for each.
            rig.set("ipv6", "forwarding", all);
            for (link, _) in &rig.links {
                let name = format!("ipv6/conf/{link}/forwarding");
                rig.dut.set_sysctl(&name, port).unwrap();
            }
        }
        std::thread::sleep(SETTLED);
        for frame in [catalogue::plain6(0), catalogue::plain4(0)] {
            for _ in 0..2 {
                if let Err(difference) = pair.compare(0, &frame) {
                    panic!("all {all}, port {port}: {}", difference.0);
                }
            }
        }
    }
}

/// Frames are the program's own, not the kernel's, where it has one.
fn forwards_itself(pair: &mut Pair, frame: &[u8]) {
    forwards_itself_by(pair, 0, frame);
}

fn forwards_itself_by(pair: &mut Pair, port: usize, frame: &[u8]) {
    let counted = || {
        let before = pair.subject.path.forwarded().0;
        pair.same(port, frame);
        (before, pair.subject.path.forwarded().0)
    };
    // The mark that ends a look is one more.
    testing::until(counted, |(before, after)| match (before, after) {
        (Some(before), Some(after)) => after - before >= 2,
        _ => true,
    });
}

/// Whether a DUT may use the address of a neighbour, and whether that is stale.
fn known(rig: &Rig, address: IpAddr) -> (bool, bool) {
    let all = rig.dut.netlink().unwrap().neighbours().unwrap();
    let mut found = all.iter().filter(|it| it.address == address);
    let neighbour = found.next();
    neighbour.map_or((false, false), |it| (it.valid, it.stale))
}

/// A neighbour that was not heard of for a while is used, and asked whether it is
/// still there. One that answers stays; one that does not is treated as never known,
/// however many frames went to it.
pub fn stale_neighbours(pair: &mut Pair) {
    for rig in pair.both() {
        rig.set_neighbours("delay_first_probe_time", "1");
        rig.set_neighbours("retrans_time_ms", "100");
        rig.set_neighbours("mcast_solicit", "3");
    }
    let addresses: [IpAddr; 2] = [plan::SILENT_V4.into(), plan::SILENT_V6.into()];
    for ((question, answer), address) in neighbour::frames().into_iter().zip(addresses) {
        becomes_stale(pair, address);
        assert_eq!(pair.same(0, &question)[1].len(), 1);
        let answered = || {
            pair.same(0, &question);
            pair.same(1, &answer);
            pair.both().map(|rig| known(rig, address))
        };
        testing::until(answered, |known| *known == [(true, false); 2]);
        forwards_itself(pair, &question);
        becomes_stale(pair, address);
        let silent = || {
            let looked = pair.looks(&[(0, &question)], Duration::ZERO);
            assert!(looked.is_ok());
            pair.both().map(|rig| known(rig, address).0)
        };
        testing::until(silent, |valid| *valid == [false; 2]);
        is_asked_for(pair, &question);
    }
}

/// With a known address, in both DUTs; they have time to hear of it.
fn becomes_stale(pair: &mut Pair, address: IpAddr) {
    for rig in pair.both() {
        let link = &rig.links[1].0;
        let mut netlink = rig.dut.netlink().unwrap();
        // What it is becomes what it was: an entry that is confirmed stays so.
        let _ = netlink.remove_neighbour(link, address);
        netlink
            .set_stale_neighbour(link, address, plan::TESTER[1])
            .unwrap();
    }
    std::thread::sleep(SETTLED);
}

/// As for a neighbour that was never known: asked for three times, then the sender
/// gets an error.
fn is_asked_for(pair: &mut Pair, question: &[u8]) {
    for rig in pair.both() {
        rig.forget_neighbours();
    }
    std::thread::sleep(SETTLED);
    let looked = pair.looks(&[(0, question)], Duration::from_secs(2));
    let [(reference, _), (subject, _)] = looked.unwrap_or_else(|it| panic!("{}", it.0));
    assert_eq!(reference, subject);
    assert_eq!(reference.each_ref().map(Vec::len), [1, 3]);
}

/// A command of `ip` in both DUTs; `false` where this host lacks what it asks for.
fn ip(pair: &Pair, command: &str) -> bool {
    let ran = pair.both().map(|rig| {
        let command = command.replace("EXIT", &rig.links[1].0);
        let mut ip = Command::new("ip");
        ip.args(command.split(' '));
        let child = rig.dut.spawn_process(ip);
        child.and_then(|mut child| child.wait())
    });
    let is_done =
        |ran: &Result<std::process::ExitStatus, _>| matches!(ran, Ok(status) if status.success());
    let done = ran.iter().all(is_done);
    if !done {
        testing::skipped(format!(
            "'ip {command}' does not work here: {ran:?}; install iproute2, and take a kernel with CONFIG_XFRM_USER and CONFIG_IP_ROUTE_MULTIPATH"
        ));
    }
    done
}

/// Routes may have an MTU of their own, locked or not; longer packets are cut, or their
/// senders told.
pub fn route_mtus(pair: &mut Pair) {
    for mtu in ["mtu 1290", "mtu lock 1290", "mtu 1400", ""] {
        for command in [
            "-4 route replace 198.19.0.0/16 via 192.0.2.6",
            "-6 route replace 2001:2:0:1::/64 via 2001:2:0:ff01::2",
        ] {
            if !ip(pair, format!("{command} {mtu}").trim_end()) {
                return;
            }
        }
        std::thread::sleep(SETTLED);
        let mut cut = Vec::new();
        for (port, frame) in catalogue::of_changes() {
            for _ in 0..2 {
                if let Err(difference) = pair.compare(port, &frame) {
                    panic!("{mtu}: {}", difference.0);
                }
            }
        }
        for length in [1262, 1263] {
            let header = catalogue::across4(protocol::UDP);
            let frame = catalogue::udp4_with(&header, &vec![2; length]);
            pair.same(0, &frame);
            cut.push(pair.same(0, &frame)[1].len() != 1);
        }
        assert_eq!(cut, [false, mtu.contains("1290")], "{mtu}");
    }
}

/// A route that the kernel takes away by itself when its time is over, and tells nobody of
/// before it looks for such.
pub fn expiring_routes(pair: &mut Pair) {
    let network = "2001:2:0:1::/96";
    let second = "via 2001:2:0:b3::7 dev EXIT";
    for rig in pair.both() {
        let mut netlink = rig.dut.netlink().unwrap();
        let address = "2001:2:0:b3::7".parse().unwrap();
        netlink
            .set_neighbour(&rig.links[1].0, address, [2, 0, 0, 0, 7, 7])
            .unwrap();
    }
    let frame = catalogue::plain6(0);
    let goes_to = |pair: &mut Pair| pair.same(0, &frame)[1][0][..6].to_vec();
    if !ip(pair, &format!("-6 route add {network} {second} expires 2")) {
        return;
    }
    std::thread::sleep(SETTLED);
    for _ in 0..3 {
        assert_eq!(goes_to(pair), [2, 0, 0, 0, 7, 7]);
    }
    // The one kernel may be earlier than the other.
    let is_back = || {
        let output = pair.compare(0, &frame);
        output.is_ok_and(|output| output[1][0][..6] == plan::TESTER[1])
    };
    testing::until(is_back, |is_back| *is_back);
    for _ in 0..3 {
        assert_eq!(goes_to(pair), plan::TESTER[1]);
    }
}

/// Several next hops: each packet's is the kernel's choice, an ICMP error's that
/// of the packets it is about. That is so for their destinations only.
pub fn several_hops(pair: &mut Pair) {
    let second: [IpAddr; 2] = [
        [198, 51, 100, 7].into(),
        [0x2001, 2, 0, 0xb3, 0, 0, 0, 7].into(),
    ];
    for rig in pair.both() {
        let mut netlink = rig.dut.netlink().unwrap();
        for address in second {
            let mac = [2, 0, 0, 0, 7, 7];
            netlink
                .set_neighbour(&rig.links[1].0, address, mac)
                .unwrap();
        }
    }
    for frame in [catalogue::plain4(0), catalogue::plain6(0)] {
        forwards_itself(pair, &frame);
    }
    for command in [
        "-4 route replace 198.19.0.0/16 nexthop via 192.0.2.6 dev EXIT nexthop via 198.51.100.7 dev EXIT",
        "-6 route replace 2001:2:0:1::/64 nexthop via 2001:2:0:ff01::2 dev EXIT nexthop via 2001:2:0:b3::7 dev EXIT",
    ] {
        if !ip(pair, command) {
            return;
        }
    }
    std::thread::sleep(SETTLED);
    let mut hops = std::collections::BTreeSet::new();
    for host in 0..24 {
        for frame in through_several(host) {
            let output = pair.same(0, &frame);
            assert_eq!(output[1].len(), 1, "{}", wire::Summary(&frame));
            hops.insert(output[1][0][..6].to_vec());
        }
    }
    assert_eq!(hops.len(), 2, "{hops:02x?}");
    // To other destinations as before: port 0's own are behind one hop.
    for frame in [catalogue::plain4(1), catalogue::plain6(1)] {
        forwards_itself_by(pair, 1, &frame);
    }
    for command in [
        "-4 route del 198.19.0.0/16",
        "-6 route del 2001:2:0:1::/64",
        "-4 route add 198.19.0.0/16 via 192.0.2.6",
        "-6 route add 2001:2:0:1::/64 via 2001:2:0:ff01::2",
    ] {
        assert!(ip(pair, command));
    }
    std::thread::sleep(SETTLED);
    for frame in [catalogue::plain4(0), catalogue::plain6(0)] {
        forwards_itself(pair, &frame);
    }
}

/// A datagram to one of the hosts behind port 1, and an ICMP error about one from
/// there, of each family.
fn through_several(host: u8) -> [Vec<u8>; 4] {
    let [mut to4, from4] = [0, 1].map(|side: usize| {
        wire::ipv4::Repr::new(plan::HOST_V4[side], plan::HOST_V4[1 - side], protocol::UDP)
    });
    to4.destination = [198, 19, 0, host].into();
    let mut from4 = from4;
    from4.source = to4.destination;
    let about4 = from4.to_bytes(&[7; 8]).unwrap();
    let error4 = icmp::Repr::new(icmp::v4::TIME_EXCEEDED, [0; 4], &about4);
    let mut carrier4 = to4;
    carrier4.protocol = protocol::ICMPV4;
    let [mut to6, mut from6] = [0, 1].map(|side: usize| {
        wire::ipv6::Repr::new(plan::HOST_V6[side], plan::HOST_V6[1 - side], protocol::UDP)
    });
    to6.destination = [0x2001, 2, 0, 1, 0, 0, 0, u16::from(host)].into();
    from6.source = to6.destination;
    let about6 = from6.to_bytes(&[7; 8]).unwrap();
    let mtu = 1280_u32.to_be_bytes();
    let error6 = icmp::Repr::new(icmp::v6::PACKET_TOO_BIG, mtu, &about6);
    let mut carrier6 = to6;
    carrier6.next_header = protocol::ICMPV6;
    let error6 = error6.to_bytes(Over::V6(carrier6.source, carrier6.destination));
    [
        catalogue::udp4_with(&to4, b"data"),
        catalogue::four(&carrier4, &error4.to_bytes(Over::V4)),
        catalogue::udp6_with(&to6, b"data"),
        catalogue::six(&carrier6, &error6),
    ]
}
