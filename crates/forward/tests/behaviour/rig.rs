//! One DUT between the two ports of a tester that says nothing by itself.

use net::netlink::{Netlink, Route, RouteKind, VethEnd, add_veth};
use net::{Journal, Namespace, Tag};

use crate::plan::{self, network};
use crate::raw::Raw;
use crate::subject::Running;

/// Room for frames that are too long for the DUT.
const TESTER_MTU: u32 = 2000;

/// What makes a DUT answer every time and at once, and say nothing unasked.
const DUT_SETTINGS: [(&str, &str); 15] = [
    ("ipv4/icmp_ratelimit", "0"),
    ("ipv4/icmp_msgs_per_sec", "1000000"),
    ("ipv4/icmp_msgs_burst", "100000"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    ("ipv4/ipfrag_time", "600"),
    ("ipv6/ip6frag_time", "600"),
    ("ipv6/icmp/ratelimit", "0"),
    ("ipv6/conf/all/accept_dad", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/dad_transmits", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
];

/// What makes a DUT ask once for a neighbour, when the frame comes, and not
/// again later between other frames.
const ASKED_ONCE: [(&str, &str); 2] = [
    ("retrans_time_ms", "600000"),
    ("delay_first_probe_time", "600"),
];

const TESTER_SETTINGS: [(&str, &str); 2] = [
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
];

/// A DUT that routes as the kernel does, and the tester's ports. All of it is
/// gone when dropped.
pub struct Rig {
    pub dut: Namespace,
    /// The DUT's interfaces: names and numbers.
    pub links: [(String, u32); 2],
    pub ports: [Raw; 2],
    /// The path that runs on the DUT; `None`: the kernel's own.
    pub path: Option<Running>,
    _tester: Namespace,
}

impl Rig {
    pub fn new(journal: &Journal) -> Self {
        let tag = Tag::fresh();
        let make = |role| Namespace::create(journal, &tag.name(role).unwrap()).unwrap();
        let (tester, dut) = (make("tester"), make("dut"));
        for (name, value) in TESTER_SETTINGS {
            tester.set_sysctl(name, value).unwrap();
        }
        for (name, value) in DUT_SETTINGS {
            dut.set_sysctl(name, value).unwrap();
        }
        dut.set_forwarding(true).unwrap();
        let names = [0, 1].map(|side| {
            let [t, d] = ["t", "d"].map(|end| tag.interface(&format!("{end}{side}")).unwrap());
            wire(side, (&tester, &t), (&dut, &d));
            (t, d)
        });
        for (_, d) in &names {
            for (setting, value) in ASKED_ONCE {
                set_neighbours(&dut, d, setting, value);
            }
        }
        let mut netlink = dut.netlink().unwrap();
        let links = names
            .each_ref()
            .map(|(_, d)| (d.clone(), netlink.link(d).unwrap().index));
        for side in [0, 1] {
            address(&mut netlink, side, &links[side]);
        }
        routes(&mut netlink, links[1].1);
        let mut netlink = tester.netlink().unwrap();
        let ports =
            names.map(|(t, _)| Raw::open(&tester, netlink.link(&t).unwrap().index).unwrap());
        Self {
            dut,
            links,
            ports,
            path: None,
            _tester: tester,
        }
    }

    /// Lets the DUT's ports receive on threads of the kernel, as on the bench, so
    /// that frames come to it in batches.
    pub fn batch(&self) {
        let mut netlink = self.dut.netlink().unwrap();
        for (link, _) in &self.links {
            netlink.set_offloads(link, &[("rx-gro", true)]).unwrap();
            net::napi::set_threaded(&self.dut, link, true).unwrap();
        }
    }

    /// How the DUT asks for unknown neighbours, on every link and for both
    /// families: see `Documentation/networking/ip-sysctl.rst`, `neigh/`.
    pub fn set_neighbours(&self, setting: &str, value: &str) {
        for (link, _) in &self.links {
            set_neighbours(&self.dut, link, setting, value);
        }
    }

    /// For every interface of the DUT.
    pub fn set(&self, family: &str, setting: &str, value: &str) {
        let links = self.links.iter().map(|(name, _)| name.as_str());
        for link in links.chain(["all"]) {
            let name = format!("{family}/conf/{link}/{setting}");
            self.dut.set_sysctl(&name, value).unwrap();
        }
    }
}

fn set_neighbours(dut: &Namespace, link: &str, setting: &str, value: &str) {
    for family in ["ipv4", "ipv6"] {
        let name = format!("{family}/neigh/{link}/{setting}");
        dut.set_sysctl(&name, value).unwrap();
    }
}

/// The wire of one side, up.
fn wire(side: usize, (tester, t): (&Namespace, &str), (dut, d): (&Namespace, &str)) {
    let end = |namespace, name, address, mtu| VethEnd {
        namespace,
        name,
        address: Some(address),
        mtu: Some(mtu),
        queues: 1,
    };
    add_veth(
        &end(tester, t, plan::TESTER[side], TESTER_MTU),
        &end(dut, d, plan::DUT[side], plan::MTU[side]),
    )
    .unwrap();
    // What a program redirects to the other end arrives only with NAPI here.
    let mut netlink = tester.netlink().unwrap();
    netlink.set_offloads(t, &[("rx-gro", true)]).unwrap();
    netlink.set_up(t).unwrap();
    dut.netlink().unwrap().set_up(d).unwrap();
    netlink.wait_until_running(t).unwrap();
}

/// Addresses, permanent neighbours, the network behind.
fn address(netlink: &mut Netlink, side: usize, (link, index): &(String, u32)) {
    let ethernet = plan::TESTER[side];
    let (four, six) = (plan::DUT_V4[side].into(), plan::DUT_V6[side].into());
    netlink.add_address(link, four, plan::LINK_BITS_V4).unwrap();
    netlink.add_address(link, six, plan::LINK_BITS_V6).unwrap();
    let gateways = [plan::TESTER_V4[side].into(), plan::TESTER_V6[side].into()];
    let networks = [
        network(plan::HOST_V4[side], 16),
        network(plan::HOST_V6[side], 64),
    ];
    for (gateway, (behind, bits)) in gateways.into_iter().zip(networks) {
        netlink.set_neighbour(link, gateway, ethernet).unwrap();
        let route = Route::via(behind, bits, gateway, *index);
        netlink.add_route(&route).unwrap();
    }
}

/// Routes to nowhere, and to a link where nobody answers.
fn routes(netlink: &mut Netlink, interface: u32) {
    let kinds = [
        (
            network(plan::BLACKHOLE_V4, 26),
            network(plan::BLACKHOLE_V6, 64),
            RouteKind::Blackhole,
        ),
        (
            network(plan::UNREACHABLE_V4, 26),
            network(plan::UNREACHABLE_V6, 64),
            RouteKind::Unreachable,
        ),
        (
            network(plan::PROHIBITED_V4, 26),
            network(plan::PROHIBITED_V6, 64),
            RouteKind::Prohibit,
        ),
        (
            network(plan::SILENT_V4, 24),
            network(plan::SILENT_V6, 64),
            RouteKind::Unicast,
        ),
    ];
    for (four, six, kind) in kinds {
        for (destination, bits) in [four, six] {
            let mut route = Route::via(destination, bits, destination, interface);
            route.gateway = None;
            route.kind = kind;
            route.interface = (kind == RouteKind::Unicast).then_some(interface);
            netlink.add_route(&route).unwrap();
        }
    }
}
