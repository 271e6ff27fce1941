//! The unsafe floor: clocks, affinity, eventfd, mapped memory, the ring and
//! the wake index. Everything above is safe code over these.

pub mod affinity;
pub mod clock;
pub mod event;
pub mod memory;
pub mod ring;
pub mod usage;
pub mod wake;

mod prefetch;
mod sync;
