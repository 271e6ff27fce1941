//! What a processor offers to crypto code: CPUID, the register state the
//! operating system enabled (XCR0), caches, the microarchitecture and the
//! flags it should have, and the tier that results.
//!
//! Everything decodes from a [`Source`] of CPUID leaves: the [`Native`]
//! processor or a recorded [`Dump`], so that other machines run through the
//! same decoder. ARM processors, which have no CPUID for user space, are
//! read from `/proc/cpuinfo` ([`CpuInfo`]).
//!
//! `unsafe` is confined to the one intrinsic that needs it (`native`), and to SIMD
//! work by tier (`vector`).
#![deny(unsafe_code)]

mod arm;
mod cache;
mod cpuinfo;
mod decode;
mod dump;
mod expected;
mod feature;
pub mod guest;
mod identity;
mod microarchitecture;
mod native;
mod remedy;
mod source;
mod standing;
mod tier;
mod tsc;
mod vector;
mod xstate;

pub use arm::{ARM_FEATURES, ArmFeature, Core as ArmCore, core as arm_core};
pub use cache::{Cache, CacheKind};
pub use cpuinfo::CpuInfo;
pub use decode::Processor;
pub use dump::{Dump, DumpError};
pub use feature::Feature;
pub use identity::{Hypervisor, Signature, Vendor};
pub use microarchitecture::{Microarchitecture, microarchitecture};
pub use native::Native;
pub use remedy::option;
pub use source::{Leaf, Source};
pub use standing::{Circumstances, Standing, standing};
pub use tier::{Tier, tier};
pub use tsc::Tsc;
pub use vector::{Numbers, Vectors};
pub use xstate::{Component, XState};
