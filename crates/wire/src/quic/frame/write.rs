use super::kind::STREAM_OFFSET;
use super::{Frame, FrameError};
use crate::quic::varint::{TooLarge, append};

impl Frame<'_> {
    /// Appends the frame. Integers take their fewest bytes.
    ///
    /// # Errors
    /// [`FrameError::Field`] if a value breaks a limit that holds for reading, too; then
    /// nothing was written.
    pub fn append_to(&self, bytes: &mut Vec<u8>) -> Result<(), FrameError> {
        self.check()?;
        let start = bytes.len();
        self.try_append(bytes).map_err(|error| {
            bytes.truncate(start);
            FrameError::large(self.kind(), error)
        })
    }

    fn try_append(&self, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
        if let Self::Padding { bytes: count } = *self {
            bytes.resize(bytes.len() + count, 0);
            return Ok(());
        }
        append(self.kind(), bytes)?;
        match *self {
            Self::Ack(ack) => ack.append_fields(bytes),
            Self::Crypto { .. }
            | Self::NewToken { .. }
            | Self::Stream { .. }
            | Self::ConnectionClose { .. }
            | Self::Datagram { .. } => self.append_data(bytes),
            Self::PathChallenge(data) | Self::PathResponse(data) => {
                bytes.extend(data);
                Ok(())
            }
            Self::NewConnectionId {
                sequence,
                retire_prior_to,
                id,
                reset_token,
            } => {
                integers(bytes, &[sequence, retire_prior_to])?;
                bytes.push(id.length());
                bytes.extend(id.bytes());
                bytes.extend(reset_token);
                Ok(())
            }
            _ => self.append_integers(bytes),
        }
    }

    /// Fields of frames that end with bytes of any length.
    fn append_data(&self, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
        let (data, has_length) = match *self {
            Self::Crypto { offset_bytes, data } => {
                append(offset_bytes, bytes)?;
                (data, true)
            }
            Self::NewToken { token } => (token, true),
            Self::Stream {
                stream,
                offset_bytes,
                data,
                has_length,
                ..
            } => {
                append(stream, bytes)?;
                if self.kind() & STREAM_OFFSET != 0 {
                    append(offset_bytes, bytes)?;
                }
                (data, has_length)
            }
            Self::ConnectionClose {
                error,
                frame_type,
                reason,
            } => {
                append(error, bytes)?;
                integers(bytes, frame_type.as_slice())?;
                (reason, true)
            }
            Self::Datagram { data, has_length } => (data, has_length),
            _ => return Ok(()),
        };
        if has_length {
            append(data.len() as u64, bytes)?;
        }
        bytes.extend(data);
        Ok(())
    }

    /// Fields of frames that have integers only, or nothing.
    fn append_integers(&self, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
        match *self {
            Self::ResetStream {
                stream,
                error,
                final_bytes,
            } => integers(bytes, &[stream, error, final_bytes]),
            Self::StopSending { stream, error } => integers(bytes, &[stream, error]),
            Self::MaxStreamData {
                stream,
                bytes: limit,
            }
            | Self::StreamDataBlocked {
                stream,
                bytes: limit,
            } => integers(bytes, &[stream, limit]),
            Self::MaxData { bytes: value }
            | Self::DataBlocked { bytes: value }
            | Self::MaxStreams { streams: value, .. }
            | Self::StreamsBlocked { streams: value, .. }
            | Self::RetireConnectionId { sequence: value } => append(value, bytes),
            Self::AckFrequency {
                sequence,
                threshold_packets,
                max_delay_us,
                reordering_packets,
            } => integers(
                bytes,
                &[
                    sequence,
                    threshold_packets,
                    max_delay_us,
                    reordering_packets,
                ],
            ),
            _ => Ok(()),
        }
    }
}

fn integers(bytes: &mut Vec<u8>, values: &[u64]) -> Result<(), TooLarge> {
    values.iter().try_for_each(|value| append(*value, bytes))
}
