//! Where the bytes of a capture or a key log come from: buffered and counted.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use zeroize::Zeroizing;

use super::ReadError;

const BUFFER_BYTES: usize = 8 << 10;

pub(super) struct Source<R> {
    input: R,
    /// Secrets pass through it; a `BufReader` would leave them in freed memory.
    buffer: Zeroizing<Vec<u8>>,
    unread: Range<usize>,
    at: u64,
}

impl<R: Read> Source<R> {
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: Zeroizing::new(vec![0; BUFFER_BYTES]),
            unread: 0..0,
            at: 0,
        }
    }

    /// How many bytes were taken.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The first bytes, which are still to be taken; fewer where the input ends.
    pub fn peek(&mut self, bytes: usize) -> Result<&[u8], ReadError> {
        while self.unread.len() < bytes {
            match self.input.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => break,
                Ok(read) => self.unread.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ReadError::Read {
                        at: self.at,
                        source,
                    });
                }
            }
        }
        let end = self.unread.end.min(self.unread.start + bytes);
        Ok(&self.buffer[self.unread.start..end])
    }

    /// `None` where the input ends before the first byte.
    ///
    /// # Errors
    /// [`ReadError::Truncated`] where it ends inside; `part` names what is read.
    pub fn array<const N: usize>(
        &mut self,
        part: &'static str,
    ) -> Result<Option<[u8; N]>, ReadError> {
        let mut array = [0; N];
        match self.fill(&mut array)? {
            0 => Ok(None),
            read if read == N => Ok(Some(array)),
            _ => Err(self.truncated(part)),
        }
    }

    /// Takes the memory at once, since a list that grew would leave secrets behind; `bytes`
    /// may be a lie, and is within the caller's limit.
    pub fn exact(
        &mut self,
        bytes: usize,
        part: &'static str,
    ) -> Result<Zeroizing<Vec<u8>>, ReadError> {
        let mut found = Zeroizing::new(vec![0; bytes]);
        if self.fill(&mut found)? < bytes {
            return Err(self.truncated(part));
        }
        Ok(found)
    }

    pub fn skip(&mut self, bytes: usize, part: &'static str) -> Result<(), ReadError> {
        let mut left = bytes;
        while left > 0 {
            let there = match self.fill_buf() {
                Ok([]) => return Err(self.truncated(part)),
                Ok(there) => there.len().min(left),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(source) => {
                    return Err(ReadError::Read {
                        at: self.at,
                        source,
                    });
                }
            };
            self.consume(there);
            left -= there;
        }
        Ok(())
    }

    pub fn truncated(&self, part: &'static str) -> ReadError {
        ReadError::Truncated { at: self.at, part }
    }

    fn fill(&mut self, to: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while filled < to.len() {
            match self.read(&mut to[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(ReadError::Read {
                        at: self.at,
                        source,
                    });
                }
            }
        }
        Ok(filled)
    }
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            self.unread = 0..0;
            self.unread = 0..self.input.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    fn consume(&mut self, bytes: usize) {
        self.unread.start += bytes;
        self.at += bytes as u64;
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let bytes = there.len().min(to.len());
        to[..bytes].copy_from_slice(&there[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}
