//! The wires of one router under test, and the addresses on them.
//!
//! ```text
//!   tester                          device under test (DUT)
//!     port 0  lg…t0 ── veth ── lg…d0 ┐
//!                                    ├ router
//!     port 1  lg…t1 ── veth ── lg…d1 ┘
//! ```
//!
//! A wire may also be a tap, whose file the tester holds, or a cable between two
//! devices of the host ([`Wires`]).
//!
//! Each port of the tester is in a namespace of its own, so that no frame finds
//! a way past the router, TCP's included. The home of the DUT is a namespace or
//! a container ([`crate::home`]). Several routers side by side are several
//! topologies.

pub mod address;
pub(crate) mod build;
mod cable;
mod error;
mod names;
pub mod plan;
mod spec;
pub(crate) mod wires;

pub use build::{Built, Topology};
pub use cable::{Cable, End};
pub use error::NetworkError;
pub use names::SideNames;
pub use spec::{Attachment, Cpus, Family, Pair, Routes, Spec, SpecError, Wires};
