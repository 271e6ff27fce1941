//! Frames on the wire: views of bytes of unknown origin, and values
//! that are valid by construction.
//!
//! Each protocol has a module with the same two types. `Packet` is a view: its
//! constructor checks every length that the header states, after which no
//! accessor can fail. `Repr` is a value: it becomes bytes with right lengths
//! and checksums, and is read from a `Packet` only where those are right.
//!
//! [`quic`] differs: its packets are views and its headers values, but they do not
//! become each other without keys.
//!
//! [`TestFrame`] is the tester's stamped frame, [`Summary`] a frame in one line
//! for people.
//!
//! Pure: no clock, no socket, no allocation but what a caller asks for.
#![forbid(unsafe_code)]

pub mod arp;
mod bytes;
pub mod checksum;
mod error;
pub mod ethernet;
pub mod icmp;
pub mod ipv4;
pub mod ipv6;
pub mod quic;
mod spread;
mod stamp;
mod summary;
mod test_frame;
pub mod udp;
pub mod virtio_crypto;
pub mod vlan;

pub use error::{EmitError, Layer, ParseError};
pub use ethernet::EtherType;
pub use spread::Spread;
pub use stamp::{SEQUENCE_MAX, STAMP_BYTES, Stamp};
pub use summary::Summary;
pub use test_frame::{TestFrame, TestFrameError, stamp_of};

/// Numbers of protocols above IP (the registry of RFC 5237).
pub mod protocol {
    /// RFC 792.
    pub const ICMPV4: u8 = 1;
    /// RFC 3376.
    pub const IGMP: u8 = 2;
    /// RFC 9293.
    pub const TCP: u8 = 6;
    /// RFC 768.
    pub const UDP: u8 = 17;
    /// RFC 4443.
    pub const ICMPV6: u8 = 58;
}
