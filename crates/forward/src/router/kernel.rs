//! The kernel's own IP forwarding, in threaded NAPI.

use super::ports::Ports;
use super::{Counters, Cpu, Router, RouterError};
use crate::topology::Topology;
use crate::topology::address;

/// The kernel routes. All it needs is in the topology, so there is nothing to stop.
pub struct Kernel(Ports);

impl Kernel {
    /// Gives the topology addresses and routes, and turns forwarding on.
    pub fn start(topology: &Topology) -> Result<Self, RouterError> {
        address::assign_router(topology)
            .map_err(RouterError::of("cannot set up kernel routing"))?;
        Ports::of(topology).map(Self)
    }
}

impl Router for Kernel {
    fn path(&self) -> &'static str {
        "kernel"
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        self.0.counters()
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        self.0.cpu_ns().map(Cpu::of_kernel)
    }
}
