//! Finds what else on this host, besides routes, decides about frames that pass from link
//! to link: netfilter, traffic control, IPsec policies, BPF programs of others.
//! Whoever forwards frames in the kernel's place must leave those frames to the kernel.
//!
//! Nftables, traffic control and IPsec announce changes ([`crate::monitor::Topic`]). The
//! others do not: [`Deciders::have_changed`] must be asked.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use sys::bpf::{Holds, Tcx};
use sys::failure::Failure;
use sys::plain::plain;

use crate::netlink::netfilter::{Chain, INET, IPV4, IPV6, NETDEV, Nftables};
use crate::netlink::traffic::{Discipline, Hook, Traffic};
use crate::netlink::{Link, Netlink, NetlinkError, Policies};

/// `NF_INET_…` between the ports: before the route is known, while a frame goes through,
/// and as it leaves; and as it comes in by a link.
const BETWEEN: [(u32, &str); 3] = [(0, "prerouting"), (2, "forward"), (4, "postrouting")];
const INET_INGRESS: u32 = 5;
/// `NF_NETDEV_INGRESS`.
const NETDEV_INGRESS: u32 = 0;

/// Queueing disciplines that drop and delay nothing beyond what a link without any does,
/// and those that only hold filters.
const WITHOUT_SAY: [&str; 5] = ["noqueue", "mq", "pfifo_fast", "clsact", "ingress"];

/// Tables of iptables-legacy in use in a namespace: one that was asked for once stays, and
/// so do its hooks.
const LEGACY: [&str; 2] = ["ip_tables_names", "ip6_tables_names"];
const VIRTUAL_SERVERS: &str = "ip_vs";
/// As much of those files as says whether something is there.
const TOLD_BYTES_MAX: usize = 4096;

/// Which frames something decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// All of a family that go from link to link.
    Ipv4,
    Ipv6,
    /// All that come in by the link of this number, or leave by it.
    Incoming(u32),
    Outgoing(u32),
    /// All that IPsec's policies let pass, change or block. Unlike the others they also
    /// say what must not leave this host in the clear.
    Policies,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decider {
    pub about: About,
    /// In words, e.g. `nftables: chain f of table ip t (forward)`.
    pub name: String,
}

/// Finds what decides in one namespace. Every call must come from a thread inside.
pub struct Deciders {
    nftables: Nftables,
    traffic: Traffic,
    policies: Policies,
    legacy: [Told; 2],
    virtual_servers: Told,
    held: Held,
    links: Vec<Link>,
    before: Unannounced,
}

/// Holds what may change without an announcement.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unannounced {
    /// Names of the tables of iptables-legacy, IPv4 and IPv6.
    legacy: [String; 2],
    has_virtual_servers: bool,
    /// BPF links of others that may decide, by number.
    held: BTreeMap<u32, Holds>,
    /// Programs of tcx, by link: as frames come in, and as they leave.
    tcx: Vec<[u32; 2]>,
}

impl Deciders {
    /// # Errors
    /// [`NetlinkError::Open`].
    pub fn open() -> Result<Self, NetlinkError> {
        Ok(Self {
            nftables: Nftables::open()?,
            traffic: Traffic::open()?,
            policies: Policies::open()?,
            legacy: LEGACY.map(Told::of),
            virtual_servers: Told::of(VIRTUAL_SERVERS),
            held: Held::default(),
            links: Vec::new(),
            before: Unannounced::default(),
        })
    }

    /// All that decides about frames of the links with these numbers, each once.
    pub fn find(
        &mut self,
        netlink: &mut Netlink,
        numbers: &[u32],
    ) -> Result<Vec<Decider>, Failure> {
        let all = netlink.links()?;
        let asked = all.iter().filter(|link| numbers.contains(&link.index));
        self.links = asked.cloned().collect();
        self.held.forget_what_is_gone()?;
        // First, so that a change meanwhile is seen.
        self.before = self.unannounced()?;
        let mut found = Vec::new();
        self.find_nftables(&all, &mut found)?;
        self.find_traffic(&mut found)?;
        self.before.tell(&self.links, &mut found);
        if self.policies.are_there()? {
            found.push(Decider {
                about: About::Policies,
                name: "IPsec: policies (ip xfrm policy)".to_owned(),
            });
        }
        for link in &self.links {
            if is_generic(link) && link.xdp {
                found.push(incoming(link, "another XDP program"));
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Tells whether something that is not announced has changed since the last
    /// [`find`](Self::find).
    pub fn have_changed(&mut self) -> Result<bool, Failure> {
        Ok(self.unannounced()? != self.before)
    }

    fn unannounced(&mut self) -> Result<Unannounced, Failure> {
        let tcx = self.links.iter().map(|link| {
            let at = |place| sys::bpf::programs_at(link.index, place);
            Ok([at(Tcx::Ingress)?, at(Tcx::Egress)?])
        });
        let tcx: io::Result<Vec<_>> = tcx.collect();
        Ok(Unannounced {
            legacy: self.legacy.each_mut().map(Told::read),
            has_virtual_servers: has_virtual_servers(&self.virtual_servers.read()),
            held: self.held.now(&self.links).map_err(unlisted())?,
            tcx: tcx.map_err(Failure::of(
                "cannot ask for the BPF programs of traffic control; it takes root (CAP_NET_ADMIN)",
            ))?,
        })
    }

    fn find_nftables(&mut self, all: &[Link], found: &mut Vec<Decider>) -> Result<(), Failure> {
        let (chains, flow_tables) = self.nftables.in_force()?;
        for chain in &chains {
            found.extend(of_chain(chain, &self.links, all));
        }
        for table in flow_tables {
            let name = format!(
                "nftables: flow table {} of table {} {}",
                plain(table.name.as_bytes()),
                family_name(table.family),
                plain(table.table.as_bytes())
            );
            found.extend(of_family(table.family).map(|about| Decider {
                about,
                name: name.clone(),
            }));
        }
        Ok(())
    }

    fn find_traffic(&mut self, found: &mut Vec<Decider>) -> Result<(), Failure> {
        for discipline in self.traffic.disciplines()? {
            let here = |link: &&Link| link.index == discipline.interface;
            let Some(link) = self.links.iter().find(here) else {
                continue;
            };
            if discipline.has_say() {
                let name = format!(
                    "tc: the queueing discipline {}",
                    plain(discipline.kind.as_bytes())
                );
                found.push(outgoing(link, &name));
            }
            for (hook, decider) in hooks_of(&discipline, link) {
                if self.traffic.has_filters(link.index, hook)? {
                    found.push(decider);
                }
            }
        }
        Ok(())
    }
}

/// Where a discipline may have filters that see frames which pass.
fn hooks_of(discipline: &Discipline, link: &Link) -> Vec<(Hook, Decider)> {
    let ingress = (
        Hook::Ingress,
        incoming(link, "tc: filters of what comes in"),
    );
    let egress = (Hook::Egress, outgoing(link, "tc: filters of what leaves"));
    match &discipline.kind[..] {
        "clsact" => vec![ingress, egress],
        "ingress" => vec![ingress],
        _ => Vec::new(),
    }
}

impl Discipline {
    /// Tells whether somebody put it there, and it may drop or delay. A link gets its
    /// first one from the kernel, without a handle.
    fn has_say(&self) -> bool {
        self.handle != 0 && !WITHOUT_SAY.contains(&&self.kind[..])
    }
}

impl Unannounced {
    fn tell(&self, links: &[Link], found: &mut Vec<Decider>) {
        let families = [About::Ipv4, About::Ipv6];
        let programs = ["iptables-legacy", "ip6tables-legacy"];
        for ((tables, about), program) in self.legacy.iter().zip(families).zip(programs) {
            if !tables.is_empty() {
                let name = format!(
                    "{program}: the tables {}, which stay as long as the namespace",
                    plain(tables.as_bytes())
                );
                found.push(Decider { about, name });
            }
        }
        if self.has_virtual_servers {
            found.extend(families.map(|about| Decider {
                about,
                name: "IPVS: virtual servers".to_owned(),
            }));
        }
        for held in self.held.values() {
            // Put there since the links were listed: they do not show it.
            if let Holds::Xdp { interface } = held {
                let link = links.iter().find(|link| link.index == *interface);
                found.extend(link.map(|link| incoming(link, "another XDP program")));
            }
            if let Holds::Netfilter { family } = held {
                let of_family = u8::try_from(*family)
                    .map_or_else(|_| Vec::new(), |family| of_family(family).collect());
                found.extend(of_family.into_iter().map(|about| Decider {
                    about,
                    name: "a BPF program at netfilter's hooks, here or in another namespace, which the kernel does not say".to_owned(),
                }));
            }
        }
        for (link, [ingress, egress]) in links.iter().zip(&self.tcx) {
            if *ingress > 0 {
                found.push(incoming(link, "tcx: BPF programs for what comes in"));
            }
            if *egress > 0 {
                found.push(outgoing(link, "tcx: BPF programs for what leaves"));
            }
        }
    }
}

fn incoming(link: &Link, name: &str) -> Decider {
    let about = About::Incoming(link.index);
    let name = name.to_owned();
    Decider { about, name }
}

fn outgoing(link: &Link, name: &str) -> Decider {
    let about = About::Outgoing(link.index);
    let name = name.to_owned();
    Decider { about, name }
}

/// Whether XDP programs of such a link run after those of the link that carries it.
fn is_generic(link: &Link) -> bool {
    link.kind == "vlan"
}

fn of_family(family: u8) -> impl Iterator<Item = About> {
    let both = [(IPV4, About::Ipv4), (IPV6, About::Ipv6)];
    both.into_iter()
        .filter(move |(own, _)| family == *own || family == INET)
        .map(|(_, about)| about)
}

fn family_name(family: u8) -> &'static str {
    match family {
        INET => "inet",
        IPV4 => "ip",
        IPV6 => "ip6",
        NETDEV => "netdev",
        _ => "of another family",
    }
}

/// Nothing for a hook by which no frame passes that is forwarded, and for other families
/// than of IP.
fn of_chain(chain: &Chain, links: &[Link], all: &[Link]) -> Vec<Decider> {
    let name = |hook: &str| {
        format!(
            "nftables: chain {} of table {} {} ({hook})",
            plain(chain.name.as_bytes()),
            family_name(chain.family),
            plain(chain.table.as_bytes())
        )
    };
    let is_ingress = match chain.family {
        NETDEV => chain.hook == NETDEV_INGRESS,
        _ => chain.hook == INET_INGRESS,
    };
    if chain.family == NETDEV || (chain.family == INET && is_ingress) {
        let here = links.iter().filter(|link| stands_at(chain, link, all));
        return here
            .map(|link| match is_ingress {
                true => incoming(link, &name("ingress")),
                false => outgoing(link, &name("egress")),
            })
            .collect();
    }
    let hook = BETWEEN.iter().find(|(hook, _)| *hook == chain.hook);
    let Some((_, hook)) = hook else {
        return Vec::new();
    };
    let name = name(hook);
    of_family(chain.family)
        .map(|about| Decider {
            about,
            name: name.clone(),
        })
        .collect()
}

/// Some kernels tell a link's name of when the chain was made: one that no link has now may
/// be any's.
fn stands_at(chain: &Chain, link: &Link, all: &[Link]) -> bool {
    chain
        .devices
        .iter()
        .any(|device| match device.strip_suffix('*') {
            Some(start) => link.name.starts_with(start),
            None => *device == link.name || !all.iter().any(|other| other.name == *device),
        })
}

/// A file of the namespace below `/proc/net`, which is there with a module of the kernel.
struct Told {
    name: &'static str,
    file: Option<File>,
}

impl Told {
    fn of(name: &'static str) -> Self {
        Self { name, file: None }
    }

    /// As much as is of interest, one line after the other with blanks between; empty where
    /// there is nothing.
    fn read(&mut self) -> String {
        if self.file.is_none() {
            self.file = File::open(format!("/proc/thread-self/net/{}", self.name)).ok();
        }
        let mut bytes = [0; TOLD_BYTES_MAX];
        let read = self.file.as_ref().map(|file| file.read_at(&mut bytes, 0));
        let Some(Ok(length)) = read else {
            self.file = None;
            return String::new();
        };
        let text = String::from_utf8_lossy(&bytes[..length]);
        text.lines().collect::<Vec<_>>().join(" ")
    }
}

/// By the words with which a service begins, after the heading.
fn has_virtual_servers(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.any(|word| matches!(word, "TCP" | "UDP" | "SCTP" | "FWM"))
}

fn unlisted() -> impl FnOnce(io::Error) -> Failure {
    Failure::of("cannot list the BPF links of this host; it takes root (CAP_SYS_ADMIN)")
}

/// The host's BPF links: those that may decide.
#[derive(Default)]
struct Held {
    /// The last that was looked at; later ones have greater numbers.
    last: u32,
    known: BTreeMap<u32, Holds>,
}

impl Held {
    fn forget_what_is_gone(&mut self) -> Result<(), Failure> {
        let known = std::mem::take(&mut self.known);
        for (number, holds) in known {
            let next = sys::bpf::link_after(number.saturating_sub(1));
            if next.map_err(unlisted())? == Some(number) {
                self.known.insert(number, holds);
            }
        }
        Ok(())
    }

    fn now(&mut self, links: &[Link]) -> io::Result<BTreeMap<u32, Holds>> {
        while let Some(next) = sys::bpf::link_after(self.last)? {
            match sys::bpf::link(next) {
                Ok(Some(holds)) if holds != Holds::Other => {
                    self.known.insert(next, holds);
                }
                Ok(_) => {}
                // It is being made: the next look sees it.
                Err(error) if error.raw_os_error() == Some(Errno::AGAIN.raw_os_error()) => break,
                Err(error) => return Err(error),
            }
            self.last = next;
        }
        let mut now = BTreeMap::new();
        let may_decide = |holds: &Holds| match holds {
            Holds::Netfilter { .. } => true,
            Holds::Xdp { interface } => links
                .iter()
                .any(|link| link.index == *interface && is_generic(link)),
            Holds::Other => false,
        };
        for (number, holds) in &self.known {
            if may_decide(holds) && sys::bpf::link(*number)?.is_some() {
                now.insert(*number, *holds);
            }
        }
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str) -> Link {
        Link {
            index,
            name: name.to_owned(),
            ..Link::default()
        }
    }

    fn chain(family: u8, hook: u32, devices: &[&str]) -> Chain {
        Chain {
            family,
            table: "t".to_owned(),
            name: "c".to_owned(),
            hook,
            devices: devices.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn a_chain_decides_about_what_passes_its_hook() {
        let links = [link(3, "eth1"), link(4, "eth2"), link(5, "lan")];
        let about = |chain: &Chain| -> Vec<About> {
            let of = of_chain(chain, &links[..2], &links);
            of.into_iter().map(|decider| decider.about).collect()
        };
        use About::{Incoming, Ipv4, Ipv6, Outgoing};
        let cases: [(Chain, &[About]); 13] = [
            (chain(IPV4, 2, &[]), &[Ipv4]),
            (chain(IPV6, 0, &[]), &[Ipv6]),
            (chain(INET, 4, &[]), &[Ipv4, Ipv6]),
            // Of this host's own traffic.
            (chain(INET, 1, &[]), &[]),
            (chain(IPV4, 3, &[]), &[]),
            // arp and bridge.
            (chain(3, 1, &[]), &[]),
            (chain(7, 2, &[]), &[]),
            (chain(INET, 5, &["eth1"]), &[Incoming(3)]),
            (chain(NETDEV, 0, &["eth2"]), &[Incoming(4)]),
            (
                chain(NETDEV, 1, &["eth1", "eth2"]),
                &[Outgoing(3), Outgoing(4)],
            ),
            (chain(NETDEV, 0, &["eth*"]), &[Incoming(3), Incoming(4)]),
            (chain(NETDEV, 0, &["lan"]), &[]),
            // A name of former times may be any link's.
            (chain(NETDEV, 1, &["wan"]), &[Outgoing(3), Outgoing(4)]),
        ];
        for (chain, wanted) in cases {
            assert_eq!(about(&chain), wanted, "{chain:?}");
        }
    }

    #[test]
    fn only_disciplines_that_somebody_chose_have_a_say() {
        let of = |kind: &str, handle| Discipline {
            interface: 3,
            kind: kind.to_owned(),
            handle,
        };
        assert!(of("tbf", 0x8001_0000).has_say());
        assert!(of("fq_codel", 0x8001_0000).has_say());
        assert!(!of("fq_codel", 0).has_say());
        assert!(!of("noqueue", 0x8001_0000).has_say());
        assert!(!of("clsact", 0xffff_0000).has_say());
    }

    #[test]
    fn virtual_servers_are_seen_behind_the_heading() {
        let heading = "IP Virtual Server version 1.2.1 (size=4096) Prot LocalAddress:Port Scheduler Flags   -> RemoteAddress:Port Forward Weight ActiveConn InActConn";
        assert!(!has_virtual_servers(heading));
        assert!(!has_virtual_servers(""));
        assert!(has_virtual_servers(&format!(
            "{heading} TCP  C0A80001:0050 wlc"
        )));
    }
}
