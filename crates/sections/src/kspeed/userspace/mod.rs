//! User space's own crypto, one arm at a time: the yardstick beside the
//! kernel's, on the same machine or in the same guest.
//!
//! `lockgate speed` plans a run of its own, calibrates and writes a report.
//! Here another run does all that, in a guest perhaps, and wants one arm
//! measured for some milliseconds, often and in between others.

mod choice;
mod guest;
mod trial;

pub use guest::{ArmError, af_alg_arguments, read_line, shell_line, user_space_arguments};
pub use trial::{Limits, LoadMode, UserSpace, UserSpaceError, measure};
