//! Frames (RFC 9000, section 19), DATAGRAM (RFC 9221), and those of
//! draft-ietf-quic-ack-frequency.

mod ack;
mod kind;
mod read;
mod rules;
mod write;

pub use ack::{Ack, AckRepr, EcnCounts, Ranges};

use super::ConnectionId;
use super::varint::{Missing, Reader};

/// A frame. Integers are 2^62 - 1 at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A run of zeros: one frame each, here one.
    Padding {
        /// 1 or more.
        bytes: usize,
    },
    Ping,
    Ack(Ack<'a>),
    ResetStream {
        stream: u64,
        error: u64,
        final_bytes: u64,
    },
    StopSending {
        stream: u64,
        error: u64,
    },
    Crypto {
        offset_bytes: u64,
        data: &'a [u8],
    },
    NewToken {
        token: &'a [u8],
    },
    Stream {
        stream: u64,
        offset_bytes: u64,
        data: &'a [u8],
        fin: bool,
        /// If not, it is the last of its packet, and ends where that does.
        has_length: bool,
    },
    MaxData {
        bytes: u64,
    },
    MaxStreamData {
        stream: u64,
        bytes: u64,
    },
    MaxStreams {
        direction: Direction,
        /// 2^60 at most.
        streams: u64,
    },
    DataBlocked {
        bytes: u64,
    },
    StreamDataBlocked {
        stream: u64,
        bytes: u64,
    },
    StreamsBlocked {
        direction: Direction,
        /// 2^60 at most.
        streams: u64,
    },
    NewConnectionId {
        sequence: u64,
        /// Not above `sequence`.
        retire_prior_to: u64,
        /// Not empty.
        id: ConnectionId,
        reset_token: [u8; 16],
    },
    RetireConnectionId {
        sequence: u64,
    },
    PathChallenge([u8; 8]),
    PathResponse([u8; 8]),
    ConnectionClose {
        error: u64,
        /// Which type of frame the transport refused, 0 if none; `None` if the
        /// application closed.
        frame_type: Option<u64>,
        /// For people, UTF-8 if the peer does as it should.
        reason: &'a [u8],
    },
    HandshakeDone,
    Datagram {
        data: &'a [u8],
        /// As of `Stream`.
        has_length: bool,
    },
    AckFrequency {
        sequence: u64,
        /// Packets that ask for an acknowledgment.
        threshold_packets: u64,
        max_delay_us: u64,
        reordering_packets: u64,
    },
    ImmediateAck,
}

/// Of streams (RFC 9000, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Bidirectional,
    Unidirectional,
}

/// Why bytes are no frame, or a value becomes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("type of a frame: {0}")]
    Type(Missing),
    #[error("frame of unknown type {kind:#x}")]
    Unknown { kind: u64 },
    #[error("frame type {kind:#x} has {found_bytes} bytes, more than it needs")]
    LongType { kind: u64, found_bytes: usize },
    /// Counted from where the payload begins.
    #[error("frame of type {kind:#x}: payload of {}", .missing)]
    Truncated { kind: u64, missing: Missing },
    #[error("frame of type {kind:#x}: {field} is {found}, not {wanted}")]
    Field {
        kind: u64,
        field: &'static str,
        found: u64,
        wanted: &'static str,
    },
}

/// The frames of an unprotected payload; ends with the first error. A packet without
/// any is an error, too (RFC 9000, section 12.4), but here only an empty iterator.
pub fn frames(payload: &[u8]) -> Frames<'_> {
    Frames {
        reader: Reader::new(payload),
        is_over: false,
    }
}

/// See [`frames`].
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    reader: Reader<'a>,
    is_over: bool,
}

impl<'a> Frames<'a> {
    /// What was not read; after an error it begins within the frame that is none.
    pub fn rest(&self) -> &'a [u8] {
        self.reader.rest()
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over || self.reader.rest().is_empty() {
            return None;
        }
        let frame = read::frame(&mut self.reader);
        self.is_over = frame.is_err();
        Some(frame)
    }
}
