//! One DUT between the two ports of a tester that says nothing by itself.

use lockgate_forward::topology::plan::Side;
use lockgate_forward::topology::{Cpus, Spec, Topology};
use net::netlink::{Route, RouteKind};
use net::{Journal, Namespace, Netlink, Tag, napi};

use crate::behaviour::plan::{self, network};
use crate::behaviour::raw::Raw;
use crate::behaviour::subject::{Running, Subject};

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

/// Makes a DUT ask once for a neighbour, when the frame comes, and not again between
/// later frames.
const ASKED_ONCE: [(&str, &str); 2] = [
    ("retrans_time_ms", "600000"),
    ("delay_first_probe_time", "600"),
];

/// A DUT and the tester's ports: a topology as the bench has it, with addresses
/// and limits of [`plan`]. All of it is gone when dropped.
pub struct Rig {
    pub path: Running,
    pub dut: Namespace,
    pub links: [(String, u32); 2],
    pub ports: [Raw; 2],
    _topology: Topology,
}

impl Rig {
    pub fn new(journal: &Journal, subject: Subject) -> Self {
        let tag = Tag::fresh();
        let dut = Namespace::create(journal, &tag.name("dut").unwrap()).unwrap();
        for (name, value) in DUT_SETTINGS {
            dut.set_sysctl(name, value).unwrap();
        }
        let spec = Spec::new(Cpus::of_host().unwrap());
        let topology = Topology::build(journal, tag, &spec, dut.clone()).unwrap();
        for side in Side::BOTH {
            as_planned(&topology, side);
        }
        let path = Running::start(subject, &topology);
        let sides = topology.sides().each_ref();
        let links = sides.map(|side| (side.names.router.clone(), side.router_index));
        // Frames are worked on where they are sent: faster than by threads.
        for side in sides {
            napi::set_threaded(&side.tester, &side.names.tester, false).unwrap();
            napi::set_threaded(&dut, &side.names.router, false).unwrap();
        }
        let mut netlink = dut.netlink().unwrap();
        for (side, (link, _)) in links.iter().enumerate() {
            neighbours(&mut netlink, side, link);
        }
        routes(&mut netlink, links[1].1);
        let ports = sides.map(|side| {
            let mut netlink = side.tester.netlink().unwrap();
            let index = netlink.link(&side.names.tester).unwrap().index;
            Raw::open(&side.tester, index).unwrap()
        });
        Self {
            path,
            dut,
            links,
            ports,
            _topology: topology,
        }
    }

    /// Lets the DUT's ports receive on threads of the kernel, as on the bench, so
    /// that frames come to it in batches.
    pub fn batch(&self) {
        for (link, _) in &self.links {
            napi::set_threaded(&self.dut, link, true).unwrap();
        }
    }

    /// How the DUT asks for unknown neighbours, on every link and for both
    /// families: see `Documentation/networking/ip-sysctl.rst`, `neigh/`.
    pub fn set_neighbours(&self, setting: &str, value: &str) {
        for (link, _) in &self.links {
            set_neighbours(&self.dut, link, setting, value);
        }
    }

    /// Ends every open question for a neighbour. Frames that wait for an answer count
    /// against the one socket by which the kernel sends ICMP on a CPU: with some
    /// hundreds of them it stops.
    pub fn forget_neighbours(&self) {
        let mut netlink = self.dut.netlink().unwrap();
        for neighbour in netlink.neighbours().unwrap() {
            let link = self
                .links
                .iter()
                .find(|(_, index)| *index == neighbour.interface);
            if let Some((link, _)) = link.filter(|_| !neighbour.permanent) {
                // It may end by itself meanwhile, and groups have entries that stay.
                let _ = netlink.remove_neighbour(link, neighbour.address);
            }
        }
    }

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

fn as_planned(topology: &Topology, side: Side) {
    let (built, place) = (topology.side(side), side.index());
    let (t, d) = (&built.names.tester, &built.names.router);
    let (tester, dut) = (&built.tester, topology.router());
    let mut netlink = tester.netlink().unwrap();
    netlink.set_address(t, plan::TESTER[place]).unwrap();
    netlink.set_mtu(t, TESTER_MTU).unwrap();
    let mut netlink = dut.netlink().unwrap();
    netlink.set_address(d, plan::DUT[place]).unwrap();
    netlink.set_mtu(d, plan::MTU[place]).unwrap();
    // The link-local address follows the Ethernet address only when made anew.
    for value in ["1", "0"] {
        let name = format!("ipv6/conf/{d}/disable_ipv6");
        dut.set_sysctl(&name, value).unwrap();
    }
    for (setting, value) in ASKED_ONCE {
        set_neighbours(dut, d, setting, value);
    }
    // An address that was just learnt may change at once.
    let name = format!("ipv4/neigh/{d}/locktime");
    dut.set_sysctl(&name, "0").unwrap();
}

fn neighbours(netlink: &mut Netlink, side: usize, link: &str) {
    for gateway in [plan::TESTER_V4[side].into(), plan::TESTER_V6[side].into()] {
        netlink
            .set_neighbour(link, gateway, plan::TESTER[side])
            .unwrap();
    }
}

/// Routes to nowhere, and to a link where no host answers.
fn routes(netlink: &mut Netlink, interface: u32) {
    use RouteKind::{Blackhole, Prohibit, Unicast, Unreachable};
    for (four, bits, six, kind) in [
        (plan::BLACKHOLE_V4, 26, plan::BLACKHOLE_V6, Blackhole),
        (plan::UNREACHABLE_V4, 26, plan::UNREACHABLE_V6, Unreachable),
        (plan::PROHIBITED_V4, 26, plan::PROHIBITED_V6, Prohibit),
        (plan::SILENT_V4, 24, plan::SILENT_V6, Unicast),
    ] {
        for (destination, bits) in [network(four, bits), network(six, 64)] {
            let mut route = Route::new(destination, bits, kind);
            route.interface = (kind == RouteKind::Unicast).then_some(interface);
            netlink.add_route(&route).unwrap();
        }
    }
}
