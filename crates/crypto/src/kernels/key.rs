//! A key expanded for the kernels.

#[cfg(target_arch = "x86_64")]
use super::native::NativeKeys;
use super::soft::SoftKeys;
use crate::stack::wipe_below;
use crate::work::OwnKey;
use crate::{Algorithm, Instructions, KeyError, KeyMaterial};

/// What expanding a key uses of the stack, at most.
const STACK_KIB: usize = 4;

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

impl Cipher {
    /// # Panics
    /// When AES has no key of that length.
    fn new(set: Instructions, is_xts: bool, key: &[u8]) -> Self {
        let own = match set {
            #[cfg(target_arch = "x86_64")]
            Instructions::AesNi
            | Instructions::Avx
            | Instructions::Avx2
            | Instructions::Vaes
            | Instructions::Avx512 => {
                // SAFETY: every set from AES-NI on has it, and the CPU has the set.
                Self::Native(unsafe { NativeKeys::new(is_xts, key) })
            }
            _ => Self::Soft(SoftKeys::new(is_xts, key)),
        };
        wipe_below::<STACK_KIB>();
        own
    }
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
        #[allow(unused_mut, reason = "GCM's are made for instructions only")]
        let mut cipher = Cipher::new(set, algorithm.is_xts(), key);
        #[cfg(target_arch = "x86_64")]
        if let Cipher::Native(keys) = &mut cipher
            && algorithm.is_aead()
        {
            // SAFETY: keys are native where the CPU has AES-NI.
            unsafe { super::native::make_powers(keys) };
            wipe_below::<STACK_KIB>();
        }
        Ok(Self { algorithm, cipher })
    }

    /// For sectors, which no job names: of 16, 24 or 32 bytes, or of twice that for XTS.
    pub(super) fn of_sectors(set: Instructions, is_xts: bool, key: &[u8]) -> Self {
        Self {
            algorithm: Algorithm::Aes128Ecb,
            cipher: Cipher::new(set, is_xts, key),
        }
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
