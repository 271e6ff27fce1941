//! The integration tests of `policy` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod common;
mod controllers;
mod hybrid;
