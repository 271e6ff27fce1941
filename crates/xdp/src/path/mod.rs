//! Paths that forward, one file each.

mod cached;
mod fib;
mod ports;
mod wire;

pub use cached::{CacheControl, FibCached, LEASE};
pub use fib::Fib;
pub use ports::{PORTS_MAX, RouterError, RouterOptions, RouterPort};
pub use wire::Wire;
