//! What a file asks for: read and checked whole, before anything is made.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::router::Firewall;
use crate::topology::plan::Network;

/// The version of files that this program reads.
const SCHEMA: u32 = 1;
/// More would be another program's work: each has a namespace and a watching thread.
const ROUTERS_MAX: usize = 64;
const PORTS_MAX: usize = 64;
/// A namespace's name is `lockgate-` and this.
const NAME_BYTES_MAX: usize = 32;
/// The kernel's own limit of a link's name (`IFNAMSIZ`).
const LINK_BYTES_MAX: usize = 15;
/// RFC 791, section 3.2, and what a veth takes.
const MTU_RANGE: std::ops::RangeInclusive<u32> = 68..=65_535;
/// RFC 8200, section 5.
const MTU_IPV6_MIN: u32 = 1280;

/// The bridge of a bridged router, in its namespace.
pub(super) const BRIDGE: &str = "bridge";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    #[serde(default)]
    router: BTreeMap<String, RouterTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouterTable {
    #[serde(default)]
    path: Forwarding,
    firewall: Option<Firewall>,
    bird: Option<PathBuf>,
    frr: Option<PathBuf>,
    #[serde(default)]
    threads: BTreeSet<usize>,
    #[serde(default)]
    port: Vec<PortTable>,
    #[serde(default)]
    route: Vec<RouteTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PortTable {
    name: String,
    veth: Option<String>,
    #[serde(default)]
    tap: bool,
    device: Option<String>,
    macvlan: Option<String>,
    to: Option<String>,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default = "usual_mtu")]
    mtu: u32,
}

fn usual_mtu() -> u32 {
    1500
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteTable {
    to: String,
    via: IpAddr,
    metric: Option<u32>,
}

/// What forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// Kernel routing.
    #[default]
    Kernel,
    /// The kernel's bridge: its ports have no addresses.
    Bridge,
    /// XDP with a FIB cache, kernel routing behind it.
    Xdp,
}

impl Forwarding {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Bridge => "bridge",
            Self::Xdp => "xdp",
        }
    }
}

/// What fills the kernel's table besides the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// BIRD 2 with this configuration.
    Bird(PathBuf),
    /// FRR with this configuration, of all its programs.
    Frr(PathBuf),
}

impl Control {
    /// As the file's key calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bird(_) => "bird",
            Self::Frr(_) => "frr",
        }
    }

    /// Its configuration.
    pub fn file(&self) -> &Path {
        match self {
            Self::Bird(file) | Self::Frr(file) => file,
        }
    }
}

/// What a port is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A veth pair whose other end is on the host, under this name.
    Veth(String),
    /// A tap in the router's namespace: a guest is started there.
    Tap,
    /// A device of the host, which is lent: a card, a virtual function, a tap.
    Device(String),
    /// A link of its own Ethernet address on a device that the host keeps.
    Macvlan(String),
    /// A cable to a port of another router of the file.
    Cable { router: String, port: String },
}

impl Source {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Veth(_) => "veth",
            Self::Tap => "tap",
            Self::Device(_) => "device",
            Self::Macvlan(_) => "macvlan",
            Self::Cable { .. } => "cable",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    pub source: Source,
    pub addresses: BTreeSet<Network>,
    pub mtu: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoutePlan {
    pub to: Network,
    pub via: IpAddr,
    pub metric: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterPlan {
    pub path: Forwarding,
    pub firewall: Firewall,
    pub control: Option<Control>,
    /// The CPUs of the kernel threads that receive; none: whoever sends to a port, and
    /// interrupts, do.
    pub threads: BTreeSet<usize>,
    pub ports: BTreeMap<String, PortPlan>,
    pub routes: BTreeSet<RoutePlan>,
}

/// Routers by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub routers: BTreeMap<String, RouterPlan>,
}

impl Plan {
    /// Reads and checks a file's text; `folder` is where its paths begin.
    ///
    /// # Errors
    /// In words: the value, what is allowed, and the remedy.
    pub fn read(text: &str, folder: &Path) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.schema != SCHEMA {
            return Err(format!(
                "schema {}: this program reads schema {SCHEMA}",
                file.schema
            ));
        }
        let mut routers = BTreeMap::new();
        for (name, table) in file.router {
            check_name(&name)?;
            let read = router(table, folder).map_err(|error| format!("router {name}: {error}"))?;
            routers.insert(name, read);
        }
        let plan = Self { routers };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if self.routers.is_empty() {
            return Err("no router: a file has one [router.NAME] or more".to_owned());
        }
        if self.routers.len() > ROUTERS_MAX {
            return Err(format!(
                "{} routers: at most {ROUTERS_MAX} are possible",
                self.routers.len()
            ));
        }
        for (name, router) in &self.routers {
            router
                .check()
                .map_err(|error| format!("router {name}: {error}"))?;
        }
        self.check_cables()?;
        self.check_bridges()?;
        self.check_names()
    }

    /// Each cable has two ends that name each other.
    fn check_cables(&self) -> Result<(), String> {
        for (router, port, source) in self.sources() {
            let Source::Cable {
                router: other,
                port: to,
            } = source
            else {
                continue;
            };
            let here = format!("{router}.{port}");
            if other == router {
                return Err(format!(
                    "{here} leads to {other}.{to}, the same router: a cable that is a loop"
                ));
            }
            let end = self
                .routers
                .get(other)
                .and_then(|router| router.ports.get(to));
            let back = end.map(|end| &end.source);
            let is_mutual = matches!(back, Some(Source::Cable { router: back, port: own }) if back == router && own == port);
            if !is_mutual {
                return Err(format!(
                    "{here} leads to {other}.{to}, which does not lead back: give that port to = \"{here}\""
                ));
            }
            if end.map(|end| end.mtu) != self.routers[router].ports.get(port).map(|own| own.mtu) {
                return Err(format!(
                    "{here} and {other}.{to} have different MTUs on one cable: give both the same"
                ));
            }
        }
        Ok(())
    }

    /// Bridges that cables join in a ring forward a broadcast for ever.
    fn check_bridges(&self) -> Result<(), String> {
        let is_bridge = |name: &String| {
            let router = self.routers.get(name);
            router.is_some_and(|router| router.path == Forwarding::Bridge)
        };
        // Each bridge's set, joined by the cables, each seen from one end.
        let mut set: BTreeMap<&String, &String> =
            self.routers.keys().map(|name| (name, name)).collect();
        for (router, port, source) in self.sources() {
            let Source::Cable { router: other, .. } = source else {
                continue;
            };
            if !(is_bridge(router) && is_bridge(other)) || other < router {
                continue;
            }
            let (own, others) = (set[router], set[other]);
            if own == others {
                return Err(format!(
                    "{router}.{port} closes a loop of bridges, in which a broadcast would run for ever: take a cable away, or let one of them route"
                ));
            }
            set.values_mut()
                .filter(|one| **one == others)
                .for_each(|one| *one = own);
        }
        Ok(())
    }

    /// What is on the host comes once.
    fn check_names(&self) -> Result<(), String> {
        let mut seen: BTreeMap<&String, String> = BTreeMap::new();
        for (router, port, source) in self.sources() {
            let (Source::Veth(name) | Source::Device(name)) = source else {
                continue;
            };
            let here = format!("{router}.{port}");
            if let Some(before) = seen.insert(name, here.clone()) {
                return Err(format!(
                    "{before} and {here} both want '{name}' on the host"
                ));
            }
        }
        Ok(())
    }

    /// Router, port and what that is, of all.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&String, &String, &Source)> {
        self.routers.iter().flat_map(|(router, plan)| {
            let ports = plan.ports.iter();
            ports.map(move |(port, plan)| (router, port, &plan.source))
        })
    }
}

impl RouterPlan {
    fn check(&self) -> Result<(), String> {
        if self.ports.len() > PORTS_MAX {
            return Err(format!(
                "{} ports: at most {PORTS_MAX} are possible",
                self.ports.len()
            ));
        }
        let mut networks: Vec<(&String, Network)> = Vec::new();
        for (name, port) in &self.ports {
            for &network in &port.addresses {
                if self.path == Forwarding::Bridge {
                    return Err(format!(
                        "port {name} has the address {network}, and a bridge's ports have none: take path = \"kernel\" or \"xdp\""
                    ));
                }
                if let Some((before, other)) =
                    networks.iter().find(|(_, other)| other.overlaps(network))
                {
                    return Err(format!(
                        "{other} at port {before} and {network} at port {name} overlap: which port leads there?"
                    ));
                }
                networks.push((name, network));
            }
        }
        if self.path == Forwarding::Bridge && self.ports.contains_key(BRIDGE) {
            return Err(format!(
                "port {BRIDGE}: that is the name of the bridge itself; choose another"
            ));
        }
        if self.path == Forwarding::Bridge && (self.control.is_some() || !self.routes.is_empty()) {
            return Err(
                "a bridge has no table: routes and a control plane are for path = \"kernel\" or \"xdp\""
                    .to_owned(),
            );
        }
        for (index, route) in self.routes.iter().enumerate() {
            let is_near = networks
                .iter()
                .any(|(_, network)| network.contains(route.via));
            if !is_near {
                return Err(format!(
                    "the route to {} by {}: no port has an address in its network",
                    route.to, route.via
                ));
            }
            let mut before = self.routes.iter().take(index);
            if before.any(|other| (other.to, other.metric) == (route.to, route.metric)) {
                return Err(format!(
                    "two routes to {} of one metric: give one of them another",
                    route.to
                ));
            }
        }
        if self.path == Forwarding::Xdp
            && let Some((name, port)) = self
                .ports
                .iter()
                .find(|(_, port)| matches!(port.source, Source::Macvlan(_)))
        {
            return Err(format!(
                "port {name} is a {}, which takes no XDP program: take a device or a veth, or path = \"kernel\"",
                port.source.kind()
            ));
        }
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
        return Err(format!(
            "router '{name}': a name has 1 to {NAME_BYTES_MAX} lower-case letters, digits or '-'"
        ));
    }
    Ok(())
}

fn check_link(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_free = !matches!(name, "lo" | "." | ".." | "all" | "default");
    if name.is_empty() || name.len() > LINK_BYTES_MAX || !name.bytes().all(is_plain) || !is_free {
        return Err(format!(
            "'{name}' is no name of a link: 1 to {LINK_BYTES_MAX} letters, digits, '-', '_' or '.', and not lo, all or default"
        ));
    }
    Ok(())
}

fn router(table: RouterTable, folder: &Path) -> Result<RouterPlan, String> {
    let mut ports = BTreeMap::new();
    for port_table in table.port {
        let name = port_table.name.clone();
        check_link(&name)?;
        if let Some(device) = &port_table.device
            && *device != name
        {
            return Err(format!(
                "port {name}: the device {device} keeps its name: write name = \"{device}\""
            ));
        }
        let plan = port(port_table).map_err(|error| format!("port {name}: {error}"))?;
        if ports.insert(name.clone(), plan).is_some() {
            return Err(format!("port {name} comes twice"));
        }
    }
    let mut routes = BTreeSet::new();
    for route in table.route {
        let to: Network = parsed(&route.to)?;
        if to.first() != to.address {
            return Err(format!(
                "the route to {to} has bits set beyond its prefix: write {}/{}",
                to.first(),
                to.bits
            ));
        }
        if to.address.is_ipv4() != route.via.is_ipv4() {
            return Err(format!(
                "the route to {to} by {}: both of one family",
                route.via
            ));
        }
        routes.insert(RoutePlan {
            to,
            via: route.via,
            metric: route.metric,
        });
    }
    let control = match (table.bird, table.frr) {
        (Some(_), Some(_)) => {
            return Err("bird and frr both: one program fills a table, take one".to_owned());
        }
        (Some(file), None) => Some(Control::Bird(folder.join(file))),
        (None, Some(file)) => Some(Control::Frr(folder.join(file))),
        (None, None) => None,
    };
    if let Some(firewall) = table.firewall
        && table.path != Forwarding::Xdp
    {
        return Err(format!(
            "firewall = \"{}\" is for path = \"xdp\": by path = \"{}\" the kernel forwards, and asks every firewall",
            firewall.name(),
            table.path.name()
        ));
    }
    Ok(RouterPlan {
        path: table.path,
        firewall: table.firewall.unwrap_or_default(),
        control,
        threads: table.threads,
        ports,
        routes,
    })
}

fn parsed(text: &str) -> Result<Network, String> {
    text.parse()
        .map_err(|error: crate::topology::plan::NotANetwork| error.to_string())
}

fn port(table: PortTable) -> Result<PortPlan, String> {
    let mut sources = Vec::new();
    for (name, source) in [
        (&table.veth, Source::Veth as fn(String) -> Source),
        (&table.device, Source::Device),
        (&table.macvlan, Source::Macvlan),
    ] {
        if let Some(name) = name {
            check_link(name)?;
            sources.push(source(name.clone()));
        }
    }
    if table.tap {
        sources.push(Source::Tap);
    }
    if let Some(to) = &table.to {
        let (router, port) = to
            .split_once('.')
            .ok_or_else(|| format!("to = \"{to}\": write ROUTER.PORT"))?;
        sources.push(Source::Cable {
            router: router.to_owned(),
            port: port.to_owned(),
        });
    }
    let source = match &sources[..] {
        [source] => source.clone(),
        others => {
            return Err(format!(
                "{} of veth, tap, device, macvlan and to are given: give one",
                others.len()
            ));
        }
    };
    if !MTU_RANGE.contains(&table.mtu) {
        return Err(format!(
            "an MTU of {}: {} to {} are possible",
            table.mtu,
            MTU_RANGE.start(),
            MTU_RANGE.end()
        ));
    }
    let mut addresses = BTreeSet::new();
    for text in &table.addresses {
        let network = parsed(text)?;
        if network.address.is_unspecified() || network.address.is_multicast() {
            return Err(format!("{network} is no address of a host"));
        }
        if network.address.is_ipv6() && table.mtu < MTU_IPV6_MIN {
            return Err(format!(
                "{network} with an MTU of {}: IPv6 needs {MTU_IPV6_MIN}",
                table.mtu
            ));
        }
        if !addresses.insert(network) {
            return Err(format!("{network} comes twice"));
        }
    }
    Ok(PortPlan {
        source,
        addresses,
        mtu: table.mtu,
    })
}

#[cfg(test)]
mod tests;
