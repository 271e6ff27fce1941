//! Routers as they stand, and how they become others.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use net::journal::{Entry, Record};
use net::netlink::{Route, RouteKind};
use net::{Journal, Namespace, Netlink};
use sys::failure::Failure;

use super::PlaneError;
use super::control::{self, Running};
use super::plan::{BRIDGE, Forwarding, Plan, RoutePlan, RouterPlan, Source};
use super::port::{self, Place, Port};
use super::programs::OnPorts;
use super::show::{DeciderShown, PortShown, RouterShown, XdpShown};
use crate::topology::NetworkError;

/// `RT_TABLE_MAIN`, which XDP follows besides what rules say.
const MAIN_TABLE: u32 = 254;

/// The routers of a file. Dropped, they are gone, and what was lent is back.
pub struct Plane {
    plan: Plan,
    routers: BTreeMap<String, Router>,
    host: Namespace,
    /// Of control sockets.
    folder: PathBuf,
    // After all that may have files in it.
    own_folder: Option<Record>,
    journal: Journal,
}

struct Router {
    control: Option<Running>,
    programs: Option<OnPorts>,
    ports: BTreeMap<String, Port>,
    /// Those that were set.
    routes: BTreeSet<RoutePlan>,
    /// What it became last, as a whole.
    plan: RouterPlan,
    namespace: Namespace,
}

impl Plane {
    /// None yet. `folder` is for the sockets of control planes.
    ///
    /// # Errors
    /// [`PlaneError::NotSupported`] without root.
    pub fn new(folder: &Path) -> Result<Self, PlaneError> {
        if !rustix::process::geteuid().is_root() {
            return Err(PlaneError::NotSupported {
                what: "a router".to_owned(),
                remedy: "run as root: network namespaces and XDP need it".to_owned(),
            });
        }
        Ok(Self {
            plan: Plan::default(),
            routers: BTreeMap::new(),
            host: Namespace::current()
                .map_err(PlaneError::of("the host's network is not known"))?,
            folder: folder.to_owned(),
            own_folder: None,
            journal: Journal::open()?,
        })
    }

    /// As [`Plane::new`]; reserves and makes that folder, which goes with the routers. Of
    /// two who want the same folder one has it, and the other makes nothing.
    ///
    /// # Errors
    /// [`PlaneError::Held`] where a living program has it.
    pub fn owning(folder: &Path) -> Result<Self, PlaneError> {
        let mut plane = Self::new(folder)?;
        let path = folder.to_owned();
        plane.own_folder = Some(plane.journal.record(Entry::Folder { path })?);
        let made = std::fs::DirBuilder::new().mode(0o700).create(folder);
        made.map_err(|error| PlaneError::Router {
            what: format!("cannot make {}", folder.display()),
            source: Failure::as_is(error),
        })?;
        Ok(plane)
    }

    /// Becomes what that plan asks for, by changing what differs; what was changed, in
    /// words. If something fails it becomes again what it was.
    ///
    /// # Errors
    /// [`PlaneError`]; also where it could not become again what it was, which is said.
    pub fn become_(&mut self, plan: &Plan) -> Result<Vec<String>, PlaneError> {
        self.check(plan)?;
        let before = self.plan.clone();
        match self.change(plan) {
            Ok(changes) => {
                self.plan = plan.clone();
                Ok(changes)
            }
            Err(error) => {
                if let Err(worse) = self.change(&before) {
                    return Err(PlaneError::Router {
                        what: format!("{error}; what was before could not be restored either"),
                        source: Failure::as_is(worse),
                    });
                }
                Err(error)
            }
        }
    }

    /// What would fail half way is looked at before.
    fn check(&self, plan: &Plan) -> Result<(), PlaneError> {
        for (name, router) in &plan.routers {
            port::check_cpus(name, &router.threads)?;
            if let Some(wanted) = &router.control {
                control::check(wanted)?;
            }
            if router.path == Forwarding::Xdp && !cfg!(feature = "bpf") {
                return Err(PlaneError::NotSupported {
                    what: "path = \"xdp\"".to_owned(),
                    remedy:
                        "install libelf-dev and zlib1g-dev, and build with the cargo feature 'bpf'"
                            .to_owned(),
                });
            }
        }
        let mut netlink = self.host.netlink().map_err(unknown)?;
        let links = netlink.links().map_err(unknown)?;
        let here = |name: &String| links.iter().any(|link| link.name == *name);
        for (router, port, source) in plan.sources() {
            let standing = self.routers.get(router).and_then(|one| one.ports.get(port));
            if standing.is_some_and(|one| one.plan.source == *source) {
                continue;
            }
            match source {
                Source::Veth(name) if here(name) => {
                    return Err(PlaneError::Plan(format!(
                        "{router}.{port}: there is a link '{name}' on the host: choose another name for the veth's other end"
                    )));
                }
                Source::Device(name) | Source::Macvlan(name) if !here(name) => {
                    // It may be with a router that gives it back.
                    let is_ours = self.plan.sources().any(|(.., own)| own == source);
                    if !is_ours {
                        return Err(PlaneError::Plan(format!(
                            "{router}.{port}: there is no device '{name}' here; 'ip link' shows the existing ones"
                        )));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn change(&mut self, plan: &Plan) -> Result<Vec<String>, PlaneError> {
        let mut changes = Vec::new();
        self.take_away(plan, &mut changes)?;
        self.make(plan, &mut changes)?;
        for (name, wanted) in &plan.routers {
            let router = self.routers.get_mut(name).expect("made above");
            let of = || PlaneError::of(format!("router {name}"));
            let mut changed = router.set_up(wanted, &self.host).map_err(of())?;
            router.forward(name, wanted, &mut changed)?;
            changed.extend(router.receive(wanted).map_err(of())?);
            changed.extend(router.steer(&self.journal, wanted, &self.folder)?);
            router.plan = wanted.clone();
            changes.extend(
                changed
                    .into_iter()
                    .map(|change| format!("{name}: {change}")),
            );
        }
        Ok(changes)
    }

    /// Routers and ports that are not wanted, or are something else now.
    fn take_away(&mut self, plan: &Plan, changes: &mut Vec<String>) -> Result<(), PlaneError> {
        let gone: Vec<String> = self
            .routers
            .keys()
            .filter(|name| !plan.routers.contains_key(*name))
            .cloned()
            .collect();
        for name in gone {
            self.routers.remove(&name);
            changes.push(format!("{name}: gone"));
        }
        for (name, router) in &mut self.routers {
            let wanted = &plan.routers[name];
            let is_kept = |port: &str, standing: &Port| {
                let wanted = wanted.ports.get(port);
                wanted.is_some_and(|one| one.source == standing.plan.source)
            };
            let gone: Vec<String> = router
                .ports
                .iter()
                .filter(|(port, standing)| !is_kept(port, standing))
                .map(|(port, _)| port.clone())
                .collect();
            if gone.is_empty() {
                continue;
            }
            // A program stays on no port that goes.
            router.stop_programs();
            for port in gone {
                let standing = router.ports.remove(&port).expect("found above");
                let removed = standing.remove(&router.namespace, &port);
                removed.map_err(PlaneError::of(format!("router {name}, port {port}")))?;
                changes.push(format!("{name}: port {port} gone"));
            }
        }
        Ok(())
    }

    /// Routers and ports that are not there.
    fn make(&mut self, plan: &Plan, changes: &mut Vec<String>) -> Result<(), PlaneError> {
        for name in plan.routers.keys() {
            if self.routers.contains_key(name) {
                continue;
            }
            let router = Router::new(&self.journal, name)
                .map_err(PlaneError::of(format!("router {name}")))?;
            self.routers.insert(name.clone(), router);
            changes.push(format!("{name}: made"));
        }
        for (name, wanted) in &plan.routers {
            for (port, plan) in &wanted.ports {
                if self.routers[name].ports.contains_key(port) {
                    continue;
                }
                let other = match &plan.source {
                    Source::Cable { router, .. } => Some(self.routers[router].namespace.clone()),
                    _ => None,
                };
                let place = Place {
                    journal: &self.journal,
                    host: &self.host,
                    inside: &self.routers[name].namespace,
                    other: other.as_ref(),
                };
                let made = Port::make(&place, port, plan)
                    .map_err(PlaneError::of(format!("router {name}, port {port}")))?;
                let router = self.routers.get_mut(name).expect("made above");
                router.ports.insert(port.clone(), made);
                changes.push(format!("{name}: port {port}"));
                if let Source::Cable {
                    router: other,
                    port: end,
                } = &plan.source
                    && let Some(there) = self.routers.get_mut(other)
                {
                    let wanted = &self_end(plan, name, port);
                    there.ports.insert(end.clone(), Port::of_cable(wanted));
                }
            }
        }
        Ok(())
    }

    /// How they stand.
    ///
    /// # Errors
    /// [`PlaneError`].
    pub fn show(&mut self) -> Result<Vec<RouterShown>, PlaneError> {
        let shown = self.routers.iter_mut().map(|(name, router)| {
            let of = PlaneError::of(format!("router {name}"));
            router.show(name).map_err(of)
        });
        shown.collect()
    }

    /// What a router's XDP program did; `None` where it has none.
    pub fn xdp(&self, router: &str) -> Option<XdpShown> {
        self.routers.get(router)?.xdp()
    }

    /// The processes of a router's control plane.
    pub fn control_pids(&self, router: &str) -> Vec<u32> {
        let router = self.routers.get(router);
        let control = router.and_then(|router| router.control.as_ref());
        control.map_or_else(Vec::new, Running::pids)
    }

    pub fn namespace(&self, router: &str) -> Option<&Namespace> {
        Some(&self.routers.get(router)?.namespace)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The other end of a cable that leads from that port.
fn self_end(plan: &super::PortPlan, router: &str, port: &str) -> super::PortPlan {
    super::PortPlan {
        source: Source::Cable {
            router: router.to_owned(),
            port: port.to_owned(),
        },
        ..plan.clone()
    }
}

fn unknown(error: net::netlink::NetlinkError) -> PlaneError {
    PlaneError::of("the host's links are not known")(error)
}

impl Router {
    fn new(journal: &Journal, name: &str) -> Result<Self, NetworkError> {
        let namespace = Namespace::create(journal, &format!("lockgate-{name}"))?;
        Ok(Self {
            control: None,
            programs: None,
            ports: BTreeMap::new(),
            routes: BTreeSet::new(),
            plan: RouterPlan {
                path: Forwarding::Kernel,
                ..RouterPlan::default()
            },
            namespace,
        })
    }

    /// Ports, addresses and routes.
    fn set_up(
        &mut self,
        wanted: &RouterPlan,
        host: &Namespace,
    ) -> Result<Vec<String>, NetworkError> {
        let mut changes = Vec::new();
        let mut netlink = self.namespace.netlink()?;
        let is_bridge = wanted.path == Forwarding::Bridge;
        let forwards = if is_bridge { "0" } else { "1" };
        self.namespace.set_sysctl("ipv4/ip_forward", forwards)?;
        if self.namespace.sysctl("ipv6/conf/all/forwarding").is_ok() {
            self.namespace
                .set_sysctl("ipv6/conf/all/forwarding", forwards)?;
        }
        let was_bridge = netlink.link(BRIDGE).is_ok();
        if was_bridge && !is_bridge {
            netlink.remove_link(BRIDGE)?;
        }
        for (name, port) in &mut self.ports {
            let plan = &wanted.ports[name];
            changes.extend(port.become_(&mut netlink, name, plan, host)?);
        }
        if is_bridge {
            if !was_bridge {
                netlink.add_bridge(BRIDGE)?;
                netlink.set_up(BRIDGE)?;
            }
            for name in self.ports.keys() {
                if netlink.link(name)?.master.is_none() {
                    netlink.set_master(name, Some(BRIDGE))?;
                }
            }
        }
        changes.extend(self.route(&mut netlink, wanted)?);
        Ok(changes)
    }

    fn route(
        &mut self,
        netlink: &mut Netlink,
        wanted: &RouterPlan,
    ) -> Result<Vec<String>, NetworkError> {
        let mut changes = Vec::new();
        let gone: Vec<_> = self.routes.difference(&wanted.routes).copied().collect();
        for route in gone {
            // The gateway decides; its port may be gone already.
            let old = Route {
                metric: route.metric,
                gateway: Some(route.via),
                ..Route::new(route.to.address, route.to.bits, RouteKind::Unicast)
            };
            match netlink.remove_route(&old) {
                // It went with its address or its port.
                Err(error) if error.is_absent() || error.errno() == Some(GONE) => {}
                removed => removed?,
            }
            self.routes.remove(&route);
            changes.push(format!("no route to {} by {}", route.to, route.via));
        }
        // Those that are kept may have gone with an address that was another's for a
        // moment: setting them again changes nothing else.
        for route in &wanted.routes {
            let mut ports = self.ports.iter();
            let own = ports.find(|(_, port)| {
                let mut own = port.plan.addresses.iter();
                own.any(|network| network.contains(route.via))
            });
            let (name, _) = own.expect("checked by the plan");
            let index = netlink.link(name)?.index;
            netlink.replace_route(&Route {
                metric: route.metric,
                ..Route::via(route.to.address, route.to.bits, route.via, index)
            })?;
            if self.routes.insert(*route) {
                changes.push(format!("route to {} by {}", route.to, route.via));
            }
        }
        Ok(changes)
    }

    /// The XDP program, where it is wanted: on these ports and no others.
    fn forward(
        &mut self,
        name: &str,
        wanted: &RouterPlan,
        changes: &mut Vec<String>,
    ) -> Result<(), PlaneError> {
        let is_wanted = wanted.path == Forwarding::Xdp;
        let links: Vec<String> = self.ports.keys().cloned().collect();
        let are_others = |on: &OnPorts| !on.are_as(&links, wanted.firewall);
        if !is_wanted || self.programs.as_ref().is_some_and(are_others) {
            self.stop_programs();
        }
        if is_wanted && self.programs.is_none() && !links.is_empty() {
            let started = OnPorts::start(&self.namespace, links, wanted.firewall);
            let of = PlaneError::forwarding(format!("router {name}: XDP"));
            self.programs = Some(started.map_err(of)?);
        }
        if self.plan.firewall != wanted.firewall {
            changes.push(format!("firewall {}", wanted.firewall.name()));
        }
        if self.plan.path != wanted.path {
            changes.push(format!("path {}", wanted.path.name()));
        }
        Ok(())
    }

    fn stop_programs(&mut self) {
        self.programs = None;
    }

    /// Who receives. XDP programs that are new on a port have new threads.
    fn receive(&mut self, wanted: &RouterPlan) -> Result<Vec<String>, NetworkError> {
        if wanted.threads.is_empty() && self.plan.threads.is_empty() {
            return Ok(Vec::new());
        }
        let mut netlink = self.namespace.netlink()?;
        let cpus = &wanted.threads;
        for (name, port) in &self.ports {
            port.receive(&self.namespace, &mut netlink, name, cpus)?;
        }
        Ok(match *cpus == self.plan.threads {
            true => Vec::new(),
            false if cpus.is_empty() => vec!["no threads of its own".to_owned()],
            false => vec![format!("threads on CPUs {cpus:?}")],
        })
    }

    /// The control plane.
    fn steer(
        &mut self,
        journal: &Journal,
        wanted: &RouterPlan,
        folder: &Path,
    ) -> Result<Vec<String>, PlaneError> {
        let is_same = self.control.as_ref().map(|one| &one.control) == wanted.control.as_ref();
        if let Some(running) = self.control.as_mut().filter(|_| is_same)
            && running.is_alive()
        {
            if !running.is_changed()? {
                return Ok(Vec::new());
            }
            let name = running.control.name();
            if running.reconfigure()? {
                return Ok(vec![format!("{name} reads its configuration again")]);
            }
        } else if is_same && self.control.is_none() {
            return Ok(Vec::new());
        }
        // What it put into the table goes with it, before another comes.
        let gone = self.control.take().map(|one| one.control.name());
        let Some(control) = &wanted.control else {
            return Ok(gone.map(|name| format!("no {name}")).into_iter().collect());
        };
        self.control = Some(Running::start(journal, &self.namespace, control, folder)?);
        Ok(vec![format!("{} started", control.name())])
    }

    fn show(&mut self, name: &str) -> Result<RouterShown, NetworkError> {
        let mut netlink = self.namespace.netlink()?;
        let mut ports = Vec::new();
        for (port, standing) in &self.ports {
            let (link, counted) = (netlink.link(port)?, netlink.statistics(port)?);
            let own = netlink.addresses(port)?;
            ports.push(PortShown {
                name: port.clone(),
                kind: standing.plan.source.kind().to_owned(),
                other: other_end(&standing.plan.source, &self.namespace),
                running: link.up && link.running,
                mtu: link.mtu,
                addresses: own
                    .iter()
                    .filter(|(address, _)| !is_link_local(*address))
                    .map(|(address, bits)| format!("{address}/{bits}"))
                    .collect(),
                received: counted.rx_packets,
                sent: counted.tx_packets,
                received_dropped: counted.rx_dropped,
                sent_dropped: counted.tx_dropped,
                threads: match self.plan.threads.is_empty() {
                    true => Vec::new(),
                    false => pids(&mut netlink, port),
                },
                xdp: self.xdp_of(link.index),
            });
        }
        let mut routes = [0, 0];
        let families: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        for (count, family) in routes.iter_mut().zip(families) {
            net::netlink::until_whole(|| {
                *count = 0;
                netlink.each_route(family, &mut |route: Route| {
                    *count += u64::from(route.table == MAIN_TABLE);
                })
            })?;
        }
        Ok(RouterShown {
            name: name.to_owned(),
            namespace: self.namespace.name().to_owned(),
            path: self.plan.path.name().to_owned(),
            firewall: self.plan.firewall,
            deciders: self.deciders(&mut netlink)?,
            ports,
            routes,
            xdp: self.xdp(),
            control: self.control_words(),
        })
    }

    fn xdp(&self) -> Option<XdpShown> {
        self.programs.as_ref().map(OnPorts::counters)
    }

    /// Of the frames that came in by that link.
    fn xdp_of(&self, index: u32) -> Option<XdpShown> {
        self.programs.as_ref()?.counters_of(index)
    }

    /// What else decides about frames that XDP would forward.
    fn deciders(&self, netlink: &mut Netlink) -> Result<Vec<DeciderShown>, NetworkError> {
        let programs = self.programs.as_ref();
        programs.map_or(Ok(Vec::new()), |on| on.deciders(netlink))
    }

    fn control_words(&mut self) -> String {
        let Some(running) = &mut self.control else {
            return String::new();
        };
        match running.is_alive() {
            true => running.words(),
            false => format!(
                "{} has ended: reload starts it again",
                running.control.name()
            ),
        }
    }
}

/// Links are gone when this returns; with their namespace alone they would go some time
/// later.
impl Drop for Router {
    fn drop(&mut self) {
        self.control = None;
        self.stop_programs();
        for (name, port) in std::mem::take(&mut self.ports) {
            // What it could not do the namespace's end does.
            let _ = port.remove(&self.namespace, &name);
        }
    }
}

fn pids(netlink: &mut Netlink, port: &str) -> Vec<i32> {
    let threads = net::napi::threads_now(netlink, port);
    threads.iter().map(|thread| thread.pid).collect()
}

/// `ESRCH`: what the kernel says of a route that is not there.
const GONE: i32 = 3;

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

fn other_end(source: &Source, namespace: &Namespace) -> String {
    match source {
        Source::Veth(host) => format!("{host} on the host"),
        Source::Cable { router, port } => format!("{router}.{port}"),
        Source::Macvlan(parent) => format!("on {parent}"),
        Source::Tap => format!("for a guest: ip netns exec {}", namespace.name()),
        Source::Device(_) => String::new(),
    }
}
