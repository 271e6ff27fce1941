//! Paths that forward, one file each.

mod wire;

pub use wire::Wire;
