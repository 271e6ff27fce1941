//! What the kernel knows of a router's ports: frames counted, and the time of
//! the threads that receive.

use net::Netlink;
use net::napi::NapiThread;

use super::{Counters, RouterError};
use crate::topology::Topology;

pub struct Ports {
    netlink: Netlink,
    links: Vec<String>,
    threads: Vec<NapiThread>,
    counted_before: Counters,
    cpu_ns_before: u64,
}

impl Ports {
    pub fn of(topology: &Topology) -> Result<Self, RouterError> {
        let netlink = topology
            .router()
            .netlink()
            .map_err(RouterError::of("cannot ask for the router's counters"))?;
        let sides = topology.sides().iter();
        let mut ports = Self {
            netlink,
            links: sides.map(|side| side.names.router.clone()).collect(),
            threads: topology.router_threads().cloned().collect(),
            counted_before: Counters::default(),
            cpu_ns_before: 0,
        };
        ports.counted_before = ports.counters()?;
        ports.cpu_ns_before = ports.cpu_ns()?;
        Ok(ports)
    }

    /// Frames counted on all ports. Frames that were received and neither sent on nor
    /// dropped here were for the router itself, or dropped by its network stack.
    pub fn counters(&mut self) -> Result<Counters, RouterError> {
        let mut sum = Counters::default();
        for link in &self.links {
            let counted = self
                .netlink
                .statistics(link)
                .map_err(RouterError::of("cannot read the router's counters"))?;
            sum.received += counted.rx_packets;
            sum.forwarded += counted.tx_packets;
            sum.dropped += counted.rx_dropped + counted.tx_dropped;
        }
        Ok(sum.since(self.counted_before))
    }

    pub fn cpu_ns(&mut self) -> Result<u64, RouterError> {
        let used: Result<u64, _> = self.threads.iter().map(NapiThread::cpu_ns).sum();
        let used = used.map_err(RouterError::of("cannot read the router's CPU time"))?;
        Ok(used.saturating_sub(self.cpu_ns_before))
    }
}
