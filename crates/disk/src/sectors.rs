//! Sectors as dm-crypt encrypts them (Linux `drivers/md/dm-crypt.c`).

use crypto::{KeyError, Sectors};

use crate::spec::Spec;

/// What sectors are numbered in, whatever their size.
pub const SECTOR_BYTES: usize = 512;

/// Encrypts and decrypts runs of sectors with one key.
pub struct SectorCipher {
    cipher: crypto::SectorCipher,
    iv_offset: u64,
}

impl SectorCipher {
    /// For sectors of `sector_bytes`, numbered by 512 bytes from 0.
    ///
    /// # Errors
    /// [`KeyError::SectorKey`], [`KeyError::SectorBytes`] for sizes that there are not.
    pub fn new(spec: Spec, key: &[u8], sector_bytes: usize) -> Result<Self, KeyError> {
        let sectors = Sectors::new(spec.mode, spec.iv, key.len(), sector_bytes)?;
        Ok(Self {
            cipher: crypto::SectorCipher::new(sectors, key)?,
            iv_offset: 0,
        })
    }

    /// Numbers sectors from `iv_offset` on, by their own size if they are `large`.
    #[must_use]
    pub fn numbered(self, iv_offset: u64, large: bool) -> Self {
        let cipher = self.cipher.numbered_large(large);
        Self { cipher, iv_offset }
    }

    /// The IV of the sector with that number, in units of 512 bytes.
    pub fn iv(&self, number: u64) -> [u8; 16] {
        self.cipher.iv(number.wrapping_add(self.iv_offset))
    }

    /// Decrypts whole sectors in place; the first is number `first`, in units of 512
    /// bytes.
    ///
    /// # Panics
    /// Unless `data` is whole sectors.
    pub fn decrypt(&self, first: u64, data: &mut [u8]) {
        let number = first.wrapping_add(self.iv_offset);
        self.cipher.run(false, number, data);
    }

    /// As [`Self::decrypt`].
    ///
    /// # Panics
    /// Unless `data` is whole sectors.
    pub fn encrypt(&self, first: u64, data: &mut [u8]) {
        let number = first.wrapping_add(self.iv_offset);
        self.cipher.run(true, number, data);
    }

    /// As [`Self::encrypt`], from one place to another.
    ///
    /// # Panics
    /// Unless both are whole sectors, and as many.
    pub fn encrypt_to(&self, first: u64, from: &[u8], to: &mut [u8]) {
        let number = first.wrapping_add(self.iv_offset);
        self.cipher.run_to(true, number, from, to);
    }
}
