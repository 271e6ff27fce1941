//! Reads and writes of a socket, each by a deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    limit: Duration,
}

/// Why nothing was read or written.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// The deadline, which was that long after its begin.
    Silent(Duration),
    Closed,
    Failed(io::Error),
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit,
        }
    }

    /// The bytes that came, at least one.
    pub(crate) fn read(self, mut from: &UnixStream, into: &mut [u8]) -> Result<usize, Stopped> {
        self.attempt(|left| {
            from.set_read_timeout(Some(left))?;
            from.read(into)
        })
    }

    pub(crate) fn write(self, mut to: &UnixStream, mut bytes: &[u8]) -> Result<(), Stopped> {
        while !bytes.is_empty() {
            let written = self.attempt(|left| {
                to.set_write_timeout(Some(left))?;
                to.write(bytes)
            })?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    fn attempt(
        self,
        mut once: impl FnMut(Duration) -> io::Result<usize>,
    ) -> Result<usize, Stopped> {
        loop {
            let left = self.at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Stopped::Silent(self.limit));
            }
            // A socket takes zero for no limit.
            match once(left.max(Duration::from_millis(1))) {
                Ok(0) => return Err(Stopped::Closed),
                Ok(bytes) => return Ok(bytes),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        return Err(Stopped::Silent(self.limit));
                    }
                    ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                        return Err(Stopped::Closed);
                    }
                    _ => return Err(Stopped::Failed(error)),
                },
            }
        }
    }
}
