//! Frames over a socket, with deadlines.

use std::os::unix::net::UnixStream;

use super::ChannelError;
use crate::deadline::{Deadline, Stopped};
use crate::protocol::frame::{Decoder, Frame};

const READ_BYTES: usize = 64 << 10;

impl From<Stopped> for ChannelError {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Silent(limit) => Self::Silent { limit },
            Stopped::Closed => Self::Closed,
            Stopped::Failed(error) => Self::Stream(error),
        }
    }
}

#[derive(Debug)]
pub(super) struct Framed {
    stream: UnixStream,
    decoder: Decoder,
    buffer: Vec<u8>,
    pending: std::ops::Range<usize>,
}

impl Framed {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            decoder: Decoder::new(0),
            buffer: vec![0; READ_BYTES],
            pending: 0..0,
        }
    }

    pub(super) fn send(&self, bytes: &[u8], deadline: Deadline) -> Result<(), ChannelError> {
        Ok(deadline.write(&self.stream, bytes)?)
    }

    pub(super) fn receive(
        &mut self,
        payload_bytes_max: usize,
        deadline: Deadline,
    ) -> Result<Frame, ChannelError> {
        self.decoder.limit_payloads(payload_bytes_max);
        loop {
            let mut bytes = &self.buffer[self.pending.clone()];
            let frame = self.decoder.next(&mut bytes)?;
            self.pending.start = self.pending.end - bytes.len();
            if let Some(frame) = frame {
                return Ok(frame);
            }
            let read = deadline.read(&self.stream, &mut self.buffer)?;
            self.pending = 0..read;
        }
    }
}
