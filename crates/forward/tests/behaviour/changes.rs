//! Changes of a DUT's tables while frames flow, each upon the ones before.

use std::net::IpAddr;

use net::netlink::{Netlink, Route, RouteKind};

use crate::behaviour::plan::{self, network};
use crate::behaviour::rig::Rig;

type Change = (&'static str, fn(&mut Rig));

/// In order; after each, both DUTs are compared.
pub const CHANGES: [Change; 14] = [
    ("nothing", |_| {}),
    ("another Ethernet address of the next hop", |rig| {
        next_hop(rig, [2, 0, 0, 0, 7, 7]);
    }),
    ("the old address of the next hop", |rig| {
        next_hop(rig, plan::TESTER[1]);
    }),
    ("a black hole for some of the destinations", |rig| {
        narrow(rig, RouteKind::Blackhole, true);
    }),
    ("no black hole", |rig| {
        narrow(rig, RouteKind::Blackhole, false)
    }),
    ("some of the destinations forbidden", |rig| {
        narrow(rig, RouteKind::Prohibit, true);
    }),
    ("none forbidden", |rig| {
        narrow(rig, RouteKind::Prohibit, false)
    }),
    ("the destination is the DUT itself", |rig| local(rig, true)),
    ("the destination is behind it again", |rig| {
        local(rig, false)
    }),
    ("a narrower link", |rig| mtu(rig, 1300)),
    ("a link as wide as before", |rig| mtu(rig, plan::MTU[1])),
    ("forwarding off", |rig| forwarding(rig, "0")),
    ("forwarding on", |rig| forwarding(rig, "1")),
    ("no route to the network behind", |rig| {
        let mut netlink = netlink(rig);
        for route in behind(rig) {
            netlink.remove_route(&route).unwrap();
        }
    }),
];

fn netlink(rig: &Rig) -> Netlink {
    rig.dut.netlink().unwrap()
}

fn next_hop(rig: &mut Rig, ethernet: [u8; 6]) {
    let link = rig.links[1].0.clone();
    let mut netlink = netlink(rig);
    for gateway in [plan::TESTER_V4[1].into(), plan::TESTER_V6[1].into()] {
        netlink.set_neighbour(&link, gateway, ethernet).unwrap();
    }
}

fn behind(rig: &Rig) -> [Route; 2] {
    let to = |(address, bits): (IpAddr, u8), gateway: IpAddr| {
        Route::via(address, bits, gateway, rig.links[1].1)
    };
    [
        to(network(plan::HOST_V4[1], 16), plan::TESTER_V4[1].into()),
        to(network(plan::HOST_V6[1], 64), plan::TESTER_V6[1].into()),
    ]
}

/// A route of this kind to the host behind port 1 and its neighbours.
fn narrow(rig: &mut Rig, kind: RouteKind, on: bool) {
    let mut netlink = netlink(rig);
    for (address, bits) in [
        network(plan::HOST_V4[1], 24),
        network(plan::HOST_V6[1], 120),
    ] {
        let route = Route::new(address, bits, kind);
        if on {
            netlink.add_route(&route).unwrap();
        } else {
            netlink.remove_route(&route).unwrap();
        }
    }
}

fn local(rig: &mut Rig, on: bool) {
    let link = rig.links[1].0.clone();
    let mut netlink = netlink(rig);
    let addresses: [(IpAddr, u8); 2] = [(LOCAL_V4.into(), 32), (LOCAL_V6.into(), 128)];
    for (address, bits) in addresses {
        if on {
            netlink.add_address(&link, address, bits).unwrap();
        } else {
            netlink.remove_address(&link, address, bits).unwrap();
        }
    }
}

/// The destinations that [`local`] makes the DUT's own: not those of the frames
/// that end a look.
pub const LOCAL_V4: std::net::Ipv4Addr = std::net::Ipv4Addr::new(198, 19, 1, 9);
pub const LOCAL_V6: std::net::Ipv6Addr = std::net::Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 0x109);

fn mtu(rig: &mut Rig, mtu: u32) {
    let link = rig.links[1].0.clone();
    netlink(rig).set_mtu(&link, mtu).unwrap();
}

fn forwarding(rig: &mut Rig, value: &str) {
    let link = &rig.links[0].0;
    for family in ["ipv4", "ipv6"] {
        let name = format!("{family}/conf/{link}/forwarding");
        rig.dut.set_sysctl(&name, value).unwrap();
    }
}
