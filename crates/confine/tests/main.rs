//! What a confined process is refused, and what it can still do.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod attempts;
mod engine_work;
mod refused;
