//! Network namespaces, links, addresses, routes and limits, made over netlink
//! and named `lockgate-…`; whatever outlives a process is journalled first, and
//! swept by the next start if its owner died.
//!
//! Start with [`Journal::open`], [`Tag::fresh`] for unique names,
//! and [`Namespace::create`]. [`Namespace::netlink`] gives the socket that
//! makes links, addresses, neighbours and routes inside.
#![forbid(unsafe_code)]

pub mod cgroup;
pub mod deciders;
pub mod device;
pub mod emulator;
pub mod journal;
pub mod monitor;
pub mod namespace;
pub mod napi;
pub mod netlink;
pub mod setting;
pub mod sysctl;
pub mod sysfs;
mod tag;
pub mod tap;

pub use cgroup::{Cgroup, CgroupError, Limits};
pub use deciders::{Decider, Deciders};
pub use journal::{Entry, Journal, JournalError, Record};
pub use monitor::{Event, Monitor, Topic};
pub use namespace::Namespace;
pub use netlink::{Netlink, NetlinkError};
pub use tag::{Tag, TagError};
