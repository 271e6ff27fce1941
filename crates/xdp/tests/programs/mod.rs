//! The BPF programs on veth pairs.

#[allow(dead_code, reason = "shared with the example that measures")]
mod bench;
mod generate;
mod hostile;
mod objects;
mod route;
mod turns;
mod wires;
