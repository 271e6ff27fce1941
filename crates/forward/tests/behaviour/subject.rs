//! Paths that a DUT can forward on.

use std::sync::Arc;

use lockgate_forward::router::kernel::Kernel;
use lockgate_forward::router::xdp::Xdp;
use lockgate_forward::topology::Topology;
use xdp::Attached;
use xdp::path::{Fib, FibCached, RouterOptions, RouterPort, Wire};

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
}

/// A path that forwards as long as it lives.
pub enum Running {
    Kernel { _router: Kernel },
    Wire { _router: Xdp<Wire> },
    Fib(Xdp<Arc<Fib>>),
    FibAnySource { _program: Attached<Fib> },
    FibCached(Xdp<Arc<FibCached>>),
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
                Kernel::start(topology).unwrap();
                let attach = || Attached::new(any_source(topology)).unwrap();
                Self::FibAnySource {
                    _program: topology.router().run(attach).unwrap(),
                }
            }
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
            _ => (None, None),
        }
    }
}

fn any_source(topology: &Topology) -> Fib {
    let port = |side: usize| RouterPort {
        ifindex: topology.sides()[side].router_index,
        address: plan::DUT[side],
        vlan: None,
        strict_source: false,
    };
    let options = RouterOptions {
        any_source: true,
        ..RouterOptions::default()
    };
    Fib::load(&[port(0), port(1)], options).unwrap()
}
