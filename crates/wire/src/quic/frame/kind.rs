//! Types of frames (RFC 9000, table 3).

use super::{Direction, Frame};

pub(super) const PADDING: u64 = 0x00;
pub(super) const PING: u64 = 0x01;
pub(super) const ACK: u64 = 0x02;
pub(super) const ACK_ECN: u64 = 0x03;
pub(super) const RESET_STREAM: u64 = 0x04;
pub(super) const STOP_SENDING: u64 = 0x05;
pub(super) const CRYPTO: u64 = 0x06;
pub(super) const NEW_TOKEN: u64 = 0x07;
/// With any of the three bits below.
pub(super) const STREAM: u64 = 0x08;
pub(super) const STREAM_LAST: u64 = 0x0f;
pub(super) const MAX_DATA: u64 = 0x10;
pub(super) const MAX_STREAM_DATA: u64 = 0x11;
pub(super) const MAX_STREAMS_BIDIRECTIONAL: u64 = 0x12;
pub(super) const MAX_STREAMS_UNIDIRECTIONAL: u64 = 0x13;
pub(super) const DATA_BLOCKED: u64 = 0x14;
pub(super) const STREAM_DATA_BLOCKED: u64 = 0x15;
pub(super) const STREAMS_BLOCKED_BIDIRECTIONAL: u64 = 0x16;
pub(super) const STREAMS_BLOCKED_UNIDIRECTIONAL: u64 = 0x17;
pub(super) const NEW_CONNECTION_ID: u64 = 0x18;
pub(super) const RETIRE_CONNECTION_ID: u64 = 0x19;
pub(super) const PATH_CHALLENGE: u64 = 0x1a;
pub(super) const PATH_RESPONSE: u64 = 0x1b;
pub(super) const CLOSE_TRANSPORT: u64 = 0x1c;
pub(super) const CLOSE_APPLICATION: u64 = 0x1d;
pub(super) const HANDSHAKE_DONE: u64 = 0x1e;
pub(super) const IMMEDIATE_ACK: u64 = 0x1f;
/// RFC 9221, section 4.
pub(super) const DATAGRAM: u64 = 0x30;
pub(super) const DATAGRAM_LENGTH: u64 = 0x31;
pub(super) const ACK_FREQUENCY: u64 = 0xaf;

/// Bits of STREAM (RFC 9000, section 19.8).
pub(super) const STREAM_FIN: u64 = 0x01;
pub(super) const STREAM_LENGTH: u64 = 0x02;
pub(super) const STREAM_OFFSET: u64 = 0x04;

impl Frame<'_> {
    /// Its type on the wire; of a STREAM frame with an offset of 0, that without one.
    pub fn kind(&self) -> u64 {
        match *self {
            Self::Padding { .. } => PADDING,
            Self::Ping => PING,
            Self::Ack(ack) => ack.kind(),
            Self::ResetStream { .. } => RESET_STREAM,
            Self::StopSending { .. } => STOP_SENDING,
            Self::Crypto { .. } => CRYPTO,
            Self::NewToken { .. } => NEW_TOKEN,
            Self::Stream {
                offset_bytes,
                fin,
                has_length,
                ..
            } => stream(offset_bytes > 0, has_length, fin),
            Self::MaxData { .. } => MAX_DATA,
            Self::MaxStreamData { .. } => MAX_STREAM_DATA,
            Self::MaxStreams { direction, .. } => MAX_STREAMS_BIDIRECTIONAL + direction as u64,
            Self::DataBlocked { .. } => DATA_BLOCKED,
            Self::StreamDataBlocked { .. } => STREAM_DATA_BLOCKED,
            Self::StreamsBlocked { direction, .. } => {
                STREAMS_BLOCKED_BIDIRECTIONAL + direction as u64
            }
            Self::NewConnectionId { .. } => NEW_CONNECTION_ID,
            Self::RetireConnectionId { .. } => RETIRE_CONNECTION_ID,
            Self::PathChallenge(_) => PATH_CHALLENGE,
            Self::PathResponse(_) => PATH_RESPONSE,
            Self::ConnectionClose {
                frame_type: Some(_),
                ..
            } => CLOSE_TRANSPORT,
            Self::ConnectionClose { .. } => CLOSE_APPLICATION,
            Self::HandshakeDone => HANDSHAKE_DONE,
            Self::Datagram { has_length, .. } => DATAGRAM + u64::from(has_length),
            Self::AckFrequency { .. } => ACK_FREQUENCY,
            Self::ImmediateAck => IMMEDIATE_ACK,
        }
    }
}

fn stream(has_offset: bool, has_length: bool, fin: bool) -> u64 {
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    STREAM | bit(has_offset, STREAM_OFFSET) | bit(has_length, STREAM_LENGTH) | bit(fin, STREAM_FIN)
}

/// Of the odd types; types come in pairs.
pub(super) fn direction(kind: u64) -> Direction {
    if kind & 1 == 0 {
        Direction::Bidirectional
    } else {
        Direction::Unidirectional
    }
}
