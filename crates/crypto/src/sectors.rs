//! How a disk's sectors are encrypted, as Linux's dm-crypt has it: an algorithm for each
//! way.

use crate::{KeyError, SectorMode};

/// Unit of sectors' numbers, whatever their size.
const NUMBERED_BYTES: u128 = 512;
/// Largest sector of dm-crypt.
pub(crate) const SECTOR_BYTES_MAX: usize = 4096;
const SIZES: usize = 4;
const SECTOR_BYTES: [usize; SIZES] = [512, 1024, 2048, SECTOR_BYTES_MAX];

/// What a sector's number becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectorIv {
    /// Zeros.
    Null,
    /// The lower 32 bits, little-endian.
    Plain,
    /// 64 bits, little-endian.
    Plain64,
    /// 64 bits, big-endian, at the end.
    Plain64Be,
    /// The number of the sector's first cipher block, from 1, big-endian.
    Benbi,
    /// [`SectorIv::Plain64`], encrypted with the SHA-256 of the key.
    EssivSha256,
}

impl SectorIv {
    pub const ALL: [Self; 6] = [
        Self::Null,
        Self::Plain,
        Self::Plain64,
        Self::Plain64Be,
        Self::Benbi,
        Self::EssivSha256,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Plain => "plain",
            Self::Plain64 => "plain64",
            Self::Plain64Be => "plain64be",
            Self::Benbi => "benbi",
            Self::EssivSha256 => "essiv:sha256",
        }
    }
}

/// A mode, an IV, and the sizes of key and sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sectors {
    mode: SectorMode,
    iv: SectorIv,
    key_bytes: u8,
    /// Of [`SECTOR_BYTES`].
    size: u8,
    is_numbered_large: bool,
}

impl Sectors {
    /// Of sectors that are numbered by 512 bytes.
    ///
    /// # Errors
    /// [`KeyError::SectorKey`], [`KeyError::SectorBytes`] for sizes that there are not.
    pub fn new(
        mode: SectorMode,
        iv: SectorIv,
        key_bytes: usize,
        sector_bytes: usize,
    ) -> Result<Self, KeyError> {
        let place = |all: &[usize], one| all.iter().position(|other| *other == one);
        let got = key_bytes;
        place(&mode.key_bytes(), got).ok_or(KeyError::SectorKey { mode, got })?;
        let size = place(&SECTOR_BYTES, sector_bytes);
        let size = size.ok_or(KeyError::SectorBytes { got: sector_bytes })?;
        Ok(Self {
            mode,
            iv,
            key_bytes: got as u8,
            size: size as u8,
            is_numbered_large: false,
        })
    }

    /// Whether IVs count sectors of their own size, not of 512 bytes.
    #[must_use]
    pub fn numbered_large(self, is_numbered_large: bool) -> Self {
        Self {
            is_numbered_large,
            ..self
        }
    }

    pub const fn mode(self) -> SectorMode {
        self.mode
    }

    pub const fn key_bytes(self) -> usize {
        self.key_bytes as usize
    }

    pub const fn sector_bytes(self) -> usize {
        SECTOR_BYTES[self.size as usize]
    }

    pub const COSTS: usize = SectorMode::ALL.len() * 3 * SIZES;

    /// A number below [`Self::COSTS`], the same for ways that cost the same.
    pub fn cost(self) -> usize {
        let mut keys = self.mode.key_bytes().into_iter();
        let key = keys.position(|bytes| bytes == self.key_bytes());
        let key = key.expect("a length that the mode has");
        (self.mode as usize * 3 + key) * SIZES + usize::from(self.size)
    }

    /// The IV of a job whose first sector is number `first`, in units of 512 bytes; what a
    /// disk adds to the numbers for its IVs is added already.
    pub fn job_iv(first: u64) -> [u8; 16] {
        u128::from(first).to_le_bytes()
    }

    /// The IV of a job that goes on after `bytes` of one with `job_iv`.
    pub fn job_iv_after(job_iv: [u8; 16], bytes: usize) -> [u8; 16] {
        let number = u128::from_le_bytes(job_iv);
        let after = number.wrapping_add(bytes as u128 / NUMBERED_BYTES);
        after.to_le_bytes()
    }

    /// The number of the first of `bytes`, where these are whole sectors, and the numbers
    /// of all have 64 bits.
    pub(crate) fn first(self, job_iv: &[u8; 16], bytes: usize) -> Option<u64> {
        let first = u64::try_from(u128::from_le_bytes(*job_iv)).ok()?;
        let end = u128::from(first) + bytes as u128 / NUMBERED_BYTES;
        let step = self.step();
        let is_whole = bytes.is_multiple_of(self.sector_bytes()) && first.is_multiple_of(step);
        (is_whole && end <= 1 << 64).then_some(first)
    }

    /// From a sector's number to the next one's.
    pub(crate) const fn step(self) -> u64 {
        1 << self.size
    }

    /// Of the sector with that number; with ESSIV, before it is encrypted.
    #[inline(always)]
    pub(crate) fn iv(self, mut number: u64) -> [u8; 16] {
        if self.is_numbered_large {
            number >>= self.size;
        }
        let mut iv = [0; 16];
        match self.iv {
            SectorIv::Null => {}
            SectorIv::Plain => iv[..4].copy_from_slice(&number.to_le_bytes()[..4]),
            SectorIv::Plain64 | SectorIv::EssivSha256 => {
                iv[..8].copy_from_slice(&number.to_le_bytes());
            }
            SectorIv::Plain64Be => iv[8..].copy_from_slice(&number.to_be_bytes()),
            SectorIv::Benbi => {
                // A block of a stream cipher, to the kernel, is a byte.
                let shift = if self.mode == SectorMode::Ctr { 9 } else { 5 };
                let block = (number << shift).wrapping_add(1);
                iv[8..].copy_from_slice(&block.to_be_bytes());
            }
        }
        iv
    }

    pub(crate) fn is_essiv(self) -> bool {
        self.iv == SectorIv::EssivSha256
    }

    pub(crate) const fn name(self) -> &'static str {
        match self.mode {
            SectorMode::Ecb => "aes-ecb sectors",
            SectorMode::Cbc => "aes-cbc sectors",
            SectorMode::Ctr => "aes-ctr sectors",
            SectorMode::Lrw => "aes-lrw sectors",
            SectorMode::Pcbc => "aes-pcbc sectors",
            SectorMode::Xts => "aes-xts sectors",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_whole_sectors_whose_numbers_have_64_bits() {
        let of = |bytes| Sectors::new(SectorMode::Xts, SectorIv::Plain64, 64, bytes).unwrap();
        for (sector_bytes, job_iv, bytes, first) in [
            (512, Sectors::job_iv(u64::MAX), 512, Some(u64::MAX)),
            (512, Sectors::job_iv(u64::MAX), 1024, None),
            (512, Sectors::job_iv(3), 513, None),
            (4096, Sectors::job_iv(8), 4096, Some(8)),
            (4096, Sectors::job_iv(8), 512, None),
            (4096, Sectors::job_iv(9), 4096, None),
            (512, (1_u128 << 64).to_le_bytes(), 512, None),
            (
                512,
                Sectors::job_iv_after(Sectors::job_iv(7), 2048),
                512,
                Some(11),
            ),
        ] {
            assert_eq!(
                of(sector_bytes).first(&job_iv, bytes),
                first,
                "{job_iv:?} {bytes}"
            );
        }
    }

    #[test]
    fn ways_that_cost_the_same_share_a_number_and_others_none() {
        let mut seen = [false; Sectors::COSTS];
        for mode in SectorMode::ALL {
            for (key, size) in mode
                .key_bytes()
                .iter()
                .flat_map(|key| SECTOR_BYTES.map(|size| (*key, size)))
            {
                let [one, other] = [SectorIv::Null, SectorIv::Benbi]
                    .map(|iv| Sectors::new(mode, iv, key, size).unwrap().cost());
                assert!(one == other && !std::mem::replace(&mut seen[one], true));
            }
        }
    }
}
