//! What one port sends in one trial.

use std::time::Duration;

/// Bytes that the wire adds to each frame: preamble 7, start delimiter 1,
/// gap 12 (IEEE 802.3). The frame check sequence counts in the frame's size.
pub const WIRE_OVERHEAD_BYTES: u32 = 20;

/// The frame check sequence, which a frame's size includes and a veth or a tap
/// does not carry.
pub const FCS_BYTES: u32 = 4;

/// What an 802.1Q tag adds to a frame: sizes count without it, so that 64 bytes
/// are possible with one, too.
pub const TAG_BYTES: u32 = 4;

pub const DESTINATIONS_MAX: u32 = 65_536;

/// Sizes of frames, each with its frame check sequence, as RFC 2544 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameSize {
    /// All of one size, 64 to 1518 bytes (84 at least for IPv6).
    Fixed(u32),
    /// Seven frames of 64, four of 570 and one of 1518 bytes, in an order that
    /// repeats every twelve.
    Imix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub source: [u8; 6],
    pub destination: [u8; 6],
    /// 802.1Q tag (0 to 4094), if any.
    pub vlan: Option<u16>,
}

/// Where the frames come from and go to: to `first + turn * stride`, with
/// another UDP source port for each turn. In each round of `count` frames every
/// turn comes once, in an order ([`wire::Spread`]) that no cache can guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    V4 {
        source: std::net::Ipv4Addr,
        /// Different sources from that one on, 1 to [`DESTINATIONS_MAX`], a power of
        /// two.
        sources: u32,
        first: std::net::Ipv4Addr,
        /// Different destinations, 1 to [`DESTINATIONS_MAX`], a power of two.
        count: u32,
        stride: u32,
    },
    /// IPv6: `stride` counts in the low 64 bits.
    V6 {
        source: std::net::Ipv6Addr,
        first: std::net::Ipv6Addr,
        count: u32,
        stride: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// The trial's number, modulo 256.
    pub trial: u8,
    pub id: u8,
    pub link: Link,
    pub addresses: Addresses,
    pub size: FrameSize,
    /// Frames a second, evenly spaced; `None`: as many as the port can.
    pub rate_pps: Option<f64>,
    /// For how long; the first frame is due when it starts.
    pub duration: Duration,
    /// Maximum number of frames (back-to-back bursts); `None`: no limit.
    pub frames_max: Option<u64>,
    /// Maximum number of frames under way, by a port that knows
    /// ([`Transmitter::follow`](super::port::Transmitter::follow)); `None`: no
    /// limit.
    pub in_flight_max: Option<u32>,
}
