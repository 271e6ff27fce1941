//! What a program must know of the router that it stands in for: its ports, and
//! whether the kernel's tables depend on more than the program looks at.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::netlink::{NetlinkError, Policies, Route, RouteKind, Selector};
use net::sysctl::SysctlError;
use net::{Namespace, Netlink};
use xdp::path::{Alike, RouterOptions, RouterPort};

use crate::topology::plan::Side;
use crate::topology::{NetworkError, Topology};

#[derive(Clone, Debug)]
struct Named {
    link: String,
    carrier: String,
    tag: Option<u16>,
}

pub struct Describer {
    namespace: Namespace,
    netlink: Netlink,
    policies: Policies,
    ports: Vec<Named>,
}

pub struct Tables {
    pub special: Special,
    pub alike: Alike,
}

/// Routes that depend on more than a packet's destination, type of service and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Special {
    /// They hold for some sources only, or for a time: each packet must ask.
    pub conditional: bool,
    /// They have several next hops. The kernel takes an ICMP error's hop from the
    /// packet that it is about, so these are the kernel's.
    pub several_hops: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub ports: Vec<RouterPort>,
    pub options: RouterOptions,
}

impl Describer {
    pub fn of(topology: &Topology) -> Result<Self, NetworkError> {
        let named = |side| Named {
            link: topology.router_link(side).to_owned(),
            carrier: topology.side(side).names.router.clone(),
            tag: topology.spec().vlan,
        };
        Ok(Self {
            namespace: topology.router().clone(),
            netlink: topology.router().netlink()?,
            policies: topology.router().run(Policies::open)??,
            ports: Side::BOTH.map(named).to_vec(),
        })
    }

    /// The current description of the router; its routes are as
    /// [`tables`](Self::tables) found them, with the changes heard since.
    pub fn describe(&mut self, special: Special) -> Result<Description, NetworkError> {
        let mut ports = Vec::new();
        for named in self.ports.clone() {
            ports.extend(self.port(&named)?);
        }
        Ok(Description {
            options: self.options(special, ports.is_empty())?,
            ports,
        })
    }

    /// `None` for a port that is gone, or is just going: its frames are the kernel's.
    fn port(&mut self, named: &Named) -> Result<Option<RouterPort>, NetworkError> {
        let link = present(self.netlink.link(&named.link))?;
        let carrier = present(self.netlink.link(&named.carrier))?;
        let strict = self.rp_filter(&named.link)?;
        let (Some(link), Some(carrier), Some(strict)) = (link, carrier, strict) else {
            return Ok(None);
        };
        Ok(Some(RouterPort {
            ifindex: link.index,
            address: link.address,
            vlan: named.tag.map(|tag| (carrier.index, tag)),
            strict_source: strict == 1,
        }))
    }

    fn rp_filter(&self, link: &str) -> Result<Option<u8>, NetworkError> {
        let all = self.number("ipv4/conf/all/rp_filter")?;
        let own = self.number(&format!("ipv4/conf/{link}/rp_filter"))?;
        Ok(own.map(|own| own.max(all.unwrap_or(0))))
    }

    /// `None` for a setting that does not exist, e.g. of a link that is gone.
    fn number(&self, name: &str) -> Result<Option<u8>, NetworkError> {
        match self.namespace.sysctl(name) {
            Err(SysctlError::System { source, .. }) if is_gone(&source) => Ok(None),
            read => Ok(Some(read?.parse().unwrap_or(u8::MAX))),
        }
    }

    fn options(
        &mut self,
        special: Special,
        has_no_port: bool,
    ) -> Result<RouterOptions, NetworkError> {
        let mut options = RouterOptions {
            no_cache: special.conditional,
            all_to_kernel: has_no_port || special.several_hops,
            ..RouterOptions::default()
        };
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            for rule in self.rules(any)?.iter().filter(|rule| !rule.is_usual()) {
                options.no_cache = true;
                options.all_to_kernel |= rule.selector == Selector::More;
            }
        }
        // Then each destination may have an MTU of its own (ip-sysctl.rst).
        options.no_cache |= self.number("ipv4/ip_forward_use_pmtu")? == Some(1);
        options.all_to_kernel |= self.has_confused_ipv6()?;
        options.all_to_kernel |= self.policies.are_there()?;
        Ok(options)
    }

    /// Linux forwards IPv6 if it does on all links; `bpf_fib_lookup` looks at the
    /// link that a frame came from.
    fn has_confused_ipv6(&self) -> Result<bool, NetworkError> {
        // A kernel without IPv6 forwards none.
        if self.number("ipv6/conf/all/forwarding")? != Some(0) {
            return Ok(false);
        }
        for named in &self.ports {
            let forwards = self.number(&format!("ipv6/conf/{}/forwarding", named.link))?;
            if forwards.is_some_and(|value| value != 0) {
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

    pub fn tables(&mut self) -> Result<Tables, NetworkError> {
        let mut tables = Tables::without_routes();
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            for route in self.netlink.routes(any)? {
                tables.add(&route);
            }
        }
        Ok(tables)
    }

    pub fn stale(&mut self) -> Result<BTreeSet<(u32, IpAddr)>, NetworkError> {
        let all = self.netlink.neighbours()?;
        let stale = all.iter().filter(|neighbour| neighbour.stale);
        Ok(stale
            .map(|neighbour| (neighbour.interface, neighbour.address))
            .collect())
    }
}

impl Tables {
    pub fn without_routes() -> Self {
        Self {
            special: Special::default(),
            alike: Alike::without_routes(),
        }
    }

    /// Whether addresses are now distinguished that were alike before.
    pub fn add(&mut self, route: &Route) -> bool {
        self.special.add(route);
        let is_one_way = route.kind != RouteKind::Unicast || route.gateway.is_some();
        self.alike
            .add(route.destination, route.prefix_length, is_one_way)
    }
}

impl Special {
    pub fn is(route: &Route) -> bool {
        let mut of_it = Self::default();
        of_it.add(route);
        of_it != Self::default()
    }

    fn add(&mut self, route: &Route) {
        self.conditional |= route.is_conditional;
        self.several_hops |= route.has_several_hops;
        // By a next hop of its own (`ip nexthop`), where the kernel does not
        // tell what that is (`nexthop_compat_mode` 0): it may be several.
        let is_told = route.gateway.is_some() || route.interface.is_some();
        self.several_hops |= route.kind == RouteKind::Unicast && !is_told;
    }
}

fn present<T>(asked: Result<T, NetlinkError>) -> Result<Option<T>, NetworkError> {
    match asked {
        Err(error) if error.is_absent() => Ok(None),
        asked => Ok(Some(asked?)),
    }
}

/// It did not exist, or went while it was read.
fn is_gone(error: &io::Error) -> bool {
    let gone = [rustix::io::Errno::NOENT, rustix::io::Errno::NODEV];
    gone.iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
