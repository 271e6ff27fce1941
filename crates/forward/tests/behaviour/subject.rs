//! Paths that a DUT can forward on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::path::Path as BenchPath;
use lockgate_forward::router::xdp::Xdp;
use lockgate_forward::topology::Topology;
use xdp::path::{Control, CpuMap, Decided, Fib, RouterOptions, RouterPort, Then, Wire};
use xdp::{Attached, Path};

use crate::behaviour::plan;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Kernel,
    /// Every frame out of the other port as it came: no router.
    Wire,
    Fib,
    /// The same without a look at sources: not as the kernel does it.
    FibAnySource,
    FibCached,
    CpuMap,
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

pub enum Running {
    Kernel {
        _router: Kernel,
    },
    Wire {
        _router: Xdp<Wire>,
    },
    Fib(Xdp<Fib>),
    FibAnySource {
        _watched: Watched,
        _program: Attached<Fib>,
    },
    FibCached(Xdp<Fib>),
    CpuMap {
        _watched: Watched,
        path: Attached<CpuMap>,
        then: Then,
    },
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
                let program = attached(topology, load);
                Self::FibAnySource {
                    _watched: Watched::start(program.control()),
                    _program: program,
                }
            }
            Subject::CpuMap => cpu_map(topology, Then::Kernel),
            Subject::CpuMapFib => cpu_map(topology, Then::Fib(RouterOptions::default())),
        }
    }

    /// Frames that its program itself sent on, and of these the ones from its cache;
    /// `None` where it takes no part.
    pub fn forwarded(&self) -> (Option<u64>, Option<u64>) {
        match self {
            Self::Fib(router) => (Some(router.program().counters().unwrap().forwarded), None),
            Self::FibCached(router) => {
                let counters = router.program().counters().unwrap();
                (Some(counters.forwarded), Some(counters.hits))
            }
            Self::CpuMap { path, then, .. } => {
                let counted = match then {
                    Then::Kernel => path.counters(),
                    Then::Fib(_) => path.routed(),
                };
                (Some(counted.unwrap().forwarded), None)
            }
            _ => (None, None),
        }
    }
}

impl Running {
    /// What the program of a path counted whose router hears of what decides.
    pub fn counters(&self) -> Option<xdp::Counters> {
        match self {
            Self::Fib(router) | Self::FibCached(router) => {
                Some(router.program().counters().unwrap())
            }
            _ => None,
        }
    }
}

/// Renews the lease where nothing that is watched changes.
pub struct Watched {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    fn start(control: Control) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !inside.load(Ordering::Relaxed) {
                let look = control.look().unwrap();
                control.renew(look).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
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
        no_ipv6: false,
        decided: Decided::default(),
    });
    let attach = || Attached::new(load(&ports)).unwrap();
    topology.router().run(attach).unwrap()
}

/// One CPU for all frames: their order stays, whatever their addresses.
fn cpu_map(topology: &Topology, then: Then) -> Running {
    let cpus = &topology.spec().cpus.router[..1];
    let load = |ports: &[_]| CpuMap::load(ports, cpus, then).unwrap();
    let path = attached(topology, load);
    Running::CpuMap {
        _watched: Watched::start(path.control()),
        path,
        then,
    }
}
