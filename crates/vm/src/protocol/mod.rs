//! What host and guest say to each other, over one byte stream: a virtio
//! serial port called [`PORT_NAME`].

mod channel;
mod frame;

pub use channel::{Channel, ChannelError, Hello};
pub use frame::{Decoder, Frame, FrameError, HEADER_BYTES_MAX, Kind};

/// The virtio port's name, which the guest looks for.
pub const PORT_NAME: &str = "lockgate.control";

/// The guest's side: a script for busybox's shell, version 1.35 or later.
pub const AGENT: &str = include_str!("agent.sh");
