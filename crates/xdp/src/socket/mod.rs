//! AF_XDP sockets: packets between a driver's queue and our memory, past the
//! network stack (Documentation/networking/af_xdp.rst).
//!
//! [`Umem`] is the memory, in [`Frame`]s; four [`ring`]s carry frames to the
//! kernel and back; [`Socket`] has them, in two halves: [`Receive`] and
//! [`Transmit`]. [`Capture`] is the program that feeds it.
#![allow(
    unsafe_code,
    reason = "memory and rings that the kernel shares, and options that rustix has not: ARCHITECTURE.md"
)]

mod capture;
mod map;
mod open;
mod options;
mod receive;
pub mod ring;
mod transmit;
mod umem;

pub use capture::Capture;
pub use open::{OpenError, RING_ENTRIES_MAX, Socket};
pub use options::{BusyPoll, SocketOptions};
pub use receive::Receive;
pub use rustix::net::xdp::XdpStatistics;
pub use transmit::Transmit;
pub use umem::{FRAMES_MAX, Frame, Pool, TooLong, Umem};
