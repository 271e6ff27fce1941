//! The integration tests of `lockgate` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod common;
mod cpu;
mod disk;
mod ends;
mod interrupt;
mod output;
mod quic;
mod results;
mod rfc2544;
mod router;
mod serve;
mod speed;
mod sweep;
mod tier;
mod trust;
mod usage;
mod vm;
mod vm_arms;
