//! Interrupt moderation: the measurements of the VCM paper, on real
//! notifications.
//!
//! Every section has benches (`rig`) and cells, which `rounds` measures
//! interleaved within a `schedule`.

pub mod shifting;
