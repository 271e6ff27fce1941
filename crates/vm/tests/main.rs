//! The integration tests of `vm` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod agent;
mod cache;
mod channel;
mod common;
mod frame;
mod guests;
mod image;
mod setup_guests;
