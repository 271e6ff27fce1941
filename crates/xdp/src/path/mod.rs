//! Paths that forward, one file each.

mod ages;
mod alike;
mod control;
mod cpumap;
mod fib;
mod ports;
mod sockets;
mod wire;

pub use ages::Concern;
pub use alike::Alike;
pub use control::{Control, LEASE, Look, SPECIAL_MAX, Special};
pub use cpumap::{CPUS_MAX, CpuMap, CpuMapError, Then};
pub use fib::Fib;
pub use ports::{Decided, PORTS_MAX, RouterOptions, RouterPort};
pub use sockets::{SOCKET_QUEUES_MAX, SocketPort, ToSockets};
pub use wire::Wire;
