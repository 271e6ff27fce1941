//! Forwarding: what the paths of a host carry, in which homes, how many side by
//! side (source 004).
//!
//! [`native`] and [`os_level`] find RFC 2544 throughput (`throughput` is what
//! they share). `rig` is what all of these ask of `forward`'s benches; `rounds`
//! measures any number of subjects interleaved, `section` is what the sections that do so share; `way` names the paths.

pub mod native;
pub mod os_level;
pub mod paths;
mod throughput;
