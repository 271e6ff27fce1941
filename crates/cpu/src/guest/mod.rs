//! What a guest may be shown: QEMU's flags and models, what a host offers, which
//! model fits some hosts, what hiding the rest costs, and how few pools a fleet needs.
//!
//! Pure: what QEMU and the hosts say is read elsewhere.

mod advise;
mod choose;
mod flags;
mod libvirt;
mod model;
mod offer;
mod pools;
mod price;
mod verify;

pub use advise::{Advice, AdviseError, Host, Member, Pool, Question, advise};
pub use choose::{Choice, choose, lacks};
pub use flags::{ARCH_CAPABILITIES, CORE_CAPABILITIES, Flags, leaves, qemu_name};
pub use libvirt::CpuMap;
pub use model::{Accelerator, Catalogue, Model, NO_QEMU, QemuVersion};
pub use offer::{Known, other_obstacles, why_withheld, withheld};
pub use pools::{Class, Pools, pools, within};
pub use price::{Mix, Prices, Setting, Work};
pub use verify::{Line, LineError, Mismatch, Seen, best_driver, mismatches, modules};
