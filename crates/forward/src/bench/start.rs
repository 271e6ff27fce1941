//! How a bench comes up: home, wires, router, ports, and the first frame.

use net::cgroup::{Cgroup, Limits};
use net::{Journal, Tag};

use super::BenchError;
use super::setup::{PortKind, Setup};
use crate::home::Home;
use crate::router::path::Path;
use crate::router::{Router, Task, bridge::Bridge, kernel::Kernel, testpmd::Testpmd};
#[cfg(feature = "bpf")]
use crate::router::{af_xdp::Forwarder, planted::Device, xdp::Xdp};
use crate::topology::{NetworkError, Topology, Wires};

/// What is up, in the order in which it goes down.
pub struct Started {
    pub router: Box<dyn Router>,
    pub topology: Topology,
    pub home: Home,
    limit: Option<Cgroup>,
    pub journal: Journal,
}

pub fn start(setup: &Setup) -> Result<Started, BenchError> {
    setup.topology.check()?;
    supported(setup)?;
    let journal = Journal::open()?;
    let tag = Tag::fresh();
    let home = Home::start(&journal, &tag, setup.home)?;
    let namespace = home.namespace().clone();
    let topology = Topology::build(&journal, tag, &setup.topology, namespace)?;
    let router = start_router(setup.path, &journal, &topology)?;
    Ok(Started {
        router,
        topology,
        home,
        limit: None,
        journal,
    })
}

fn supported(setup: &Setup) -> Result<(), BenchError> {
    if !rustix::process::geteuid().is_root() {
        return Err(BenchError::NotSupported {
            what: "a router on a test bench".to_owned(),
            remedy: "run as root: network namespaces and XDP need it".to_owned(),
        });
    }
    over_wires(setup)?;
    if cfg!(feature = "bpf") || !setup.needs_bpf() {
        return Ok(());
    }
    Err(BenchError::NotSupported {
        what: format!("{} with {} ports", setup.path.name(), setup.ports.name()),
        remedy: "install libelf-dev and zlib1g-dev, and build with the cargo feature 'bpf'"
            .to_owned(),
    })
}

/// Taps have ports of their own, and only paths that do not need a link's driver.
fn over_wires(setup: &Setup) -> Result<(), BenchError> {
    let is_tap = setup.topology.wires == Wires::Tap;
    let what = if is_tap != (setup.ports == PortKind::Tap) {
        format!("{} ports over these wires", setup.ports.name())
    } else if is_tap && !matches!(setup.path, Path::Kernel | Path::Bridge) {
        format!("{} over taps", setup.path.name())
    } else {
        return Ok(());
    };
    Err(BenchError::NotSupported {
        what,
        remedy: "take tap ports with wires that are taps, for kernel routing and bridging: XDP programs of a tap run in the writer's context".to_owned(),
    })
}

fn start_router(
    path: Path,
    journal: &Journal,
    topology: &Topology,
) -> Result<Box<dyn Router>, BenchError> {
    Ok(match path {
        Path::Kernel => Box::new(Kernel::start(topology)?),
        Path::Bridge => Box::new(Bridge::start(topology)?),
        #[cfg(feature = "bpf")]
        Path::XdpDevmap => Box::new(Xdp::devmap(topology)?),
        #[cfg(feature = "bpf")]
        Path::XdpFib => Box::new(Xdp::fib(topology)?),
        #[cfg(feature = "bpf")]
        Path::XdpFibCached => Box::new(Xdp::fib_cached(topology)?),
        #[cfg(feature = "bpf")]
        Path::XdpCpumap => Box::new(Xdp::cpumap(topology)?),
        #[cfg(feature = "bpf")]
        Path::AfXdp(config) => Box::new(Forwarder::over(topology, config)?),
        Path::Testpmd => Box::new(Testpmd::over(journal, topology)?),
        #[cfg(feature = "bpf")]
        Path::Planted(plant) => Box::new(Device::start(topology, plant)?),
        #[cfg(not(feature = "bpf"))]
        other => {
            return Err(BenchError::NotSupported {
                what: format!("the path {}", other.name()),
                remedy: "take a later version".to_owned(),
            });
        }
    })
}

impl Started {
    /// Limits the router, its kernel threads and its own together, to this many CPUs,
    /// or lifts the limit.
    pub fn limit(&mut self, cpus: Option<f64>) -> Result<(), BenchError> {
        // The old limit first: its threads move out.
        self.limit = None;
        if cpus.is_none() {
            return Ok(());
        }
        let name = Tag::fresh().name("limit").map_err(NetworkError::from)?;
        let limits = Limits {
            cpus,
            ..Limits::default()
        };
        let mut group = Cgroup::create(&self.journal, &name, &limits)?;
        for thread in self.topology.router_threads() {
            group.add(thread.pid)?;
        }
        for task in self.router.tasks() {
            match task {
                Task::Thread(number) => group.add_thread(number)?,
                Task::Process(number) => group.add(number)?,
            }
        }
        self.limit = Some(group);
        Ok(())
    }
}
