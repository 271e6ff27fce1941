//! What LUKS1 and LUKS2 have in common: key slots that a passphrase opens, and a digest
//! that says whether the key is right.

use std::io;

use crypto::KeyError;
use zeroize::Zeroizing;

use crate::hash::{Hash, UnknownHash};
use crate::image::Image;
use crate::kdf::{Cost, Kdf, KdfError};
use crate::layout::{DataError, Layout};
use crate::sectors::{SECTOR_BYTES, SectorCipher};
use crate::spec::{Spec, SpecError};
use crate::stripes::merge;

/// Longest area of a key slot that is read: 4000 stripes of 512 bytes are 2 MiB.
pub const AREA_BYTES_MAX: u64 = 16 << 20;

/// A header that was read and checked.
#[derive(Clone, Debug)]
pub struct Header {
    /// 1 or 2.
    pub version: u16,
    pub uuid: String,
    pub label: String,
    pub subsystem: String,
    /// Number and kind of each token.
    pub tokens: Vec<(u32, String)>,
    pub flags: Vec<String>,
    /// Of the data, or why they cannot be read.
    pub layout: Result<Layout, DataError>,
    /// By number.
    pub slots: Vec<(u32, Result<Slot, SlotError>)>,
    /// Which copy of a LUKS2 header was not usable, and why.
    pub damage: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub key_bytes: usize,
    pub kdf: Kdf,
    pub stripes: usize,
    pub stripes_hash: Hash,
    /// Where the stripes lie, in bytes from the start of the header's device.
    pub area_offset: u64,
    pub area: Spec,
    pub area_key_bytes: usize,
    /// 2 is tried first, then 1; 0 only if it is asked for.
    pub priority: u32,
    pub digest: Digest,
}

/// Tells the right key from others: its hash, at a cost.
#[derive(Clone, Debug)]
pub struct Digest {
    pub kdf: Kdf,
    digest: Vec<u8>,
}

/// Why a key slot cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotError {
    #[error(transparent)]
    Kdf(#[from] KdfError),
    #[error(transparent)]
    Hash(#[from] UnknownHash),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error("its kind '{0}' is not supported")]
    Kind(String),
    #[error("it is bound to no data (it holds a key of another use)")]
    Unbound,
    #[error("its area of {bytes} bytes at byte {offset} lies outside the key slots' area")]
    Area { offset: u64, bytes: u64 },
    #[error("{stripes} stripes of {key_bytes} bytes do not fit its area of {area_bytes}")]
    Stripes {
        stripes: usize,
        key_bytes: usize,
        area_bytes: u64,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error("key slot {0} is empty; 'info' lists those that are not")]
    NoSlot(u32),
    #[error("key slot {number} cannot be used: {error}")]
    Slot { number: u32, error: SlotError },
    #[error("the header has no key slot that can be used{}", refused(.0))]
    NoneUsable(Vec<(u32, SlotError)>),
    #[error("no key slot opens with this passphrase; tried: {tried}{}", refused(.others))]
    Passphrase {
        tried: String,
        others: Vec<(u32, SlotError)>,
    },
    #[error("key slot {number} cannot be read")]
    Read { number: u32, source: io::Error },
    #[error("the image ends inside key slot {0}; it is truncated")]
    Truncated(u32),
    #[error("key slot {number}")]
    Kdf { number: u32, source: KdfError },
    #[error("key slot {number}")]
    Cipher { number: u32, source: KeyError },
}

fn refused(slots: &[(u32, SlotError)]) -> String {
    let one =
        |(number, error): &(u32, SlotError)| format!("; slot {number} cannot be used: {error}");
    slots.iter().map(one).collect()
}

impl Slot {
    /// Checks what both formats ask of a slot's area.
    pub(crate) fn check_area(&self, area_bytes: u64) -> Result<(), SlotError> {
        let fits = self.key_bytes > 0
            && self.stripes > 0
            && self
                .material_bytes()
                .is_some_and(|bytes| bytes <= area_bytes.min(AREA_BYTES_MAX));
        fits.then_some(()).ok_or(SlotError::Stripes {
            stripes: self.stripes,
            key_bytes: self.key_bytes,
            area_bytes,
        })
    }

    /// Whole sectors that hold the stripes.
    fn material_bytes(&self) -> Option<u64> {
        let bytes = self.stripes.checked_mul(self.key_bytes)?;
        Some(bytes.checked_next_multiple_of(SECTOR_BYTES)? as u64)
    }

    /// The key that the passphrase gives, if it is the right one.
    fn open(
        &self,
        number: u32,
        image: &dyn Image,
        passphrase: &[u8],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, UnlockError> {
        let kdf_error = |source| UnlockError::Kdf { number, source };
        let bytes = self
            .material_bytes()
            .unwrap_or(u64::MAX)
            .min(AREA_BYTES_MAX) as usize;
        let material = image.part(self.area_offset, bytes);
        let mut material = material.map_err(|source| UnlockError::Read { number, source })?;
        if material.len() < bytes {
            return Err(UnlockError::Truncated(number));
        }
        let key = self
            .kdf
            .derive(passphrase, self.area_key_bytes)
            .map_err(kdf_error)?;
        let cipher = SectorCipher::new(self.area, &key, SECTOR_BYTES);
        let cipher = cipher.map_err(|source| UnlockError::Cipher { number, source })?;
        cipher.decrypt(0, &mut material);
        let material = Zeroizing::new(material);
        let stripes = &material[..self.stripes * self.key_bytes];
        let key = merge(stripes, self.stripes, self.stripes_hash);
        let Digest { kdf, digest } = &self.digest;
        let found = kdf.derive(&key, digest.len()).map_err(kdf_error)?;
        let differing = found
            .iter()
            .zip(digest)
            .fold(0, |bits, (a, b)| bits | (a ^ b));
        Ok((differing == 0).then_some(key))
    }
}

impl Digest {
    /// # Errors
    /// [`SlotError`] for a hash that is not known or costs beyond the limits.
    pub fn new(
        hash: &str,
        iterations: u32,
        salt: Vec<u8>,
        digest: Vec<u8>,
    ) -> Result<Self, SlotError> {
        let hash: Hash = hash.parse()?;
        if !(1..=hash.bytes()).contains(&digest.len()) {
            return Err(SlotError::Kind(format!("digest of {} bytes", digest.len())));
        }
        let kdf = Kdf::new(Cost::Pbkdf2 { hash, iterations }, salt)?;
        Ok(Self { kdf, digest })
    }
}

impl Header {
    /// The volume's key, from the first slot that the passphrase opens; only slot
    /// `only`, if one is named.
    ///
    /// # Errors
    /// [`UnlockError`].
    pub fn unlock(
        &self,
        image: &dyn Image,
        passphrase: &[u8],
        only: Option<u32>,
    ) -> Result<Zeroizing<Vec<u8>>, UnlockError> {
        let mut slots: Vec<(u32, &Slot)> = Vec::new();
        let mut others = Vec::new();
        for (number, slot) in &self.slots {
            match slot {
                _ if only.is_some_and(|only| only != *number) => {}
                Ok(slot) if slot.priority > 0 || only.is_some() => slots.push((*number, slot)),
                Ok(_) => {}
                Err(error) => others.push((*number, error.clone())),
            }
        }
        match (only, others.pop()) {
            (Some(number), Some((_, error))) => return Err(UnlockError::Slot { number, error }),
            (Some(number), None) if slots.is_empty() => return Err(UnlockError::NoSlot(number)),
            (None, last) => others.extend(last),
            (Some(_), None) => {}
        }
        if slots.is_empty() {
            return Err(UnlockError::NoneUsable(others));
        }
        slots.sort_by_key(|(number, slot)| (std::cmp::Reverse(slot.priority), *number));
        for (number, slot) in &slots {
            if let Some(key) = slot.open(*number, image, passphrase)? {
                return Ok(key);
            }
        }
        let tried: Vec<_> = slots.iter().map(|(number, _)| number.to_string()).collect();
        Err(UnlockError::Passphrase {
            tried: tried.join(", "),
            others,
        })
    }
}
