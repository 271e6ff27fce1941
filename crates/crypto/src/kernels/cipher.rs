//! Runs of sectors with a key and their numbers: jobs of [`Algorithm::Sectors`], and
//! slices.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::sectors::SectorKey;
use crate::scatter::Cursor;
use crate::sectors::SECTOR_BYTES_MAX;
use crate::stack::wipe_below;
use crate::work::{self, OwnKey, Unit, Work};
use crate::{
    Algorithm, Instructions, Job, KeyError, Kind, Operation, SectorMode, Sectors, Status,
    instructions,
};

/// Sectors that are done together: blocks of IVs enough to fill every lane.
const TOGETHER: usize = 128;
/// Blocks of one text of the IVs' cipher.
const TEXT_BLOCKS: usize = 32;
/// What hashing a key uses of the stack, at most.
const STACK_KIB: usize = 4;

/// A key for sectors, and how they are numbered. Zeroised on drop.
pub struct SectorCipher {
    sectors: Sectors,
    key: SectorKey,
    /// Of ESSIV.
    iv_key: Option<SectorKey>,
}

impl SectorCipher {
    /// # Errors
    /// [`KeyError::SectorKey`] for a key that is not as long as `sectors` says.
    pub fn new(sectors: Sectors, key: &[u8]) -> Result<Self, KeyError> {
        Self::with(instructions(), sectors, key)
    }

    /// As [`Self::new`] with instructions that the CPU has.
    pub(super) fn with(set: Instructions, sectors: Sectors, key: &[u8]) -> Result<Self, KeyError> {
        let (mode, got) = (sectors.mode(), key.len());
        if got != sectors.key_bytes() {
            return Err(KeyError::SectorKey { mode, got });
        }
        let hashed = |key| Zeroizing::new(<[u8; 32]>::from(Sha256::digest(key)));
        let of_iv = |key| SectorKey::with(set, SectorMode::Ecb, &*hashed(key));
        let iv_key = sectors.is_essiv().then(|| of_iv(key)).transpose()?;
        wipe_below::<STACK_KIB>();
        Ok(Self {
            sectors,
            key: SectorKey::with(set, mode, key)?,
            iv_key,
        })
    }

    /// See [`Sectors::numbered_large`].
    #[must_use]
    pub fn numbered_large(mut self, is_numbered_large: bool) -> Self {
        self.sectors = self.sectors.numbered_large(is_numbered_large);
        self
    }

    /// The IV of the sector with that number, in units of 512 bytes.
    pub fn iv(&self, number: u64) -> [u8; 16] {
        let mut ivs = [[0; 16]; TEXT_BLOCKS];
        ivs[0] = self.sectors.iv(number);
        if let Some(key) = &self.iv_key {
            key.run(true, &[[0; 16]], ivs.as_flattened_mut());
        }
        ivs[0]
    }

    /// Encrypts (or decrypts) whole sectors in place; the first is number `first`, in
    /// units of 512 bytes. After the last number of 64 bits comes 0.
    ///
    /// # Panics
    /// Unless `data` is whole sectors.
    pub fn run(&self, encrypt: bool, first: u64, data: &mut [u8]) {
        let at = data.as_mut_ptr();
        // SAFETY: the slice is ours, and source and destination the same bytes.
        unsafe { self.run_at(encrypt, first, data.len(), (at, at)) };
    }

    /// As [`Self::run`], from one place to another.
    ///
    /// # Panics
    /// Unless both are whole sectors, and as many.
    pub fn run_to(&self, encrypt: bool, first: u64, from: &[u8], to: &mut [u8]) {
        assert_eq!(from.len(), to.len(), "as many sectors");
        // SAFETY: the slices are apart and as long.
        unsafe { self.run_at(encrypt, first, from.len(), (from.as_ptr(), to.as_mut_ptr())) };
    }

    /// # Safety
    /// As for [`Together::add`], for that many bytes.
    unsafe fn run_at(&self, encrypt: bool, first: u64, bytes: usize, places: Place) {
        let sector_bytes = self.sectors.sector_bytes();
        assert!(bytes.is_multiple_of(sector_bytes), "whole sectors");
        let mut together = Together::new(encrypt);
        // SAFETY: forwarded from the caller.
        unsafe {
            together.add(self, first, bytes / sector_bytes, places);
            together.finish();
        }
    }

    /// Sector after sector of two lists; one that straddles segments in private memory.
    ///
    /// # Safety
    /// As for [`crate::Backend::process`]; the job was checked.
    unsafe fn run_lists(&self, encrypt: bool, work: &Work<'_>) {
        let bytes = self.sectors.sector_bytes();
        let mut number = first(self.sectors, work.iv, work.source_bytes);
        let (mut from, mut to) = (Cursor::new(work.source), Cursor::new(work.destination));
        let mut together = Together::new(encrypt);
        let mut private = Zeroizing::new([0; SECTOR_BYTES_MAX]);
        let private = &mut private[..bytes];
        let mut left = work.source_bytes / bytes;
        while left > 0 {
            let ((source, source_bytes), (destination, destination_bytes)) = (from.run(), to.run());
            let whole = source_bytes.min(destination_bytes) / bytes;
            // SAFETY: forwarded from the caller; `private` is ours.
            unsafe {
                if whole > 0 {
                    together.add(self, number, whole, (source, destination));
                    from.advance(whole * bytes);
                    to.advance(whole * bytes);
                } else {
                    from.gather(private.as_mut_ptr(), bytes);
                    self.run(encrypt, number, private);
                    to.scatter(private.as_ptr(), bytes);
                }
            }
            left -= whole.max(1);
            number = number.wrapping_add(self.sectors.step() * whole.max(1) as u64);
        }
        // SAFETY: as above.
        unsafe { together.finish() };
    }
}

impl OwnKey for SectorCipher {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Sectors(self.sectors)
    }
}

fn first(sectors: Sectors, job_iv: &[u8; 16], bytes: usize) -> u64 {
    let first = sectors.first(job_iv, bytes);
    first.expect("the job was checked")
}

/// Jobs of [`Algorithm::Sectors`].
///
/// # Safety
/// As for [`crate::Backend::process`].
pub(super) unsafe fn process(kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
    let encrypt = kind.operation == Operation::Encrypt;
    let together = |units: &mut [Unit<'_, SectorCipher>]| {
        let mut together = Together::new(encrypt);
        for unit in units {
            let (cipher, sectors) = (unit.key, unit.key.sectors);
            let count = unit.bytes / sectors.sector_bytes();
            let number = first(sectors, unit.iv, unit.bytes);
            // SAFETY: forwarded from the caller; the units have been checked.
            unsafe { together.add(cipher, number, count, (unit.source, unit.destination)) };
        }
        // SAFETY: as above.
        unsafe { together.finish() };
    };
    let alone = |cipher: &SectorCipher, work: &Work<'_>| {
        // SAFETY: as above.
        unsafe { cipher.run_lists(encrypt, work) };
        Status::Ok
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, Unit::new, together, alone) };
}

type Place = (*const u8, *mut u8);

/// Sectors with one key, wherever they lie, that are yet to be done.
struct Together<'c> {
    encrypt: bool,
    cipher: Option<&'c SectorCipher>,
    count: usize,
    ivs: [[u8; 16]; TOGETHER],
    places: [Place; TOGETHER],
}

impl<'c> Together<'c> {
    fn new(encrypt: bool) -> Self {
        Self {
            encrypt,
            cipher: None,
            count: 0,
            ivs: [[0; 16]; TOGETHER],
            places: [(std::ptr::null(), std::ptr::null_mut()); TOGETHER],
        }
    }

    /// # Safety
    /// Until [`finish`](Self::finish) returns, that many sectors are readable and writable
    /// at their places: each the same bytes, or apart from all.
    unsafe fn add(
        &mut self,
        cipher: &'c SectorCipher,
        mut number: u64,
        count: usize,
        (source, destination): Place,
    ) {
        let (sectors, bytes) = (cipher.sectors, cipher.sectors.sector_bytes());
        let mut done = 0;
        while done < count {
            let is_other = self.cipher.is_some_and(|own| !std::ptr::eq(own, cipher));
            if is_other || self.count == TOGETHER {
                // SAFETY: forwarded from the caller.
                unsafe { self.finish() };
            }
            self.cipher = Some(cipher);
            let free = self.count..TOGETHER.min(self.count + count - done);
            let places = self.places[free.clone()].iter_mut();
            for (iv, place) in self.ivs[free.clone()].iter_mut().zip(places) {
                let at = done * bytes;
                *iv = sectors.iv(number);
                *place = (source.wrapping_add(at), destination.wrapping_add(at));
                number = number.wrapping_add(sectors.step());
                done += 1;
            }
            self.count = free.end;
        }
    }

    /// Does them.
    ///
    /// # Safety
    /// As for [`Self::add`].
    unsafe fn finish(&mut self) {
        let Some(cipher) = self.cipher.take() else {
            return;
        };
        let count = std::mem::take(&mut self.count);
        if let Some(key) = &cipher.iv_key {
            // ECB minds no borders: whole texts, of which a part is of no use.
            let texts = count.div_ceil(TEXT_BLOCKS);
            let blocks = self.ivs[..texts * TEXT_BLOCKS].as_flattened_mut();
            key.run(true, &[[0; 16]; TOGETHER / TEXT_BLOCKS][..texts], blocks);
        }
        let (ivs, bytes) = (&self.ivs[..count], cipher.sectors.sector_bytes());
        // SAFETY: forwarded from the caller.
        unsafe {
            let place = |index: usize| self.places[index];
            cipher.key.run_at(self.encrypt, ivs, bytes, place);
        }
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        // ESSIV's tell something of the key. Byte by byte, as slices are wiped, it takes
        // longer than a page's encryption.
        self.ivs = [[0; 16]; TOGETHER];
        zeroize::optimization_barrier(&self.ivs);
    }
}
