//! Sectors as dm-crypt encrypts them (Linux `drivers/md/dm-crypt.c`).

use crypto::{KeyError, SectorKey};
use zeroize::Zeroize;

use crate::hash::Hash;
use crate::spec::{Iv, Mode, Spec};

/// What sectors are numbered in, whatever their size.
pub const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES: usize = 16;
/// Sectors whose IVs are made together: blocks enough to fill every lane.
const TOGETHER: usize = 128;
/// Blocks of one text of the IVs' cipher.
const TEXT_BLOCKS: usize = 32;

type Block = [u8; BLOCK_BYTES];

/// Encrypts and decrypts runs of sectors with one key.
pub struct SectorCipher {
    spec: Spec,
    sector_bytes: usize,
    iv_large_sectors: bool,
    iv_offset: u64,
    key: SectorKey,
    /// Of ESSIV.
    iv_key: Option<SectorKey>,
}

impl SectorCipher {
    /// For sectors of `sector_bytes`, numbered by 512 bytes from 0.
    ///
    /// # Errors
    /// [`KeyError::SectorKey`] for a key of a length that the mode does not take.
    ///
    /// # Panics
    /// Unless `sector_bytes` is a power of two from 512 on.
    pub fn new(spec: Spec, key: &[u8], sector_bytes: usize) -> Result<Self, KeyError> {
        assert!(sector_bytes >= SECTOR_BYTES && sector_bytes.is_power_of_two());
        let iv_key = match spec.iv {
            Iv::EssivSha256 => {
                let hashed = Hash::Sha256.digest(&[key]);
                Some(SectorKey::new(Mode::Ecb, &hashed)?)
            }
            _ => None,
        };
        Ok(Self {
            spec,
            sector_bytes,
            iv_large_sectors: false,
            iv_offset: 0,
            key: SectorKey::new(spec.mode, key)?,
            iv_key,
        })
    }

    /// Numbers sectors from `iv_offset` on, by their own size if they are `large`.
    #[must_use]
    pub fn numbered(mut self, iv_offset: u64, large: bool) -> Self {
        (self.iv_offset, self.iv_large_sectors) = (iv_offset, large);
        self
    }

    /// Decrypts whole sectors in place; the first is number `first`, in units of 512
    /// bytes.
    ///
    /// # Panics
    /// Unless `data` is whole sectors.
    pub fn decrypt(&self, first: u64, data: &mut [u8]) {
        self.run(false, first, data);
    }

    /// As [`Self::decrypt`].
    ///
    /// # Panics
    /// Unless `data` is whole sectors.
    pub fn encrypt(&self, first: u64, data: &mut [u8]) {
        self.run(true, first, data);
    }

    /// As [`Self::encrypt`], from one place to another.
    ///
    /// # Panics
    /// Unless both are whole sectors, and as many.
    pub fn encrypt_to(&self, first: u64, from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
        self.encrypt(first, to);
    }

    fn run(&self, encrypt: bool, mut first: u64, data: &mut [u8]) {
        assert!(
            data.len().is_multiple_of(self.sector_bytes),
            "whole sectors"
        );
        let mut ivs = [[0; BLOCK_BYTES]; TOGETHER];
        for run in data.chunks_mut(TOGETHER * self.sector_bytes) {
            let count = run.len() / self.sector_bytes;
            first = self.number(first, &mut ivs, count);
            self.key.run(encrypt, &ivs[..count], run);
        }
        ivs.as_flattened_mut().zeroize();
    }

    /// The IV of the sector with that number.
    pub fn iv(&self, number: u64) -> Block {
        let mut ivs = [[0; BLOCK_BYTES]; TOGETHER];
        self.number(number, &mut ivs, 1);
        ivs[0]
    }

    /// Writes the first `count` IVs; the number of the sector behind.
    fn number(&self, mut first: u64, ivs: &mut [Block; TOGETHER], count: usize) -> u64 {
        let step = (self.sector_bytes / SECTOR_BYTES) as u64;
        for iv in &mut ivs[..count] {
            *iv = self.plain_iv(first);
            first = first.wrapping_add(step);
        }
        if let Some(key) = &self.iv_key {
            // ECB minds no borders: whole texts, of which a part is of no use.
            let texts = count.div_ceil(TEXT_BLOCKS);
            let blocks = ivs[..texts * TEXT_BLOCKS].as_flattened_mut();
            let none = [[0; BLOCK_BYTES]; TOGETHER / TEXT_BLOCKS];
            key.run(true, &none[..texts], blocks);
        }
        first
    }

    /// Of the sector with that number, before ESSIV encrypts it.
    fn plain_iv(&self, number: u64) -> Block {
        let mut number = number.wrapping_add(self.iv_offset);
        if self.iv_large_sectors {
            number >>= (self.sector_bytes / SECTOR_BYTES).trailing_zeros();
        }
        let mut iv = [0; BLOCK_BYTES];
        match self.spec.iv {
            Iv::Null => {}
            Iv::Plain => iv[..4].copy_from_slice(&number.to_le_bytes()[..4]),
            Iv::Plain64 | Iv::EssivSha256 => iv[..8].copy_from_slice(&number.to_le_bytes()),
            Iv::Plain64Be => iv[8..].copy_from_slice(&number.to_be_bytes()),
            Iv::Benbi => {
                // A block of a stream cipher, to the kernel, is a byte.
                let shift = if self.spec.mode == Mode::Ctr { 9 } else { 5 };
                let block = (number << shift).wrapping_add(1);
                iv[8..].copy_from_slice(&block.to_be_bytes());
            }
        }
        iv
    }
}
