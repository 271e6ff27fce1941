//! BPF programs that forward, generate and count frames, and AF_XDP sockets.
//!
//! The programs are C in `bpf/`, compiled there and embedded here: no compiler
//! is needed on a host. Everything that runs on a port is gone when its value
//! is dropped, or when the process ends in whatever way.
//!
//! [`Generator`] sends a [`Plan`], [`Sink`] counts what arrives; a path of
//! [`path`] forwards in between, put on its ports by [`Attached`], which also
//! replaces it without losing a frame. [`Counters`] says what a path did, and
//! why it left a frame to the kernel.
#![deny(unsafe_code)]

mod attached;
mod counters;
mod dry_run;
mod generator;
mod mapped;
mod object;
mod pass;
pub mod path;
mod sink;
pub mod socket;

pub use attached::{Attached, Entry, Path};
pub use counters::{Counters, Reason};
pub use dry_run::{Verdict, dry_run};
pub use generator::{
    GENERATORS_MAX, Generator, ORDER_MAX, Phase, Plan, SIZES_MAX, SendError, Sent, Turns, Watch,
};
pub use pass::Pass;
pub use sink::{Counts, Latency, Reached, Sink, WINDOW_FRAMES};
