//! The BPF programs on veth pairs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod generate;
mod objects;
#[allow(dead_code, reason = "the routers' tests come next")]
mod wires;
