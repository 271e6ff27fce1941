//! The integration tests of `net` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

extern crate lockgate_net as net;

mod cgroup;
mod common;
mod deciders;
mod device;
mod emulator;
mod monitor;
mod names;
mod napi;
mod netlink;
#[path = "common/snapshot.rs"]
mod snapshot;
mod tap;
