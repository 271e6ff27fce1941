//! Lockgate's own: AES in XTS on registers of one, two or four blocks.
//!
//! One small design is written once over [`native`]'s `Lanes` and compiled for
//! every set of instructions; [`soft`] is its twin for CPUs without AES.
//! Nothing here branches on, or looks up by, a secret.

#![allow(unsafe_code, reason = "SIMD over raw segments")]

pub(crate) mod ceiling;
mod key;
#[cfg(target_arch = "x86_64")]
mod native;
mod soft;
#[cfg(test)]
mod tests;
mod tweak;

use key::KernelKey;

use crate::work::{self, Unit, Work};
use crate::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Operation, Status};
use crate::{Instructions, check, instructions};

/// The name in flags and reports.
pub(crate) const NAME: &str = "kernels";

/// The back-end, with the instructions that it uses.
pub(crate) struct Kernels {
    set: Instructions,
}

impl Kernels {
    /// With the instructions that may be used.
    pub fn new() -> Self {
        Self {
            set: instructions(),
        }
    }
}

fn is_xts(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Aes128Xts | Algorithm::Aes256Xts)
}

fn is_cbc(algorithm: Algorithm) -> bool {
    use Algorithm::{Aes128Cbc, Aes192Cbc, Aes256Cbc};
    matches!(algorithm, Aes128Cbc | Aes192Cbc | Aes256Cbc)
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
            // The twin's blocks come from a crate that looks for itself.
            Instructions::Baseline => "as the aes crate chooses".to_owned(),
            Instructions::Avx2 => Instructions::Avx.to_string(),
            set => set.to_string(),
        }
    }

    fn supports(&self, kind: Kind) -> bool {
        let cbc = is_cbc(kind.algorithm) && kind.operation == Operation::Encrypt;
        check::exists(kind) && (cbc || is_xts(kind.algorithm))
    }

    fn width(&self, kind: Kind) -> usize {
        if is_xts(kind.algorithm) {
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
        if is_xts(algorithm) || is_cbc(algorithm) {
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
            #[cfg(target_arch = "x86_64")]
            if self.set > Instructions::Baseline {
                return native_process(self.set, kind, jobs, statuses);
            }
            let encrypt = kind.operation == Operation::Encrypt;
            work::each(kind, jobs, statuses, |key: &KernelKey, work| {
                key.soft().run(encrypt, work)
            });
        }
    }
}

/// # Safety
/// As for [`Backend::process`]; the CPU has `set`, which has AES-NI.
#[cfg(target_arch = "x86_64")]
unsafe fn native_process(set: Instructions, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
    let encrypt = kind.operation == Operation::Encrypt;
    let together = |units: &mut [Unit<'_, KernelKey>]| {
        // SAFETY: forwarded from the caller; the units have been checked.
        unsafe {
            if is_xts(kind.algorithm) {
                native::xts(set, encrypt, units);
            } else {
                native::cbc_encrypt(set, units);
            }
        }
    };
    let alone = |key: &KernelKey, work: &Work<'_>| {
        // SAFETY: as above.
        unsafe {
            if is_xts(kind.algorithm) {
                xts_scattered(key, encrypt, work);
            } else {
                cbc_scattered(key, work);
            }
        }
        Status::Ok
    };
    // SAFETY: forwarded from the caller.
    unsafe { work::batches(kind, jobs, statuses, together, alone) };
}

/// # Safety
/// As for [`native_process`].
#[cfg(target_arch = "x86_64")]
unsafe fn xts_scattered(key: &KernelKey, encrypt: bool, work: &Work<'_>) {
    let keys = key.native();
    // SAFETY: forwarded from the caller; chunks are our own memory.
    unsafe {
        let mut tweak = native::xts_tweak(keys, work.iv);
        soft::by_chunks(work, |chunk| {
            native::xts_chunk(keys, encrypt, &tweak, chunk.as_mut_ptr(), chunk.len());
            let blocks = chunk.len() / check::BLOCK_BYTES;
            tweak = tweak::times_x(u128::from_le_bytes(tweak), blocks).to_le_bytes();
        });
    }
}

/// # Safety
/// As for [`native_process`].
#[cfg(target_arch = "x86_64")]
unsafe fn cbc_scattered(key: &KernelKey, work: &Work<'_>) {
    let mut iv = *work.iv;
    // SAFETY: forwarded from the caller; chunks are our own memory.
    unsafe {
        soft::by_chunks(work, |chunk| {
            let at = chunk.as_mut_ptr();
            let unit = Unit {
                key,
                source: at,
                destination: at,
                bytes: chunk.len(),
                iv: &iv,
            };
            native::cbc_encrypt(Instructions::AesNi, &mut [unit]);
            iv = *chunk.last_chunk().expect("a block at least");
        });
    }
}
