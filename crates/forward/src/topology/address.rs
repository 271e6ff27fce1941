//! Addresses, neighbours and routes on the wires.

use net::Netlink;
use net::netlink::{Route, RouteKind};

use super::build::{Built, Topology};
use super::error::NetworkError;
use super::plan::{self, Network, Side};
use super::spec::{Family, Routes, Wires};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A bridge: each port of the tester is the other's neighbour.
    Two,
    Three,
}

/// Gives a router of layer three addresses, neighbours that stay and routes,
/// and lets the kernel forward.
///
/// # Errors
/// [`NetworkError`]; [`NetworkError::NoVlan`] where the topology wants a VLAN
/// and the kernel has none.
pub fn assign_router(topology: &Topology) -> Result<(), NetworkError> {
    for side in Side::BOTH {
        if let Some(id) = topology.spec().vlan {
            let names = &topology.side(side).names;
            let mut inside = topology.router().netlink()?;
            add_vlan(&mut inside, &names.router_vlan, &names.router, id)?;
        }
        for family in families(topology) {
            router(topology, side, family)?;
        }
    }
    let namespace = topology.router();
    namespace.set_sysctl("ipv4/ip_forward", "1")?;
    if topology.spec().ipv6 {
        namespace.set_sysctl("ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

/// Gives the tester addresses, neighbours that stay and the way to its other
/// port: for TCP and pings. Test frames need none of it.
///
/// # Errors
/// As [`assign_router`]; [`NetworkError::TapHasNoStack`].
pub fn assign_tester(topology: &Topology, layer: Layer) -> Result<(), NetworkError> {
    if topology.spec().wires == Wires::Tap {
        return Err(NetworkError::TapHasNoStack);
    }
    for side in Side::BOTH {
        if let Some(id) = topology.spec().vlan {
            let Built { names, tester, .. } = topology.side(side);
            add_vlan(
                &mut tester.netlink()?,
                &names.tester_vlan,
                &names.tester,
                id,
            )?;
        }
        for family in families(topology) {
            tester(topology, side, family, layer)?;
        }
    }
    Ok(())
}

fn families(topology: &Topology) -> impl Iterator<Item = Family> + use<> {
    let six = topology.spec().ipv6.then_some(Family::V6);
    [Family::V4].into_iter().chain(six)
}

fn add_vlan(netlink: &mut Netlink, name: &str, parent: &str, id: u16) -> Result<(), NetworkError> {
    let unknown = Some(rustix::io::Errno::OPNOTSUPP.raw_os_error());
    match netlink.add_vlan(name, parent, id) {
        Err(error) if error.errno() == unknown => return Err(NetworkError::NoVlan(error)),
        added => added?,
    }
    Ok(netlink.set_up(name)?)
}

fn tester(
    topology: &Topology,
    side: Side,
    family: Family,
    layer: Layer,
) -> Result<(), NetworkError> {
    let built = topology.side(side);
    let link = topology.tester_link(side);
    let mut inside = built.tester.netlink()?;
    let own = plan::tester_address(side, family);
    inside.add_address(link, own, plan::link_bits(family))?;
    let other = plan::tester_address(side.other(), family);
    let index = inside.link(link)?.index;
    let full = if other.is_ipv4() { 32 } else { 128 };
    match layer {
        Layer::Two => {
            let mut route = Route::new(other, full, RouteKind::Unicast);
            route.interface = Some(index);
            inside.add_route(&route)?;
            let mac = topology.side(side.other()).tester_mac;
            inside.set_neighbour(link, other, mac)?;
        }
        Layer::Three => {
            let gateway = plan::router_address(side, family);
            inside.set_neighbour(link, gateway, built.router_mac)?;
            inside.add_route(&Route::via(other, full, gateway, index))?;
        }
    }
    Ok(())
}

fn router(topology: &Topology, side: Side, family: Family) -> Result<(), NetworkError> {
    let link = topology.router_link(side);
    let mut inside = topology.router().netlink()?;
    let own = plan::router_address(side, family);
    inside.add_address(link, own, plan::link_bits(family))?;
    let gateway = plan::tester_address(side, family);
    inside.set_neighbour(link, gateway, topology.side(side).tester_mac)?;
    let index = inside.link(link)?.index;
    let behind = std::iter::once(plan::network_behind(side, family));
    add_routes(&mut inside, behind, gateway, index)?;
    if family == Family::V4 {
        let mac = topology.side(side).tester_mac;
        inside.add_address(link, plan::hosts_router(side).into(), plan::HOSTS_BITS)?;
        inside.set_neighbour(link, plan::second_gateway(side).into(), mac)?;
    }
    if let (Family::V4, Routes::Table(count)) = (family, topology.spec().routes) {
        let table = plan::table_behind(side, count);
        add_routes(&mut inside, table, gateway, index)?;
    }
    Ok(())
}

fn add_routes(
    netlink: &mut Netlink,
    networks: impl Iterator<Item = Network>,
    gateway: std::net::IpAddr,
    index: u32,
) -> Result<(), NetworkError> {
    let routes = networks.map(|net| Route::via(net.address, net.bits, gateway, index));
    netlink.add_routes(routes)?;
    Ok(())
}
