//! The unsafe floor: clocks, affinity, eventfd, mapped memory, the ring,
//! the ready set, the wake index, children that die with us, and what may be
//! executed, loaded or trusted. Everything above is safe code over these.

pub mod affinity;
pub mod bpf;
pub mod clock;
pub mod event;
pub mod failure;
pub mod fault;
pub mod files;
pub mod kernel;
pub mod library;
pub mod limits;
pub mod memory;
pub mod packet;
pub mod plain;
pub mod process;
pub mod program;
pub mod quiescence;
pub mod readable;
pub mod ready;
pub mod refusal;
pub mod ring;
pub mod role;
pub mod schedule;
pub mod secret;
pub mod sync;
pub mod tap;
pub mod temporary;
pub mod trusted;
pub mod uring;
pub mod usage;
pub mod wake;

mod prefetch;
