//! An unmodified quinn whose packets Lockgate protects.
//!
//! [`Offload`] gives what a quinn endpoint is made of: cipher suites whose packets a
//! back-end of ours protects, and a socket that sends more datagrams by one call. Neither
//! quinn nor rustls is changed, and peers need not know.

#![forbid(unsafe_code)]

mod ceiling;
mod counters;
mod drive;
mod endpoint;
mod inbox;
mod keys;
mod mark;
mod outbox;
mod outlet;
pub mod perf;
mod receive;
mod runtime;
mod session;
mod socket;
mod suite;
mod worker;

pub use counters::Counts;
pub use endpoint::{Offload, Together};
pub use suite::provider;
