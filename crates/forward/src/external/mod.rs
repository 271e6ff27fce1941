//! A device that is not ours, between two ports of this host: a box on two cables, a
//! guest behind two taps, a container behind two veths.
//!
//! The ports are lent to two namespaces of the tester ([`net::device`]), and come back
//! as they were. Nothing is known of the device but what comes out of it, and, where
//! it lives on this host, what its threads use of the CPUs.

mod attach;
mod device;
mod error;
mod neighbour;
mod setup;
mod tasks;

pub use attach::PortFacts;
pub use device::{Ask, External, Tried};
pub use error::ExternalError;
pub use setup::{Addressing, End, Setup};
