//! Routers that a file describes, in namespaces of this host: their ports, addresses,
//! routes, paths and control planes. What reaches the kernel's table, by the file or by
//! a control plane, is what the XDP path forwards by.
//!
//! [`Plan`] is what a file asks for, checked whole. [`Plane`] is what stands: it becomes
//! what another plan asks for by changing what differs. All of it is journalled, and
//! gone when it is dropped.

mod control;
mod error;
mod holder;
mod plan;
mod port;
mod programs;
mod show;
mod standing;

pub use error::PlaneError;
pub use holder::{Holder, holder_of_folder, holder_of_router};
pub use plan::{Control, Forwarding, Plan, PortPlan, RoutePlan, RouterPlan, Source};
pub use show::{DeciderShown, PortShown, RouterShown, XdpShown};
pub use standing::Plane;
