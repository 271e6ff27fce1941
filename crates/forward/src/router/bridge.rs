//! The kernel's bridge: frames are switched by their Ethernet address, nothing
//! of theirs changes.

use super::ports::Ports;
use super::{Counters, Cpu, Router, RouterError};
use crate::topology::{NetworkError, Topology};

pub struct Bridge(Ports);

impl Bridge {
    pub fn start(topology: &Topology) -> Result<Self, RouterError> {
        let set_up = || {
            let mut netlink = topology.router().netlink()?;
            let bridge = topology.tag().interface("br")?;
            netlink.add_bridge(&bridge)?;
            for side in topology.sides() {
                netlink.set_master(&side.names.router, Some(&bridge))?;
            }
            Ok(netlink.set_up(&bridge)?)
        };
        let set_up: Result<(), NetworkError> = set_up();
        set_up.map_err(RouterError::of("cannot set up the bridge"))?;
        Ports::of(topology).map(Self)
    }
}

impl Router for Bridge {
    fn path(&self) -> &'static str {
        "bridge"
    }

    fn counters(&mut self) -> Result<Counters, RouterError> {
        self.0.counters()
    }

    fn cpu(&mut self) -> Result<Cpu, RouterError> {
        self.0.cpu_ns().map(Cpu::of_kernel)
    }
}
