//! The decrypted side of an image.

use std::io::{self, Write};

use crypto::KeyError;
use zeroize::Zeroize;

use crate::image::Image;
use crate::layout::{Layout, LayoutError};
use crate::sectors::{SECTOR_BYTES, SectorCipher};

/// Read, decrypted and written at a time: whole sectors, and small beside L2.
const PIECE_BYTES: usize = 256 << 10;

/// Reads an image through a key.
pub struct Volume<'i> {
    image: &'i dyn Image,
    layout: Layout,
    bytes: u64,
    cipher: SectorCipher,
}

#[derive(Debug, thiserror::Error)]
pub enum VolumeError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Key(#[from] KeyError),
}

#[derive(Debug, thiserror::Error)]
pub enum CopyOutError {
    #[error("cannot read the image at byte {at}")]
    Read { at: u64, source: io::Error },
    #[error("the image ended at byte {at}; another program truncated it")]
    Truncated { at: u64 },
    #[error("cannot write what was decrypted")]
    Write(#[source] io::Error),
    #[error("stopped")]
    Stopped,
}

impl<'i> Volume<'i> {
    /// # Errors
    /// [`VolumeError`] where image, layout and key do not fit each other.
    pub fn new(image: &'i dyn Image, layout: Layout, key: &[u8]) -> Result<Self, VolumeError> {
        let bytes = layout.data_bytes(image)?;
        let cipher = SectorCipher::new(layout.spec, key, layout.sector_bytes)?;
        Ok(Self {
            image,
            layout,
            bytes,
            cipher: cipher.numbered(layout.iv_offset, layout.iv_large_sectors),
        })
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all data decrypted; asks `go_on` before each piece, with how many bytes
    /// are done.
    ///
    /// # Errors
    /// [`CopyOutError`].
    pub fn copy_to(
        &self,
        to: &mut dyn Write,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), CopyOutError> {
        let mut piece = vec![0; PIECE_BYTES];
        let written = self.pieces(&mut piece, to, go_on);
        piece.zeroize();
        written
    }

    fn pieces(
        &self,
        piece: &mut [u8],
        to: &mut dyn Write,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), CopyOutError> {
        let mut done = 0;
        while done < self.bytes {
            if !go_on(done) {
                return Err(CopyOutError::Stopped);
            }
            let left = usize::try_from(self.bytes - done).unwrap_or(usize::MAX);
            let piece = &mut piece[..left.min(PIECE_BYTES)];
            let at = self.layout.offset + done;
            let read = self.image.read_at(at, piece);
            match read {
                Ok(bytes) if bytes == piece.len() => {}
                Ok(bytes) => {
                    return Err(CopyOutError::Truncated {
                        at: at + bytes as u64,
                    });
                }
                Err(source) => return Err(CopyOutError::Read { at, source }),
            }
            self.cipher.decrypt(done / SECTOR_BYTES as u64, piece);
            to.write_all(piece).map_err(CopyOutError::Write)?;
            done += piece.len() as u64;
        }
        Ok(())
    }
}
