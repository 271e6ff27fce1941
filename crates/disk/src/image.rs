//! Where encrypted bytes are read from.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

pub trait Image {
    fn bytes(&self) -> u64;

    /// Reads at `offset` until `to` is full or the image ends; how many bytes it read.
    ///
    /// # Errors
    /// As the system reports them.
    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<usize>;

    /// `bytes` at `offset`, or fewer where the image ends.
    ///
    /// # Errors
    /// As the system reports them.
    fn part(&self, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let there = self.bytes().saturating_sub(offset);
        let bytes = bytes.min(usize::try_from(there).unwrap_or(usize::MAX));
        let mut part = vec![0; bytes];
        let read = self.read_at(offset, &mut part)?;
        part.truncate(read);
        Ok(part)
    }
}

/// A file or a block device.
pub struct FileImage {
    file: File,
    bytes: u64,
}

impl FileImage {
    /// # Errors
    /// Where its end cannot be found.
    pub fn new(mut file: File) -> io::Result<Self> {
        let bytes = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, bytes })
    }
}

impl Image for FileImage {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < to.len() {
            match self.file.read_at(&mut to[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

impl Image for Vec<u8> {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).ok().and_then(|at| self.get(at..));
        let from = from.unwrap_or_default();
        let bytes = from.len().min(to.len());
        to[..bytes].copy_from_slice(&from[..bytes]);
        Ok(bytes)
    }
}
