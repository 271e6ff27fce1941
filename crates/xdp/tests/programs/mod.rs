//! The BPF programs on veth pairs.

mod bench;
mod generate;
mod hostile;
mod objects;
mod route;
mod turns;
mod wires;
