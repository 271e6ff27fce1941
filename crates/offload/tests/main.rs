//! The integration tests of `offload` in one program.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod common;
mod failing;
mod faults;
mod handshakes;
mod last;
mod pressure;
mod sizes;
mod transfers;
mod updates;
