//! IPv6 (RFC 8200).

pub mod extension;
mod packet;
mod repr;

pub use packet::{Packet, Upper, decrement_hop_limit};
pub use repr::Repr;

pub const HEADER_BYTES: usize = 40;
