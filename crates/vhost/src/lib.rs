//! A crypto device for guests: vhost-user, on the virtual functions of an engine.
//!
//! ```text
//!  guest ── its driver ──► split queue in shared memory ◄── Ring, on an engine's worker
//!  QEMU ── socket ──► Connection ─┬─ sessions (26, 27) ──► Sessions, keys
//!                                 └─ all else ──► rust-vmm's loop ──► BackEnd
//! ```
//!
//! [`Device`] is one guest's: a socket, a virtual function with its weight, quota and
//! settings, and its keys. A `Ring` is the worker's own client (see
//! [`engine::Resident`]): the worker looks at the guest's queue itself, and requests on
//! the guest's memory are requests of the engine, in place.
//!
//! Whatever the guest writes is read once, checked, and only then used. While a request
//! runs, the guest may change its source or destination: that changes the result of this
//! request and nothing else.
#![forbid(unsafe_code)]

mod backend;
mod chain;
mod connection;
mod control;
mod counters;
mod device;
pub mod front;
#[doc(hidden)]
pub mod inside;
mod limits;
mod log;
mod memory;
mod notifiers;
mod quarantine;
mod queue;
mod ring;
mod session;
mod supervisor;

pub use backend::{QUEUES_MAX, REQUEST_BYTES_MAX, SetupError};
pub use connection::ConnectionError;
pub use counters::Refusal;
pub use device::{
    Bound, Device, DeviceConfig, DeviceCounters, DeviceError, Notice, Notices, SocketConfig,
    log_path, moderation,
};
pub use limits::{HostLimits, Limits};
pub use memory::{GuestMemory, MemoryError, REGIONS_MAX, RegionSpec};
pub use queue::{Broken, ChainError, GeometryError, SIZE_MAX};
pub use session::RefusedSession;
pub use supervisor::{Failure, Supervisor};
