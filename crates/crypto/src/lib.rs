//! Algorithms behind one batch trait, and their back-ends.

#![deny(unsafe_code)]

mod algorithm;
mod backend;
mod job;
mod key;
mod status;

pub use algorithm::{Algorithm, Kind, Operation, UnknownAlgorithm};
pub use backend::Backend;
pub use job::{Job, Segment, Segments};
pub use key::{Key, KeyError, KeyMaterial};
pub use status::Status;
