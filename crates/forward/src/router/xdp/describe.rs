//! What a program must know of the router that it stands in for: its ports, what
//! decides about their frames, and whether the kernel looks at more than the program.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::deciders::About;
use net::netlink::{Neighbour, NetlinkError, Selector};
use net::sysctl::SysctlError;
use net::{Decider, Deciders, Namespace, Netlink};
use sys::failure::Failure;
use xdp::path::{Decided, RouterOptions, RouterPort};

use super::settings::{self, Settings};
use crate::router::Firewall;
use crate::topology::NetworkError;

pub struct Describer {
    namespace: Namespace,
    netlink: Netlink,
    deciders: Deciders,
    firewall: Firewall,
    links: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub ports: Vec<RouterPort>,
    pub options: RouterOptions,
    /// Also where they are bypassed.
    pub deciders: Vec<Decider>,
}

impl Describer {
    /// Describes a router with these links: its ports, or VLANs on them. The calling
    /// thread must be inside, and so must whoever asks the describer.
    pub fn of(
        namespace: &Namespace,
        links: Vec<String>,
        firewall: Firewall,
    ) -> Result<Self, NetworkError> {
        Ok(Self {
            namespace: namespace.clone(),
            netlink: namespace.netlink()?,
            deciders: Deciders::open()?,
            firewall,
            links,
        })
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// What the kernel tells of no change of; it is to be opened anew when a link changes.
    pub fn settings(&self) -> Settings {
        Settings::open(&self.namespace, self.links.iter().map(String::as_str))
    }

    /// Tells whether those that decide have changed where the kernel announces no change.
    pub fn have_deciders_changed(&mut self) -> Result<bool, Failure> {
        self.deciders.have_changed()
    }

    /// The current description of the router.
    pub fn describe(&mut self) -> Result<Description, NetworkError> {
        let stands_in = self.number(settings::OF_ALL[1])? == Some(1);
        let mut ports = Vec::new();
        for link in self.links.clone() {
            ports.extend(self.port(&link, stands_in)?);
        }
        let carriers = ports.iter().filter_map(|port| Some(port.vlan?.0));
        let links = ports.iter().map(|port| port.ifindex).chain(carriers);
        let links: Vec<_> = links.collect();
        let deciders = self.deciders.find(&mut self.netlink, &links)?;
        if self.firewall == Firewall::Obey {
            for port in &mut ports {
                port.decided = decided(port, &deciders);
            }
        }
        let options = RouterOptions {
            policies: is_about(&deciders, About::Policies),
            ..self.options(ports.is_empty())?
        };
        Ok(Description {
            options,
            ports,
            deciders,
        })
    }

    /// `None` for a port that is gone, or is just going, that belongs to another link, or
    /// whose tags are more than a number: its frames are the kernel's.
    fn port(
        &mut self,
        name: &str,
        stands_in_for_neighbours: bool,
    ) -> Result<Option<RouterPort>, NetworkError> {
        let link = present(self.netlink.link(name))?;
        let strict = self.rp_filter(name)?;
        let (Some(link), Some(strict)) = (link, strict) else {
            return Ok(None);
        };
        let vlan = match (&link.kind[..], link.vlan, link.peer) {
            ("vlan", Some(vlan), Some(carrier)) if vlan.is_plain => Some((carrier, vlan.id)),
            ("vlan", ..) => return Ok(None),
            _ => None,
        };
        if link.master.is_some() {
            return Ok(None);
        }
        let disabled = self.number(&settings::of_port(name, settings::OF_PORT[1]))?;
        Ok(Some(RouterPort {
            ifindex: link.index,
            address: link.address,
            vlan,
            strict_source: strict == 1,
            no_ipv6: stands_in_for_neighbours || disabled.is_some_and(|value| value != 0),
            decided: Decided::default(),
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

    fn options(&mut self, has_no_port: bool) -> Result<RouterOptions, NetworkError> {
        let mut options = RouterOptions {
            all_to_kernel: has_no_port,
            ..RouterOptions::default()
        };
        for any in [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()] {
            for rule in self.rules(any)?.iter().filter(|rule| !rule.is_usual()) {
                options.no_cache = true;
                options.all_to_kernel |= rule.selector == Selector::More;
            }
        }
        // Then each destination may have an MTU of its own (ip-sysctl.rst).
        options.no_cache |= self.number(settings::OF_ALL[0])? == Some(1);
        options.all_to_kernel |= self.has_confused_ipv6()?;
        Ok(options)
    }

    /// Linux forwards IPv6 if it does on all links; `bpf_fib_lookup` looks at the
    /// link that a frame came from.
    fn has_confused_ipv6(&self) -> Result<bool, NetworkError> {
        // A kernel without IPv6 forwards none.
        if self.number("ipv6/conf/all/forwarding")? != Some(0) {
            return Ok(false);
        }
        for link in &self.links {
            let forwards = self.number(&format!("ipv6/conf/{link}/forwarding"))?;
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

    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, NetworkError> {
        Ok(self.netlink.neighbours()?)
    }
}

/// Frames pass the hooks of a port, and before or after it those of its carrier.
fn decided(port: &RouterPort, deciders: &[Decider]) -> Decided {
    let about = |wanted: fn(u32) -> About| {
        let carrier = port.vlan.map(|(carrier, _)| carrier);
        let mut links = std::iter::once(port.ifindex).chain(carrier);
        links.any(|link| is_about(deciders, wanted(link)))
    };
    Decided {
        ipv4: is_about(deciders, About::Ipv4),
        ipv6: is_about(deciders, About::Ipv6),
        incoming: about(About::Incoming),
        outgoing: about(About::Outgoing),
    }
}

fn is_about(deciders: &[Decider], about: About) -> bool {
    deciders.iter().any(|decider| decider.about == about)
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
