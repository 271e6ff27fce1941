//! Changes of a router's tables, each upon the ones before.

use std::net::IpAddr;
use std::process::Command;

use lockgate_forward::topology::Family;
use lockgate_forward::topology::plan::{self, Side};
use net::netlink::{Route, RouteKind};

use crate::freshness::bench::{Bench, first_of};

pub const OTHER_NEIGHBOUR: [u8; 6] = [2, 0, 0, 0, 0, 0x22];
pub const OTHER_ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 0x33];

pub type Change = (&'static str, fn(&mut Bench), bool);

/// In this order: each begins where the last one ended.
pub const CHANGES: [Change; 20] = [
    ("nothing", |_| (), true),
    (
        "a neighbour moves",
        |bench| neighbour(bench, OTHER_NEIGHBOUR),
        true,
    ),
    (
        "and back",
        |bench| {
            let mac = bench.topology.side(Side::One).tester_mac;
            neighbour(bench, mac);
        },
        true,
    ),
    (
        "a narrower route to a second gateway",
        |bench| {
            second_gateway(bench);
            let route = narrower(bench);
            bench.inside().add_route(&route).unwrap();
        },
        true,
    ),
    (
        "it goes",
        |bench| {
            let route = narrower(bench);
            bench.inside().remove_route(&route).unwrap();
        },
        true,
    ),
    (
        "the route is replaced",
        |bench| replace(bench, others(bench)[1]),
        true,
    ),
    ("and back", |bench| replace(bench, gateway(bench)), true),
    ("a hole in it", |bench| hole(bench, true), false),
    ("and none", |bench| hole(bench, false), true),
    (
        "the route goes",
        |bench| {
            let route = behind(bench, gateway(bench));
            bench.inside().remove_route(&route).unwrap();
        },
        false,
    ),
    (
        "the route comes",
        |bench| replace(bench, gateway(bench)),
        true,
    ),
    (
        "the destination becomes the router's own",
        |bench| {
            let (exit, address, bits) = destination(bench);
            bench.inside().add_address(&exit, address, bits).unwrap();
        },
        false,
    ),
    (
        "and no longer",
        |bench| {
            let (exit, address, bits) = destination(bench);
            bench.inside().remove_address(&exit, address, bits).unwrap();
        },
        true,
    ),
    (
        "the port that they leave by gets another address",
        |bench| {
            let exit = bench.exit().to_owned();
            bench.inside().set_address(&exit, OTHER_ROUTER).unwrap();
            // The kernel has forgotten who is behind it.
            let mac = bench.topology.side(Side::One).tester_mac;
            neighbour(bench, mac);
        },
        true,
    ),
    ("forwarding is off", |bench| forwarding(bench, "0"), false),
    ("forwarding is on", |bench| forwarding(bench, "1"), true),
    ("a rule forbids it", |bench| rule(bench, "add"), false),
    ("the rule goes", |bench| rule(bench, "del"), true),
    (
        "the port that they come by gets another address, unknown to the tester",
        |bench| entrance(bench, OTHER_ROUTER),
        false,
    ),
    (
        "the tester knows, and the other port goes down",
        |bench| {
            bench.entrance = OTHER_ROUTER;
            let exit = bench.exit().to_owned();
            bench.inside().set_down(&exit).unwrap();
        },
        false,
    ),
];

pub fn neighbour(bench: &Bench, mac: [u8; 6]) {
    let exit = bench.exit().to_owned();
    let address = gateway(bench);
    bench.inside().set_neighbour(&exit, address, mac).unwrap();
}

/// The port that frames come by gets another Ethernet address.
pub fn entrance(bench: &Bench, mac: [u8; 6]) {
    let entrance = bench.topology.router_link(Side::Zero).to_owned();
    bench.inside().set_address(&entrance, mac).unwrap();
}

pub fn gateway(bench: &Bench) -> IpAddr {
    plan::tester_address(Side::One, bench.family)
}

/// The router's and a second gateway's address on a network of their own.
pub fn others(bench: &Bench) -> [IpAddr; 2] {
    let [own, other] = match bench.family {
        Family::V4 => ["203.0.113.1", "203.0.113.2"],
        Family::V6 => ["2001:2:0:ff02::1", "2001:2:0:ff02::2"],
    };
    [own.parse().unwrap(), other.parse().unwrap()]
}

pub fn second_gateway(bench: &Bench) {
    let exit = bench.exit().to_owned();
    let [own, other] = others(bench);
    let mut inside = bench.inside();
    let bits = plan::link_bits(bench.family) - 6;
    inside.add_address(&exit, own, bits).unwrap();
    inside.set_neighbour(&exit, other, OTHER_NEIGHBOUR).unwrap();
}

pub fn behind(bench: &Bench, gateway: IpAddr) -> Route {
    let net = plan::network_behind(Side::One, bench.family);
    Route::via(net.address, net.bits, gateway, bench.exit_index())
}

/// Some of them, by the second.
fn narrower(bench: &Bench) -> Route {
    let all = behind(bench, others(bench)[1]);
    Route {
        prefix_length: all.prefix_length + 8,
        ..all
    }
}

fn replace(bench: &Bench, gateway: IpAddr) {
    let route = behind(bench, gateway);
    bench.inside().replace_route(&route).unwrap();
}

/// The link that leads to the destination of all frames, its address, and the
/// bits of one host.
fn destination(bench: &Bench) -> (String, IpAddr, u8) {
    let address = first_of(plan::network_behind(Side::One, bench.family).address);
    let bits = if address.is_ipv4() { 32 } else { 128 };
    (bench.exit().to_owned(), address, bits)
}

fn hole(bench: &Bench, is_there: bool) {
    let (_, address, bits) = destination(bench);
    let route = Route::new(address, bits, RouteKind::Blackhole);
    if is_there {
        bench.inside().add_route(&route).unwrap();
    } else {
        bench.inside().remove_route(&route).unwrap();
    }
}

/// Linux forwards IPv6 on all links or on none.
pub fn forwarding(bench: &Bench, value: &str) {
    let entrance = bench.topology.router_link(Side::Zero);
    let name = match bench.family {
        Family::V4 => format!("ipv4/conf/{entrance}/forwarding"),
        Family::V6 => "ipv6/conf/all/forwarding".to_owned(),
    };
    bench.topology.router().set_sysctl(&name, value).unwrap();
}

fn rule(bench: &Bench, action: &str) {
    let net = plan::network_behind(Side::One, bench.family);
    let family = match bench.family {
        Family::V4 => "-4",
        Family::V6 => "-6",
    };
    let net = format!("{}/{}", net.address, net.bits);
    let words = [family, "rule", action, "to", &net, "blackhole"];
    assert!(ip(bench, &words));
}

pub fn rename(bench: &Bench, from: &str, to: &str) -> bool {
    ip(bench, &["link", "set", "dev", from, "name", to])
}

/// Whether this command of `ip` was obeyed.
fn ip(bench: &Bench, words: &[&str]) -> bool {
    let mut ip = Command::new("ip");
    ip.args(words);
    let mut child = bench.topology.router().spawn_process(ip).unwrap();
    child.wait().unwrap().success()
}
