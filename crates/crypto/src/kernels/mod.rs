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

fn has(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Aes128Xts | Algorithm::Aes256Xts)
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
        check::exists(kind) && has(kind.algorithm)
    }

    fn width(&self, _kind: Kind) -> usize {
        1
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        if has(algorithm) {
            Ok(Box::new(KernelKey::new(self.set, algorithm, material)?))
        } else {
            Err(KeyError::Unsupported {
                backend: NAME,
                algorithm,
            })
        }
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
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
        unsafe { native::xts(set, encrypt, units) };
    };
    let alone = |key: &KernelKey, work: &Work<'_>| {
        // SAFETY: as above.
        unsafe { xts_scattered(key, encrypt, work) };
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
