//! Lockgate's own: AES in ECB, CBC, CTR, GCM and XTS on registers of one, two or
//! four blocks; and for runs of sectors LRW and PCBC besides.
//!
//! One small design is written once over [`native`]'s `Lanes` and compiled for
//! every set of instructions; [`soft`] is its twin for CPUs without AES.
//! Nothing here branches on, or looks up by, a secret.

#![allow(unsafe_code, reason = "SIMD over raw segments")]

pub(crate) mod ceiling;
pub(crate) mod cipher;
#[cfg(target_arch = "x86_64")]
mod gcm;
mod key;
mod multiples;
#[cfg(target_arch = "x86_64")]
mod native;
#[cfg(target_arch = "x86_64")]
mod packets;
pub(crate) mod sectors;
mod soft;
mod soft_hash;
#[cfg(test)]
pub(crate) mod tests;

use cipher::SectorCipher;
use key::KernelKey;

use crate::packets::composed;
#[cfg(target_arch = "x86_64")]
use crate::stack::wipe_below;
#[cfg(target_arch = "x86_64")]
use crate::tweak::times_x;
use crate::work::{self, Unit, Work};
use crate::{
    Algorithm, Backend, Between, Chaining, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status,
};
use crate::{Instructions, aws_lc_chose, check, counter_after, instructions};

pub(crate) const NAME: &str = "kernels";

pub(crate) struct Kernels {
    set: Instructions,
}

impl Kernels {
    pub fn new() -> Self {
        Self {
            set: instructions(),
        }
    }

    /// Packets with AES need a key of their own kind where there are instructions.
    fn has(algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Packets(packets) => Self::has(packets.aead()),
            _ => Mode::of(algorithm).is_some(),
        }
    }

    fn is_native(&self) -> bool {
        cfg!(target_arch = "x86_64") && self.set > Instructions::Baseline
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
    Ctr,
    Gcm,
    Xts,
}

impl Mode {
    fn of(algorithm: Algorithm) -> Option<Self> {
        use Algorithm as A;
        Some(match algorithm {
            A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb => Self::Ecb,
            A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc => Self::Cbc,
            A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr => Self::Ctr,
            A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm => Self::Gcm,
            A::Aes128Xts | A::Aes256Xts => Self::Xts,
            _ => return None,
        })
    }
}

impl Backend for Kernels {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> String {
        format!("lockgate {}", env!("CARGO_PKG_VERSION"))
    }

    fn instructions(&self) -> String {
        match self.set {
            // The twin's blocks are AWS-LC's.
            Instructions::Baseline => aws_lc_chose().0.to_string(),
            Instructions::Avx2 => Instructions::Avx.to_string(),
            set => set.to_string(),
        }
    }

    fn supports(&self, kind: Kind) -> bool {
        let algorithm = kind.algorithm;
        check::exists(kind) && (algorithm.is_sectors() || Self::has(algorithm))
    }

    fn width(&self, kind: Kind) -> usize {
        let is_chain = Mode::of(kind.algorithm) == Some(Mode::Cbc);
        if !is_chain || kind.operation != Operation::Encrypt {
            return 1;
        }
        match self.set {
            Instructions::Baseline => 1,
            Instructions::Avx512 => 32,
            Instructions::Vaes => 16,
            _ => 8,
        }
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        if let Algorithm::Sectors(sectors) = algorithm {
            let key = material.expose_for(algorithm)?;
            Ok(Box::new(SectorCipher::with(self.set, sectors, key)?))
        } else if let Algorithm::Packets(suite) = algorithm
            && Self::has(algorithm)
        {
            #[cfg(target_arch = "x86_64")]
            if self.is_native() {
                return packets::key(suite, material);
            }
            composed::key(self, suite, material)
        } else if Self::has(algorithm) {
            Ok(Box::new(KernelKey::new(self.set, algorithm, material)?))
        } else {
            Err(KeyError::Unsupported {
                backend: NAME,
                algorithm,
            })
        }
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        if !self.supports(kind) {
            assert_eq!(jobs.len(), statuses.len(), "one status for each job");
            return statuses.fill(Status::Unsupported);
        }
        // SAFETY: the caller vouches for every segment of every job, which is
        // what these ask for; the CPU has the set, since it was detected.
        unsafe {
            if kind.algorithm.is_sectors() {
                return cipher::process(kind, jobs, statuses);
            }
            let is_packets = matches!(kind.algorithm, Algorithm::Packets(_));
            #[cfg(target_arch = "x86_64")]
            if self.is_native() {
                if is_packets {
                    return packets::process(self.set, kind, jobs, statuses);
                }
                if Mode::of(kind.algorithm) == Some(Mode::Gcm) {
                    return gcm::process(self.set, kind, jobs, statuses);
                }
                return native_process(self.set, kind, jobs, statuses);
            }
            if is_packets {
                return composed::process(self, kind, jobs, statuses);
            }
            let encrypt = kind.operation == Operation::Encrypt;
            let mode = Mode::of(kind.algorithm);
            work::each(kind, jobs, statuses, |key: &KernelKey, work| {
                let soft = key.soft();
                if mode == Some(Mode::Gcm) {
                    return soft.gcm(encrypt, work);
                }
                soft.run(mode, encrypt, work, &mut soft.encrypted_tweak(work.iv))
            });
        }
    }

    fn continues(&self, kind: Kind) -> bool {
        let mode = Mode::of(kind.algorithm).filter(|_| kind.chaining() == Some(Chaining::Kept));
        mode == Some(Mode::Xts) || mode == Some(Mode::Gcm) && self.is_native()
    }

    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        if !self.continues(kind) {
            return Status::Unsupported;
        }
        let encrypt = kind.operation == Operation::Encrypt;
        // SAFETY: as in `process`; the tweak is our own, zeroed or what was left here.
        unsafe {
            work::piece(
                kind,
                job,
                between,
                is_last,
                |key: &KernelKey, work, between| {
                    #[cfg(target_arch = "x86_64")]
                    if Mode::of(kind.algorithm) == Some(Mode::Gcm) {
                        return gcm::piece(self.set, key, work, between, is_last);
                    }
                    let (tweak, is_first) = between.state::<u128>();
                    #[cfg(target_arch = "x86_64")]
                    if self.set > Instructions::Baseline {
                        if is_first {
                            *tweak = u128::from_le_bytes(native::xts_tweak(key.native(), work.iv));
                        }
                        xts_piece(self.set, key, encrypt, work, &mut *tweak);
                        return Status::Ok;
                    }
                    if is_first {
                        *tweak = key.soft().encrypted_tweak(work.iv);
                    }
                    key.soft().run(Some(Mode::Xts), encrypt, work, &mut *tweak)
                },
            )
        }
    }
}

/// A piece of a data unit, whose encrypted tweak is `tweak`: that of the next piece
/// afterwards.
///
/// # Safety
/// As for [`native_process`].
#[cfg(target_arch = "x86_64")]
unsafe fn xts_piece(
    set: Instructions,
    key: &KernelKey,
    encrypt: bool,
    work: &Work<'_>,
    tweak: &mut u128,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        let Some((source, destination)) = work.contiguous() else {
            return xts_scattered(key, encrypt, work, tweak);
        };
        let unit = Unit {
            key,
            source: source.address,
            destination: destination.address,
            bytes: source.len,
            iv: &tweak.to_le_bytes(),
        };
        native::xts(set, encrypt, &[unit], true);
        *tweak = times_x(*tweak, source.len / check::BLOCK_BYTES);
    }
}

/// # Safety
/// As for [`Backend::process`]; the CPU has `set`, which has AES-NI.
#[cfg(target_arch = "x86_64")]
unsafe fn native_process(set: Instructions, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
    let encrypt = kind.operation == Operation::Encrypt;
    let mode = Mode::of(kind.algorithm);
    let together = |units: &mut [Unit<'_, KernelKey>]| {
        // SAFETY: forwarded from the caller; the units have been checked.
        unsafe {
            match mode {
                Some(Mode::Xts) => native::xts(set, encrypt, units, false),
                Some(Mode::Cbc) if encrypt => native::cbc_encrypt(set, units),
                Some(mode) => native::parallel(set, mode, encrypt, units),
                None => unreachable!("a kind that the kernels have"),
            }
        }
    };
    let alone = |key: &KernelKey, work: &Work<'_>| {
        // SAFETY: as above.
        unsafe {
            if mode == Some(Mode::Xts) {
                let mut tweak = u128::from_le_bytes(native::xts_tweak(key.native(), work.iv));
                xts_scattered(key, encrypt, work, &mut tweak);
            } else {
                scattered(kind, key, work);
            }
        }
        Status::Ok
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, Unit::new, together, alone) };
}

/// # Safety
/// As for [`native_process`].
#[cfg(target_arch = "x86_64")]
unsafe fn xts_scattered(key: &KernelKey, encrypt: bool, work: &Work<'_>, tweak: &mut u128) {
    let keys = key.native();
    // SAFETY: forwarded from the caller; chunks are our own memory.
    unsafe {
        soft::by_chunks(work, |chunk| {
            let begin = tweak.to_le_bytes();
            native::xts_chunk(keys, encrypt, &begin, chunk.as_mut_ptr(), chunk.len());
            wipe_below::<{ native::XTS_STACK_KIB }>();
            *tweak = times_x(*tweak, chunk.len() / check::BLOCK_BYTES);
        });
    }
}

/// # Safety
/// As for [`native_process`].
#[cfg(target_arch = "x86_64")]
unsafe fn scattered(kind: Kind, key: &KernelKey, work: &Work<'_>) {
    let mode = Mode::of(kind.algorithm).expect("a kind that the kernels have");
    let encrypt = kind.operation == Operation::Encrypt;
    // A copy of ciphertext at most, never of text.
    let (mut iv, mut later) = (*work.iv, [0; check::BLOCK_BYTES]);
    // SAFETY: forwarded from the caller; chunks are our own memory.
    unsafe {
        soft::by_chunks(work, |chunk| {
            let last = |chunk: &[u8]| chunk.last_chunk().copied().unwrap_or_default();
            if mode == Mode::Cbc && !encrypt {
                later = last(chunk);
            }
            let (at, bytes) = (chunk.as_mut_ptr(), chunk.len());
            let unit = Unit {
                key,
                source: at,
                destination: at,
                bytes,
                iv: &iv,
            };
            if mode == Mode::Cbc && encrypt {
                native::cbc_encrypt(Instructions::AesNi, &mut [unit]);
            } else {
                native::parallel(Instructions::AesNi, mode, encrypt, &[unit]);
            }
            iv = match mode {
                Mode::Ctr => counter_after(iv, bytes),
                Mode::Cbc if encrypt => last(chunk),
                _ => later,
            };
        });
    }
}
