//! Where the encrypted data lie, and how they are encrypted.

use crate::image::Image;
use crate::sectors::SECTOR_BYTES;
use crate::spec::{Spec, SpecError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub spec: Spec,
    /// First byte on the device.
    pub offset: u64,
    /// Up to the device's end, if none is named.
    pub bytes: Option<u64>,
    pub sector_bytes: usize,
    /// Added to the number of each sector; 512-byte sectors.
    pub iv_offset: u64,
    /// Whether IVs count sectors of `sector_bytes`, not of 512 bytes.
    pub iv_large_sectors: bool,
}

/// What a header asks of who reads the data, and is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    #[error("the image requires '{0}', which is not supported; open it with cryptsetup")]
    Requirement(String),
    #[error(
        "the image is being reencrypted (key slot {0}); finish that with 'cryptsetup reencrypt'"
    )]
    Reencryption(u32),
    #[error("the image has {0} segments; only one is supported")]
    Segments(usize),
    #[error("segment type '{0}' is not supported; only 'crypt' is")]
    SegmentType(String),
    #[error("the data carry integrity tags ({0}), which is not supported; open it with cryptsetup")]
    Integrity(String),
    #[error("the segment names no encryption")]
    NoEncryption,
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("'{0}' is no size of a segment")]
    SegmentSize(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("sectors of {0} bytes are not supported; take 512, 1024, 2048 or 4096")]
    SectorBytes(usize),
    #[error("the data begin at byte {offset}, which is no multiple of 512")]
    Unaligned { offset: u64 },
    #[error(
        "the data begin at byte {offset}, and the image ends at byte {image}; it is truncated, or the offset is wrong"
    )]
    Beyond { offset: u64, image: u64 },
    #[error("no data are named; a size is one sector at least")]
    NoData,
    #[error(
        "sectors of {sector_bytes} bytes cannot be numbered from {iv_offset} on; that must be a multiple of {}", sector_bytes / SECTOR_BYTES
    )]
    IvOffset { iv_offset: u64, sector_bytes: usize },
    #[error("{asked} bytes of data are named, and the image has {there}; it is truncated")]
    Truncated { asked: u64, there: u64 },
    #[error(
        "{bytes} bytes of data are no whole sectors of {sector_bytes}; name another sector size or offset, or a size that is one"
    )]
    PartOfSector { bytes: u64, sector_bytes: usize },
}

impl Layout {
    /// How many bytes of data the image holds.
    ///
    /// # Errors
    /// [`LayoutError`] where it does not hold what the layout names.
    pub fn data_bytes(&self, image: &dyn Image) -> Result<u64, LayoutError> {
        let (offset, sector_bytes) = (self.offset, self.sector_bytes);
        if !matches!(sector_bytes, 512 | 1024 | 2048 | 4096) {
            return Err(LayoutError::SectorBytes(sector_bytes));
        }
        if !offset.is_multiple_of(SECTOR_BYTES as u64) {
            return Err(LayoutError::Unaligned { offset });
        }
        let iv_offset = self.iv_offset;
        // The kernel refuses it, too.
        if !iv_offset.is_multiple_of((sector_bytes / SECTOR_BYTES) as u64) {
            return Err(LayoutError::IvOffset {
                iv_offset,
                sector_bytes,
            });
        }
        let there = match image.bytes().checked_sub(offset) {
            None | Some(0) => {
                return Err(LayoutError::Beyond {
                    offset,
                    image: image.bytes(),
                });
            }
            Some(there) => there,
        };
        let bytes = match self.bytes {
            Some(0) => return Err(LayoutError::NoData),
            Some(asked) if asked > there => return Err(LayoutError::Truncated { asked, there }),
            asked => asked.unwrap_or(there),
        };
        if !bytes.is_multiple_of(sector_bytes as u64) {
            return Err(LayoutError::PartOfSector {
                bytes,
                sector_bytes,
            });
        }
        Ok(bytes)
    }
}
