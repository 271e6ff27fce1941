//! Runs of disk sectors: many messages of one length, with an IV each, one after the
//! other in memory. What a request costs by itself is paid once a run.

use std::mem::MaybeUninit;

use zeroize::Zeroizing;

use super::Mode;
use super::key::KernelKey;
use super::multiples::{Far, Multiples};
#[cfg(target_arch = "x86_64")]
use super::native;
use crate::sectors::SECTOR_BYTES_MAX;
#[cfg(target_arch = "x86_64")]
use crate::work::Unit;
use crate::{Instructions, KeyError};

type Block = [u8; 16];

/// Chaining of blocks inside a sector, as Linux's crypto API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SectorMode {
    Ecb,
    Cbc,
    Ctr,
    /// IEEE P1619/D5: an AES key and a block; the IV is a block's number, big-endian.
    Lrw,
    /// As CBC, but text and ciphertext are chained.
    Pcbc,
    /// IEEE 1619: two AES keys; they may be equal, since old disks may have such.
    Xts,
}

impl SectorMode {
    pub const ALL: [Self; 6] = [
        Self::Ecb,
        Self::Cbc,
        Self::Ctr,
        Self::Lrw,
        Self::Pcbc,
        Self::Xts,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ecb => "ecb",
            Self::Cbc => "cbc",
            Self::Ctr => "ctr",
            Self::Lrw => "lrw",
            Self::Pcbc => "pcbc",
            Self::Xts => "xts",
        }
    }

    /// Key lengths with AES-128, AES-192 and AES-256.
    pub const fn key_bytes(self) -> [usize; 3] {
        match self {
            Self::Xts => [32, 48, 64],
            Self::Lrw => [32, 40, 48],
            _ => [16, 24, 32],
        }
    }
}

impl std::fmt::Display for SectorMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown disk mode '{name}'; known: {}", SectorMode::ALL.map(SectorMode::name).join(", "))]
pub struct UnknownSectorMode {
    pub name: String,
}

impl std::str::FromStr for SectorMode {
    type Err = UnknownSectorMode;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let own = Self::ALL.into_iter().find(|mode| mode.name() == name);
        own.ok_or_else(|| UnknownSectorMode {
            name: name.to_owned(),
        })
    }
}

/// A key for sectors, expanded. Zeroised on drop.
pub(super) struct SectorKey {
    mode: SectorMode,
    set: Instructions,
    key: KernelKey,
    /// LRW only.
    multiples: Option<Box<Multiples>>,
}

impl SectorKey {
    /// With instructions that the CPU has.
    ///
    /// # Errors
    /// [`KeyError::SectorKey`] for a length that the mode has not.
    pub(super) fn with(set: Instructions, mode: SectorMode, key: &[u8]) -> Result<Self, KeyError> {
        let [short, middle, long] = mode.key_bytes();
        if ![short, middle, long].contains(&key.len()) {
            let got = key.len();
            return Err(KeyError::SectorKey { mode, got });
        }
        let (cipher, second) = match mode {
            SectorMode::Lrw => key.split_at(key.len() - 16),
            _ => (key, &[][..]),
        };
        Ok(Self {
            mode,
            set,
            multiples: second.first_chunk().map(Multiples::new),
            key: KernelKey::of_sectors(set, mode == SectorMode::Xts, cipher),
        })
    }

    /// Encrypts (or decrypts) sectors in place, as many as there are IVs.
    ///
    /// # Panics
    /// Unless `data` is that many sectors of one length: a multiple of 512 bytes, 4096 at
    /// most.
    #[expect(unsafe_code, reason = "hands a slice to the kernels")]
    pub(super) fn run(&self, encrypt: bool, ivs: &[Block], data: &mut [u8]) {
        if ivs.is_empty() {
            return assert!(data.is_empty(), "an IV for each sector");
        }
        let bytes = data.len() / ivs.len();
        assert!(
            data.len() == bytes * ivs.len() && bytes > 0,
            "an IV for each sector"
        );
        let begin = data.as_mut_ptr();
        let places = |index: usize| {
            let at = begin.wrapping_add(index * bytes);
            (at.cast_const(), at)
        };
        // SAFETY: the slice is ours, and source and destination the same bytes.
        unsafe { self.run_at(encrypt, ivs, bytes, places) };
    }

    /// As [`Self::run`], each sector from the place to the place that `places` gives.
    ///
    /// # Panics
    /// Unless `sector_bytes` is a multiple of 512, 4096 at most.
    ///
    /// # Safety
    /// Sources are readable and destinations writable: each sector's the same bytes, or
    /// apart from all. Other parties may change them meanwhile.
    #[expect(unsafe_code, reason = "what is read and written is the caller's word")]
    pub(super) unsafe fn run_at(
        &self,
        encrypt: bool,
        ivs: &[Block],
        sector_bytes: usize,
        places: impl Fn(usize) -> (*const u8, *mut u8),
    ) {
        assert!(
            sector_bytes.is_multiple_of(512) && (1..=SECTOR_BYTES_MAX).contains(&sector_bytes),
            "sectors of 512 to 4096 bytes"
        );
        // SAFETY: forwarded from the caller; the CPU has the set.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if self.set > Instructions::Baseline {
                return self.native(encrypt, ivs, sector_bytes, places);
            }
            self.soft(encrypt, ivs, sector_bytes, places);
        }
    }

    /// # Safety
    /// As for [`Self::run_at`]; the CPU has the set, which has AES-NI.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "calls the kernels")]
    unsafe fn native(
        &self,
        encrypt: bool,
        ivs: &[Block],
        bytes: usize,
        places: impl Fn(usize) -> (*const u8, *mut u8),
    ) {
        use crate::work::BATCH_UNITS_MAX;
        let unit = |(index, iv)| {
            let (source, destination) = places(index);
            Unit {
                key: &self.key,
                source,
                destination,
                bytes,
                iv,
            }
        };
        let mut slots = [const { MaybeUninit::uninit() }; BATCH_UNITS_MAX];
        let mut all = ivs.iter().enumerate();
        for _ in (0..ivs.len()).step_by(BATCH_UNITS_MAX) {
            let mut count = 0;
            for (slot, one) in slots.iter_mut().zip(all.by_ref()) {
                slot.write(unit(one));
                count += 1;
            }
            // SAFETY: that many slots were written above.
            let units = unsafe { slots[..count].assume_init_mut() };
            // SAFETY: forwarded from the caller.
            unsafe {
                match self.mode {
                    SectorMode::Xts => native::xts(self.set, encrypt, units, false),
                    SectorMode::Cbc if encrypt => native::cbc_encrypt(self.set, units),
                    SectorMode::Cbc => native::parallel(self.set, Mode::Cbc, false, units),
                    SectorMode::Ecb => native::parallel(self.set, Mode::Ecb, encrypt, units),
                    SectorMode::Ctr => native::parallel(self.set, Mode::Ctr, true, units),
                    SectorMode::Pcbc => native::pcbc(self.set, encrypt, units),
                    SectorMode::Lrw => native::lrw(self.set, encrypt, units, self.multiples()),
                }
            }
        }
    }

    fn multiples(&self) -> &Multiples {
        let multiples = self.multiples.as_deref();
        multiples.expect("a key of LRW has them")
    }

    /// One sector after the other, in private memory.
    ///
    /// # Safety
    /// As for [`Self::run_at`].
    #[expect(unsafe_code, reason = "copies from and to the caller's memory")]
    unsafe fn soft(
        &self,
        encrypt: bool,
        ivs: &[Block],
        bytes: usize,
        places: impl Fn(usize) -> (*const u8, *mut u8),
    ) {
        let mut private = Zeroizing::new([0; SECTOR_BYTES_MAX]);
        let private = &mut private[..bytes];
        for (index, iv) in ivs.iter().enumerate() {
            let (source, destination) = places(index);
            // SAFETY: forwarded from the caller; the copy is ours.
            unsafe {
                std::ptr::copy_nonoverlapping(source, private.as_mut_ptr(), bytes);
                self.soft_sector(encrypt, iv, private);
                std::ptr::copy_nonoverlapping(private.as_ptr(), destination, bytes);
            }
        }
    }

    fn soft_sector(&self, encrypt: bool, iv: &Block, sector: &mut [u8]) {
        let keys = self.key.soft();
        let mode = match self.mode {
            SectorMode::Ecb => Mode::Ecb,
            SectorMode::Cbc => Mode::Cbc,
            SectorMode::Ctr => Mode::Ctr,
            SectorMode::Xts => Mode::Xts,
            SectorMode::Pcbc => return keys.pcbc(encrypt, *iv, sector),
            SectorMode::Lrw => {
                let mut far = Far::new(self.multiples());
                let first = u128::from_be_bytes(*iv);
                let masks = (0..).map(|block| far.product(first.wrapping_add(block)).to_ne_bytes());
                return keys.whitened(encrypt, masks, sector);
            }
        };
        keys.chunk(
            Some(mode),
            encrypt,
            &mut { *iv },
            &mut keys.encrypted_tweak(iv),
            sector,
        );
    }
}
