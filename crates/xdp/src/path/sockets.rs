//! Gives what is plain to AF_XDP sockets and leaves the rest to the kernel:
//! `bpf/sockets.bpf.c`.

use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use sys::failure::Failure;

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{Map, Object, source};

use super::ports::{Ports, RouterOptions, RouterPort};

/// The most queues of a port. `QUEUES_MAX` in `bpf/sockets.bpf.c`.
pub const SOCKET_QUEUES_MAX: u32 = 64;

/// A port whose plain frames go to sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPort {
    pub port: RouterPort,
    /// The longest IP packet that leaves by the other port, bytes: longer ones are
    /// the kernel's.
    pub mtu_out: u32,
}

/// Gives frames to sockets, by port and queue. A frame that a router would not simply
/// forward goes to the kernel: not IP, not addressed to this port or to one of the
/// router's own addresses, with options, at the end of its time to live, too long, a
/// martian, or with a wrong checksum. Routes are not looked up.
pub struct ToSockets {
    ports: Vec<OnePort>,
}

struct OnePort {
    object: Object,
    counters: Map,
    sockets: Map,
    ports: Ports,
}

impl ToSockets {
    /// Loads it for these ports of a router with these addresses, in whose
    /// network namespace the calling thread must be. Until
    /// [`feed`](Self::feed) every frame goes to the kernel.
    pub fn load(ports: &[SocketPort], own: &[IpAddr]) -> Result<Self, Failure> {
        let loaded = ports.iter().map(|port| OnePort::load(port, own));
        let mut ports = loaded.collect::<Result<Vec<_>, _>>()?;
        ports.sort_by_key(OnePort::carrier);
        Ok(Self { ports })
    }

    /// Gives frames of a queue of the interface `carrier` to a socket that is
    /// bound there. Frames of other interfaces' sockets would be dropped.
    pub fn feed(&self, carrier: u32, queue: u32, socket: &impl AsFd) -> Result<(), Failure> {
        let value = socket.as_fd().as_raw_fd().to_ne_bytes();
        let mut at = self.ports.iter().filter(|port| port.carrier() == carrier);
        at.try_for_each(|port| port.sockets.write(queue, &value))
    }

    pub fn counters(&self) -> Result<Counters, Failure> {
        Counters::read(self.ports.iter().map(|port| &port.counters))
    }
}

impl OnePort {
    fn load(port: &SocketPort, own: &[IpAddr]) -> Result<Self, Failure> {
        let object = Object::load(&source!("sockets"), |_| Ok(()))?;
        object
            .map(".data.way")?
            .write(0, &port.mtu_out.to_ne_bytes())?;
        let locals = object.map("locals")?;
        for address in own {
            locals.write_key(&local(*address), &1_u32.to_ne_bytes())?;
        }
        Ok(Self {
            ports: Ports::new(&object, &[port.port], RouterOptions::default())?,
            counters: object.map("counters")?,
            sockets: object.map("sockets")?,
            object,
        })
    }

    fn carrier(&self) -> u32 {
        self.ports.carriers()[0]
    }
}

/// `struct local`.
fn local(address: IpAddr) -> [u8; 24] {
    let mut key = [0; 24];
    match address {
        IpAddr::V4(address) => key[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => {
            key[..16].copy_from_slice(&address.octets());
            key[16..].copy_from_slice(&1_u64.to_ne_bytes());
        }
    }
    key
}

impl Path for ToSockets {
    fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        for port in &self.ports {
            entries.push(Entry {
                ifindex: port.carrier(),
                program: port.object.program("to_socket"),
            });
        }
        entries
    }
}
