//! A device with a known fault: what the tester must find, and by how much.
//!
//! A thread with an AF_XDP socket at each port takes every frame from one to the
//! other, and does what the [`Plant`] says. It counts what it did, so that a
//! test knows the truth. It is layer 2 but for the Ethernet addresses, which it
//! sets as a router would.

mod plant;
#[cfg(feature = "bpf")]
mod worker;

pub use plant::{Act, Plant, Planted};
#[cfg(feature = "bpf")]
pub use worker::{Device, PlantedPort, Truth};
