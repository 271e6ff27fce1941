//! XDP programs on the router's ports, with kernel routing behind them: what a
//! program does not forward, the kernel does.

use xdp::{Attached, LoadError, Path};

use super::ports::Ports;
use super::{Counters, Router, RouterError};
use crate::topology::{Topology, address};

/// A router whose frames a program forwards.
pub struct Xdp<P> {
    name: &'static str,
    attached: Attached<P>,
    ports: Ports,
}

impl<P: Path + Send> Xdp<P> {
    /// Sets up kernel routing, then puts the program that `load` gives for the
    /// numbers of the two ports on them.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn start(
        name: &'static str,
        topology: &Topology,
        load: impl FnOnce([u32; 2]) -> Result<P, LoadError> + Send,
    ) -> Result<Self, RouterError> {
        address::assign_router(topology)
            .map_err(RouterError::from_cause("cannot set up the router's table"))?;
        let context = format!("cannot start the path {name}");
        let indices = [
            topology.sides()[0].router_index,
            topology.sides()[1].router_index,
        ];
        let start = || {
            let path = load(indices).map_err(RouterError::from_cause(context.clone()))?;
            Attached::new(path).map_err(RouterError::from_cause(context.clone()))
        };
        let inside = topology.router().run(start);
        let attached = inside.map_err(RouterError::from_cause(context.clone()))??;
        Ok(Self {
            name,
            attached,
            ports: Ports::of(topology)?,
        })
    }
}

impl<P> Xdp<P> {
    /// The program, for what it alone counts.
    pub fn path_program(&mut self) -> &mut P {
        &mut self.attached
    }
}

impl<P: Path + Send> Router for Xdp<P> {
    fn path(&self) -> &'static str {
        self.name
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        self.ports.counters()
    }

    fn cpu_ns(&mut self) -> Result<u64, RouterError> {
        self.ports.cpu_ns()
    }
}
