//! Every controller, unchanged, in a simulated closed loop.

#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod adaptive;
mod equation;
mod phases;
mod properties;
mod traces;
