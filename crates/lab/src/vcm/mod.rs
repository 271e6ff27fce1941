//! Interrupt moderation: the measurements of the VCM paper, on real
//! notifications.
//!
//! Every section has benches (`rig`) and cells, which `rounds` measures
//! interleaved within a `schedule`.

pub(crate) mod arm;
pub mod block_size;
pub mod cause;
pub(crate) mod cell;
pub mod controllers;
pub(crate) mod drawing;
pub(crate) mod invocation;
pub(crate) mod places;
pub(crate) mod points;
pub(crate) mod rig;
pub(crate) mod rounds;
pub(crate) mod running;
pub(crate) mod schedule;
pub mod shifting;
pub(crate) mod sweep;
pub mod tasks;
pub mod tenants;
pub(crate) mod verdict;
