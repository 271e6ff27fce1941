use super::kind::*;
use super::{Ack, Frame, FrameError};
use crate::quic::ConnectionId;
use crate::quic::varint::{Missing, Reader, Width};

/// The frame where the reader stands.
pub(super) fn frame<'a>(reader: &mut Reader<'a>) -> Result<Frame<'a>, FrameError> {
    let before = reader.at();
    let kind = reader.varint().map_err(FrameError::Type)?;
    let found_bytes = reader.at() - before;
    // So that each frame has one type only (RFC 9000, section 12.4).
    if Width::of(kind).map(Width::bytes) != Some(found_bytes) {
        return Err(FrameError::LongType { kind, found_bytes });
    }
    let mut fields = Fields { kind, reader };
    let frame = match kind {
        PADDING..=NEW_TOKEN => fields.basic(),
        STREAM..=STREAM_LAST | DATAGRAM | DATAGRAM_LENGTH => fields.data(),
        MAX_DATA..=STREAMS_BLOCKED_UNIDIRECTIONAL => fields.flow(),
        NEW_CONNECTION_ID..=IMMEDIATE_ACK | ACK_FREQUENCY => fields.connection(),
        _ => Err(FrameError::Unknown { kind }),
    }?;
    frame.check()?;
    Ok(frame)
}

/// The fields of a frame of that type.
pub(super) struct Fields<'r, 'a> {
    pub(super) kind: u64,
    pub(super) reader: &'r mut Reader<'a>,
}

impl<'a> Fields<'_, 'a> {
    fn basic(&mut self) -> Result<Frame<'a>, FrameError> {
        Ok(match self.kind {
            PADDING => self.padding(),
            PING => Frame::Ping,
            RESET_STREAM => Frame::ResetStream {
                stream: self.varint()?,
                error: self.varint()?,
                final_bytes: self.varint()?,
            },
            STOP_SENDING => Frame::StopSending {
                stream: self.varint()?,
                error: self.varint()?,
            },
            CRYPTO => Frame::Crypto {
                offset_bytes: self.varint()?,
                data: self.counted()?,
            },
            NEW_TOKEN => Frame::NewToken {
                token: self.counted()?,
            },
            _ => Frame::Ack(Ack::read(self)?),
        })
    }

    fn padding(&mut self) -> Frame<'a> {
        let rest = self.reader.rest();
        let zeros = rest
            .iter()
            .position(|byte| *byte != 0)
            .unwrap_or(rest.len());
        self.reader.bytes(zeros as u64).expect("just counted");
        Frame::Padding { bytes: zeros + 1 }
    }

    fn data(&mut self) -> Result<Frame<'a>, FrameError> {
        if let DATAGRAM | DATAGRAM_LENGTH = self.kind {
            let has_length = self.kind == DATAGRAM_LENGTH;
            let data = self.data_bytes(has_length)?;
            return Ok(Frame::Datagram { data, has_length });
        }
        let has_length = self.kind & STREAM_LENGTH != 0;
        Ok(Frame::Stream {
            stream: self.varint()?,
            offset_bytes: match self.kind & STREAM_OFFSET {
                0 => 0,
                _ => self.varint()?,
            },
            data: self.data_bytes(has_length)?,
            fin: self.kind & STREAM_FIN != 0,
            has_length,
        })
    }

    fn data_bytes(&mut self, has_length: bool) -> Result<&'a [u8], FrameError> {
        if has_length {
            return self.counted();
        }
        let count = self.reader.rest().len();
        Ok(self.reader.bytes(count as u64).expect("what is there"))
    }

    fn flow(&mut self) -> Result<Frame<'a>, FrameError> {
        Ok(match self.kind {
            MAX_DATA => Frame::MaxData {
                bytes: self.varint()?,
            },
            MAX_STREAM_DATA => Frame::MaxStreamData {
                stream: self.varint()?,
                bytes: self.varint()?,
            },
            MAX_STREAMS_BIDIRECTIONAL | MAX_STREAMS_UNIDIRECTIONAL => Frame::MaxStreams {
                direction: direction(self.kind),
                streams: self.varint()?,
            },
            DATA_BLOCKED => Frame::DataBlocked {
                bytes: self.varint()?,
            },
            STREAM_DATA_BLOCKED => Frame::StreamDataBlocked {
                stream: self.varint()?,
                bytes: self.varint()?,
            },
            _ => Frame::StreamsBlocked {
                direction: direction(self.kind),
                streams: self.varint()?,
            },
        })
    }

    fn connection(&mut self) -> Result<Frame<'a>, FrameError> {
        Ok(match self.kind {
            NEW_CONNECTION_ID => Frame::NewConnectionId {
                sequence: self.varint()?,
                retire_prior_to: self.varint()?,
                id: self.connection_id()?,
                reset_token: self.array()?,
            },
            RETIRE_CONNECTION_ID => Frame::RetireConnectionId {
                sequence: self.varint()?,
            },
            PATH_CHALLENGE => Frame::PathChallenge(self.array()?),
            PATH_RESPONSE => Frame::PathResponse(self.array()?),
            CLOSE_TRANSPORT | CLOSE_APPLICATION => Frame::ConnectionClose {
                error: self.varint()?,
                frame_type: match self.kind {
                    CLOSE_TRANSPORT => Some(self.varint()?),
                    _ => None,
                },
                reason: self.counted()?,
            },
            HANDSHAKE_DONE => Frame::HandshakeDone,
            IMMEDIATE_ACK => Frame::ImmediateAck,
            _ => Frame::AckFrequency {
                sequence: self.varint()?,
                threshold_packets: self.varint()?,
                max_delay_us: self.varint()?,
                reordering_packets: self.varint()?,
            },
        })
    }

    fn connection_id(&mut self) -> Result<ConnectionId, FrameError> {
        let [length] = self.array()?;
        let id = self.reader.bytes(length.into());
        let id = id.map_err(|missing| self.truncated(missing))?;
        ConnectionId::new(id).map_err(|_| self.wrong("ID's length", length.into(), "1 to 20"))
    }

    pub(super) fn varint(&mut self) -> Result<u64, FrameError> {
        let value = self.reader.varint();
        value.map_err(|missing| self.truncated(missing))
    }

    fn counted(&mut self) -> Result<&'a [u8], FrameError> {
        let bytes = self.reader.counted();
        bytes.map_err(|missing| self.truncated(missing))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let bytes = self.reader.array();
        bytes.map_err(|missing| self.truncated(missing))
    }

    pub(super) fn truncated(&self, missing: Missing) -> FrameError {
        let kind = self.kind;
        FrameError::Truncated { kind, missing }
    }

    pub(super) fn wrong(
        &self,
        field: &'static str,
        found: u64,
        wanted: &'static str,
    ) -> FrameError {
        FrameError::Field {
            kind: self.kind,
            field,
            found,
            wanted,
        }
    }
}
