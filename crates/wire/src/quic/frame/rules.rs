//! What holds for every frame that is read or written, and where it may be.

use super::{Frame, FrameError};
use crate::quic::PacketKind;
use crate::quic::varint::{TooLarge, VALUE_MAX};

/// The most streams: their numbers are 2^62 - 1 at most (RFC 9000, section 19.11).
const STREAMS_MAX: u64 = 1 << 60;

impl Frame<'_> {
    /// Whether packets of that kind may carry it (RFC 9000, section 12.4, table 3; RFC
    /// 9221, section 4). Of 0-RTT packets this is the table's word; section 12.5 says
    /// that RETIRE_CONNECTION_ID cannot be there, because a client has no ID to retire.
    pub fn is_allowed_in(&self, packet: PacketKind) -> bool {
        match (packet, self) {
            (PacketKind::OneRtt, _) | (_, Self::Padding { .. } | Self::Ping) => true,
            (PacketKind::Initial | PacketKind::Handshake, frame) => matches!(
                frame,
                Self::Ack(_)
                    | Self::Crypto { .. }
                    | Self::ConnectionClose {
                        frame_type: Some(_),
                        ..
                    }
            ),
            (PacketKind::ZeroRtt, frame) => !matches!(
                frame,
                Self::Ack(_)
                    | Self::Crypto { .. }
                    | Self::NewToken { .. }
                    | Self::PathResponse(_)
                    | Self::HandshakeDone
                    | Self::AckFrequency { .. }
                    | Self::ImmediateAck
            ),
        }
    }

    /// The limits of RFC 9000, section 19, besides those of integers.
    pub(super) fn check(&self) -> Result<(), FrameError> {
        match *self {
            Self::Padding { bytes: 0 } => Err(self.wrong("length", 0, "1 or more")),
            Self::NewToken { token: [] } => Err(self.wrong("token's length", 0, "1 or more")),
            Self::Crypto { offset_bytes, data }
            | Self::Stream {
                offset_bytes, data, ..
            } => self.check_end(offset_bytes.saturating_add(data.len() as u64)),
            Self::MaxStreams { streams, .. } | Self::StreamsBlocked { streams, .. }
                if streams > STREAMS_MAX =>
            {
                Err(self.wrong("number of streams", streams, "2^60 at most"))
            }
            Self::NewConnectionId { id, .. } if id.is_empty() => {
                Err(self.wrong("ID's length", 0, "1 to 20"))
            }
            Self::NewConnectionId {
                sequence,
                retire_prior_to,
                ..
            } if retire_prior_to > sequence => Err(self.wrong(
                "what is retired",
                retire_prior_to,
                "at or below its own sequence number",
            )),
            _ => Ok(()),
        }
    }

    fn check_end(&self, end_bytes: u64) -> Result<(), FrameError> {
        if end_bytes > VALUE_MAX {
            return Err(self.wrong("end", end_bytes, "2^62 - 1 at most"));
        }
        Ok(())
    }

    fn wrong(&self, field: &'static str, found: u64, wanted: &'static str) -> FrameError {
        FrameError::Field {
            kind: self.kind(),
            field,
            found,
            wanted,
        }
    }
}

impl FrameError {
    pub(super) fn large(kind: u64, error: TooLarge) -> Self {
        Self::Field {
            kind,
            field: "integer",
            found: error.found,
            wanted: "2^62 - 1 at most",
        }
    }
}
