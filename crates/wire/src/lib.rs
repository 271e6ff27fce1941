//! Frames on the wire: views of bytes that anybody may have sent, and values
//! that are valid by construction.
//!
//! Pure: no clock, no socket, no allocation but what a caller asks for.
#![forbid(unsafe_code)]

mod stamp;

pub use stamp::{SEQUENCE_MAX, STAMP_BYTES, Stamp};
