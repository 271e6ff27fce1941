//! What a program must know of the router that it stands in for: its ports, and
//! whether the kernel's tables depend on more than the program looks at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::netlink::{Route, RouteKind, Selector};
use net::{Namespace, Netlink};
use xdp::path::{RouterOptions, RouterPort};

use crate::topology::plan::Side;
use crate::topology::{NetworkError, Topology};

/// One port: the link that has the addresses, and the one that carries it.
#[derive(Clone, Debug)]
struct Named {
    link: String,
    carrier: String,
    tag: Option<u16>,
}

/// Looks at a router's namespace, again and again.
pub struct Describer {
    namespace: Namespace,
    netlink: Netlink,
    ports: Vec<Named>,
}

/// What it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub ports: Vec<RouterPort>,
    pub options: RouterOptions,
}

impl Describer {
    /// Of a topology's router.
    pub fn of(topology: &Topology) -> Result<Self, NetworkError> {
        let named = |side| Named {
            link: topology.router_link(side).to_owned(),
            carrier: topology.side(side).names.router.clone(),
            tag: topology.spec().vlan,
        };
        Ok(Self {
            namespace: topology.router().clone(),
            netlink: topology.router().netlink()?,
            ports: Side::BOTH.map(named).to_vec(),
        })
    }

    /// What the router is now. `has_special_route` as found by
    /// [`special_routes_in_tables`](Self::special_routes_in_tables) and since.
    pub fn describe(&mut self, has_special_route: bool) -> Result<Description, NetworkError> {
        let mut ports = Vec::new();
        for named in self.ports.clone() {
            // A port that is gone is none; its frames are the kernel's.
            match self.port(&named) {
                Err(NetworkError::Netlink(error)) if error.is_absent() => {}
                port => ports.push(port?),
            }
        }
        Ok(Description {
            options: self.options(has_special_route, ports.is_empty())?,
            ports,
        })
    }

    fn port(&mut self, named: &Named) -> Result<RouterPort, NetworkError> {
        let link = self.netlink.link(&named.link)?;
        let carrier = self.netlink.link(&named.carrier)?;
        Ok(RouterPort {
            ifindex: link.index,
            address: link.address,
            vlan: named.tag.map(|tag| (carrier.index, tag)),
            strict_source: self.rp_filter(&named.link)? == 1,
        })
    }

    /// The kernel takes the higher of the two (ip-sysctl.rst).
    fn rp_filter(&self, link: &str) -> Result<u8, NetworkError> {
        let mut highest = 0;
        for group in ["all", link] {
            let value = self.number(&format!("ipv4/conf/{group}/rp_filter"))?;
            highest = highest.max(value);
        }
        Ok(highest)
    }

    fn number(&self, name: &str) -> Result<u8, NetworkError> {
        Ok(self.namespace.sysctl(name)?.parse().unwrap_or(u8::MAX))
    }

    fn options(
        &mut self,
        has_special_route: bool,
        has_no_port: bool,
    ) -> Result<RouterOptions, NetworkError> {
        let mut options = RouterOptions {
            no_cache: has_special_route,
            all_to_kernel: has_no_port,
            ..RouterOptions::default()
        };
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            for rule in self.rules(any)?.iter().filter(|rule| !rule.is_usual()) {
                options.no_cache = true;
                options.all_to_kernel |= rule.selector == Selector::More;
            }
        }
        options.all_to_kernel |= self.has_confused_ipv6()?;
        // Which of several next hops, by more than addresses.
        for family in ["ipv4", "ipv6"] {
            let policy = self.number(&format!("{family}/fib_multipath_hash_policy"));
            options.all_to_kernel |= has_special_route && policy.unwrap_or(0) != 0;
        }
        Ok(options)
    }

    /// Linux forwards IPv6 if it does on all links; `bpf_fib_lookup` looks at the
    /// link that a frame came from.
    fn has_confused_ipv6(&self) -> Result<bool, NetworkError> {
        // A kernel without IPv6 forwards none.
        if self.number("ipv6/conf/all/forwarding").unwrap_or(1) != 0 {
            return Ok(false);
        }
        for named in &self.ports {
            if self.number(&format!("ipv6/conf/{}/forwarding", named.link))? != 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A kernel without rules has none.
    fn rules(&mut self, of: IpAddr) -> Result<Vec<net::netlink::Rule>, NetworkError> {
        let lacking = [rustix::io::Errno::OPNOTSUPP, rustix::io::Errno::AFNOSUPPORT]
            .map(rustix::io::Errno::raw_os_error);
        match self.netlink.rules(of) {
            Err(error) if error.errno().is_some_and(|errno| lacking.contains(&errno)) => {
                Ok(Vec::new())
            }
            rules => Ok(rules?),
        }
    }

    /// Whether a route there is special, as [`is_special`] says.
    pub fn special_routes_in_tables(&mut self) -> Result<bool, NetworkError> {
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            let routes = self.netlink.routes(any)?;
            if routes.iter().any(is_special) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether the route to a destination is no function of the destination: it
/// holds for some sources only, or for a time, or leads to several next hops (a
/// route to somewhere that names neither gateway nor link has a list of them).
pub fn is_special(route: &Route) -> bool {
    let has_list = route.gateway.is_none() && route.interface.is_none();
    route.is_conditional || (route.kind == RouteKind::Unicast && has_list)
}
