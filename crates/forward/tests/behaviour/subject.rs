//! Paths that a DUT can forward on.

use std::sync::Arc;

use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::path::Path as BenchPath;
use lockgate_forward::router::xdp::Xdp;
use lockgate_forward::topology::Topology;
use xdp::path::{CpuMap, Fib, FibCached, RouterOptions, RouterPort, Then, Wire};
use xdp::{Attached, Path};

use crate::plan;

/// Which path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The kernel's own.
    Kernel,
    /// Every frame out of the other port as it came: no router.
    Wire,
    /// The kernel's table, asked for each frame.
    Fib,
    /// The same without a look at sources: not as the kernel does it.
    FibAnySource,
    /// The kernel's table, remembered.
    FibCached,
    /// Frames go to the kernel on another CPU.
    CpuMap,
    /// The kernel's table, asked for each frame on another CPU.
    CpuMapFib,
}

/// How a path of the bench is compared with the kernel's, or why it is not. A
/// new one does not compile before it is decided here.
pub fn of_bench(path: BenchPath) -> Result<Subject, &'static str> {
    match path {
        BenchPath::Kernel => Ok(Subject::Kernel),
        BenchPath::XdpFib => Ok(Subject::Fib),
        BenchPath::XdpFibCached => Ok(Subject::FibCached),
        BenchPath::XdpCpumap => Ok(Subject::CpuMap),
        BenchPath::Bridge | BenchPath::XdpDevmap => {
            Err("it forwards as a wire does, not as a router")
        }
        BenchPath::Planted(_) => Err("it is wrong on purpose"),
        BenchPath::AfXdp(_) => Err("it has fixed next hops and asks no table"),
        BenchPath::Testpmd => Err("it is a peer, not ours"),
    }
}

/// A path that forwards as long as it lives.
pub enum Running {
    Kernel { _router: Kernel },
    Wire { _router: Xdp<Wire> },
    Fib(Xdp<Arc<Fib>>),
    FibAnySource { _program: Attached<Fib> },
    FibCached(Xdp<Arc<FibCached>>),
    CpuMap(Attached<CpuMap>, Then),
}

impl Running {
    pub fn start(subject: Subject, topology: &Topology) -> Self {
        match subject {
            Subject::Kernel => Self::Kernel {
                _router: Kernel::start(topology).unwrap(),
            },
            Subject::Wire => Self::Wire {
                _router: Xdp::devmap(topology).unwrap(),
            },
            Subject::Fib => Self::Fib(Xdp::fib(topology).unwrap()),
            Subject::FibCached => Self::FibCached(Xdp::fib_cached(topology).unwrap()),
            Subject::FibAnySource => {
                let options = RouterOptions {
                    any_source: true,
                    ..RouterOptions::default()
                };
                let load = |ports: &[_]| Fib::load(ports, options).unwrap();
                Self::FibAnySource {
                    _program: attached(topology, load),
                }
            }
            Subject::CpuMap => cpu_map(topology, Then::Kernel),
            Subject::CpuMapFib => cpu_map(topology, Then::Fib(RouterOptions::default())),
        }
    }

    /// Frames that its program sent on itself, and of these the ones whose way
    /// it remembered; `None` where it has no part in that.
    pub fn forwarded(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Fib(router) => (Some(router.program().counters().unwrap().forwarded), None),
            Self::FibCached(router) => {
                let counters = router.program().counters().unwrap();
                (Some(counters.forwarded), Some(counters.hits))
            }
            Self::CpuMap(path, Then::Kernel) => (Some(path.counters().unwrap().forwarded), None),
            Self::CpuMap(path, Then::Fib(_)) => (Some(path.routed().unwrap().forwarded), None),
            _ => (None, None),
        }
    }
}

/// A program alone on the ports of a topology that the kernel routes over.
fn attached<P: Path + Send>(
    topology: &Topology,
    load: impl FnOnce(&[RouterPort]) -> P + Send,
) -> Attached<P> {
    Kernel::start(topology).unwrap();
    let ports = [0, 1].map(|side: usize| RouterPort {
        ifindex: topology.sides()[side].router_index,
        address: plan::DUT[side],
        vlan: None,
        strict_source: false,
    });
    let attach = || Attached::new(load(&ports)).unwrap();
    topology.router().run(attach).unwrap()
}

/// One CPU for all frames: their order stays, whatever their addresses.
fn cpu_map(topology: &Topology, then: Then) -> Running {
    let cpus = &topology.spec().cpus.router[..1];
    let load = |ports: &[_]| CpuMap::load(ports, cpus, then).unwrap();
    Running::CpuMap(attached(topology, load), then)
}
