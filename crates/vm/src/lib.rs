//! Small Linux guests for tests and measurements.
//!
//! - [`Shape`]: what a guest is given.
//! - [`Cache`]: kernels and busybox, unpacked by `make setup-guests`.
//! - [`Qemu`]: the programs that run guests.
//! - [`image::Image`]: what a guest boots into.
//! - [`Guest`]: a running guest; [`CpuModels`]: what a QEMU could show one.
//! - [`protocol::Channel`]: what is asked of it while it runs.

#![forbid(unsafe_code)]

mod cache;
mod deadline;
mod guest;
pub mod image;
pub mod protocol;
mod qemu;
mod shape;
mod vfio;

pub use cpu::guest::Accelerator;

pub use cache::{Cache, CacheError, CachedQemu, Kernel};
pub use guest::{
    AcceleratorError, BootError, CONSOLE_BYTES_MAX, CpuModels, Guest, GuestError, Killer,
    Migration, ModelsError, NodeError, Outcome, QMP_BYTES_MAX, QMP_LIMIT, QmpError, READY_LIMIT,
    Run, accelerator_here,
};
pub use qemu::{Qemu, QemuError, QemuOrigin};
pub use shape::{AcceleratorChoice, MEMORY_MIB_MAX, Shape, ShapeError, VCPUS_MAX};
pub use vfio::{PciFunction, VfioError};
