//! A key expanded for the kernels.

use super::NAME;
#[cfg(target_arch = "x86_64")]
use super::native::NativeKeys;
use super::soft::SoftKeys;
use crate::work::OwnKey;
use crate::{Algorithm, Instructions, KeyError, KeyMaterial};

/// A key and the algorithm it was made for.
pub(crate) struct KernelKey {
    algorithm: Algorithm,
    cipher: Cipher,
}

/// Boxed, so that moving the key leaves no copy behind.
enum Cipher {
    #[cfg(target_arch = "x86_64")]
    Native(Box<NativeKeys>),
    Soft(SoftKeys),
}

impl KernelKey {
    /// Of an algorithm that the kernels have, for a back-end that uses `set`,
    /// which the CPU has.
    pub(super) fn new(
        set: Instructions,
        algorithm: Algorithm,
        material: &KeyMaterial,
    ) -> Result<Self, KeyError> {
        let key = material.expose_for(algorithm)?;
        let cipher = match set {
            #[cfg(target_arch = "x86_64")]
            Instructions::AesNi
            | Instructions::Avx
            | Instructions::Avx2
            | Instructions::Vaes
            | Instructions::Avx512 => {
                // SAFETY: every set from AES-NI on has it, and the CPU has the set.
                Cipher::Native(unsafe { NativeKeys::new(algorithm, key) })
            }
            _ => Cipher::Soft(SoftKeys::new(algorithm, key).ok_or(KeyError::Backend {
                backend: NAME,
                algorithm,
            })?),
        };
        Ok(Self { algorithm, cipher })
    }

    /// Round keys for the instructions.
    ///
    /// # Panics
    /// When the key was made without them: a process has one back-end of this
    /// kind, and it has one set of instructions.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn native(&self) -> &NativeKeys {
        match &self.cipher {
            Cipher::Native(keys) => keys,
            Cipher::Soft(_) => panic!("a key made for no instructions, used with some"),
        }
    }

    /// Round keys for no instructions.
    ///
    /// # Panics
    /// When the key was made for some: as for [`Self::native`].
    pub(super) fn soft(&self) -> &SoftKeys {
        match &self.cipher {
            Cipher::Soft(keys) => keys,
            #[cfg(target_arch = "x86_64")]
            Cipher::Native(_) => panic!("a key made for instructions, used without"),
        }
    }
}

impl OwnKey for KernelKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
