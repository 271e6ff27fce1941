//! The integration tests of `forward` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod accounts;
mod af_xdp;
mod as_before;
mod behaviour;
mod bench;
mod external;
mod freshness;
mod planted;
mod planted_generator;
#[path = "../../net/tests/common/snapshot.rs"]
mod snapshot;
mod support;
mod topology;
mod user_ports;
mod wires;
