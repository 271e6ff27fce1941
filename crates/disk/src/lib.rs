//! Encrypted disks: sector modes bit-compatible with Linux's dm-crypt, and images in
//! plain, LUKS1 and LUKS2 format, read-only.

#![forbid(unsafe_code)]

mod hash;
mod image;
mod kdf;
mod layout;
mod luks;
mod luks1;
mod luks2;
pub mod plain;
mod sectors;
mod spec;
mod stripes;
mod volume;

use std::io;

pub use hash::{Hash, UnknownHash};
pub use image::{FileImage, Image};
pub use kdf::{
    ARGON2_LANES_MAX, ARGON2_MEMORY_KIB_MAX, ARGON2_WORK_KIB_MAX, Cost, Kdf, KdfError,
    PBKDF2_ITERATIONS_MAX, Variant,
};
pub use layout::{DataError, Layout, LayoutError};
pub use luks::{AREA_BYTES_MAX, Digest, Header, Slot, SlotError, UnlockError};
pub use luks1::Luks1Error;
pub use luks2::{CopyError, Luks2Error};
pub use sectors::{SECTOR_BYTES, SectorCipher};
pub use spec::{Iv, Mode, Spec, SpecError};
pub use volume::{CopyOutError, Volume, VolumeError};

#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    #[error("cannot read the image")]
    Read(#[from] io::Error),
    #[error(
        "the image has no LUKS header; open a plain one with --type plain and how it is encrypted, one whose header is elsewhere with --header FILE"
    )]
    None,
    #[error("LUKS1")]
    Luks1(#[from] Luks1Error),
    #[error("LUKS2")]
    Luks2(#[from] Luks2Error),
}

/// Reads the LUKS header of an image, whichever version it has.
///
/// # Errors
/// [`HeaderError`].
pub fn header(image: &dyn Image) -> Result<Header, HeaderError> {
    if luks1::is_luks1(&image.part(0, 8)?) {
        return Ok(luks1::read(image)?);
    }
    luks2::read(image).map_err(|error| match error {
        Luks2Error::NeitherCopy {
            first: CopyError::Signature,
            second: CopyError::Signature,
        } => HeaderError::None,
        error => error.into(),
    })
}
