//! Frames over a socket, with deadlines.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::ChannelError;
use crate::protocol::frame::{Decoder, Frame};

const READ_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    pub(super) fn after(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit,
        }
    }

    fn silent(self) -> ChannelError {
        ChannelError::Silent { limit: self.limit }
    }

    /// The time left, never zero: a socket takes that for no limit.
    fn rest(self) -> Result<Duration, ChannelError> {
        let rest = self.at.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(self.silent());
        }
        Ok(rest.max(Duration::from_millis(1)))
    }

    fn failure(self, error: std::io::Error) -> ChannelError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.silent(),
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ChannelError::Closed,
            _ => ChannelError::Stream(error),
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

    pub(super) fn send(
        &mut self,
        mut bytes: &[u8],
        deadline: Deadline,
    ) -> Result<(), ChannelError> {
        while !bytes.is_empty() {
            self.stream
                .set_write_timeout(Some(deadline.rest()?))
                .map_err(ChannelError::Stream)?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(ChannelError::Closed),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(deadline.failure(error)),
            }
        }
        Ok(())
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
            self.fill(deadline)?;
        }
    }

    fn fill(&mut self, deadline: Deadline) -> Result<(), ChannelError> {
        self.stream
            .set_read_timeout(Some(deadline.rest()?))
            .map_err(ChannelError::Stream)?;
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(ChannelError::Closed),
            Ok(read) => {
                self.pending = 0..read;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(deadline.failure(error)),
        }
    }
}
