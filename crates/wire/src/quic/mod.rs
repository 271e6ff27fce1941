//! QUIC on the wire: version 1 (RFC 9000, RFC 9001) and version 2 (RFC 9369); of
//! other versions what all have in common (RFC 8999).
//!
//! No cryptography. [`Datagram`] finds the packets of a datagram and where their
//! protected packet numbers begin; who has the keys removes the protection with
//! [`FirstByte`] and [`packet_number`], and reads the payload with
//! [`frame::frames`].

mod connection_id;
mod datagram;
mod emit;
mod first_byte;
pub mod frame;
mod header;
pub mod packet_number;
pub mod transport_parameters;
pub mod varint;
mod version;

pub use connection_id::{CONNECTION_ID_BYTES_MAX, ConnectionId};
pub use datagram::Datagram;
pub use emit::{LongRepr, Reserved, RetryRepr, ShortRepr, VersionNegotiationRepr};
pub use first_byte::FirstByte;
pub use frame::{Frame, FrameError, frames};
pub use header::{Long, Packet, Retry, SAMPLE_BYTES, Short, Unknown, VersionNegotiation};
pub use version::{LongType, PacketKind, Version};

/// Of the tag at the end of a Retry (RFC 9001, section 5.8), and of that of every
/// AEAD of QUIC (section 5.3).
pub const TAG_BYTES: usize = 16;
