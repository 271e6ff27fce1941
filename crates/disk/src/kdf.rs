//! From a passphrase to the key of a key slot, within bounds that are checked before
//! anything is allocated or computed.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::{Zeroize, Zeroizing};

use crate::hash::Hash;

/// About a minute of one core; cryptsetup's benchmark chooses two seconds.
pub const PBKDF2_ITERATIONS_MAX: u32 = 200_000_000;
/// What cryptsetup itself refuses to exceed: 4 GiB.
pub const ARGON2_MEMORY_KIB_MAX: u32 = 4 << 20;
/// Passes times memory: half a minute of one core.
pub const ARGON2_WORK_KIB_MAX: u64 = 64 << 20;
/// As the LUKS2 format has it.
pub const ARGON2_LANES_MAX: u32 = 4;
/// A salt is 32 bytes as cryptsetup makes it.
pub const SALT_BYTES_MAX: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Argon2i,
    Argon2id,
}

/// How a passphrase becomes a key; the costs are within the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kdf {
    pub cost: Cost,
    salt: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    Pbkdf2 {
        hash: Hash,
        iterations: u32,
    },
    /// RFC 9106.
    Argon2 {
        variant: Variant,
        passes: u32,
        memory_kib: u32,
        lanes: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KdfError {
    #[error(
        "the key slot asks for {asked} {what}; this program takes {least} to {most}: open it with cryptsetup, or add a key slot with lower costs"
    )]
    Cost {
        what: &'static str,
        asked: u64,
        least: u64,
        most: u64,
    },
    #[error(
        "the key slot takes {memory_kib} KiB for Argon2, and {available_kib} KiB are available; free memory, or open the image elsewhere"
    )]
    Memory { memory_kib: u32, available_kib: u64 },
    #[error("Argon2 refuses a key of {key_bytes} bytes with a salt of {salt_bytes}")]
    Argon2 { key_bytes: usize, salt_bytes: usize },
}

/// What the kernel could give without swapping (proc(5)): what it gives beyond that, it
/// may take back by ending the process. No limit where it does not say.
fn available_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(u64::MAX)
}

impl Kdf {
    /// # Errors
    /// [`KdfError::Cost`] where a cost is not within the limits of this module.
    pub fn new(cost: Cost, salt: Vec<u8>) -> Result<Self, KdfError> {
        let within = |what, asked: u64, least, most| {
            let is_within = (least..=most).contains(&asked);
            let refused = KdfError::Cost {
                what,
                asked,
                least,
                most,
            };
            is_within.then_some(()).ok_or(refused)
        };
        within("bytes of salt", salt.len() as u64, 1, SALT_BYTES_MAX as u64)?;
        match cost {
            Cost::Pbkdf2 { iterations, .. } => {
                let most = PBKDF2_ITERATIONS_MAX.into();
                within("iterations of PBKDF2", iterations.into(), 1, most)?;
            }
            Cost::Argon2 {
                passes,
                memory_kib,
                lanes,
                ..
            } => {
                within("lanes of Argon2", lanes.into(), 1, ARGON2_LANES_MAX.into())?;
                let least = u64::from(8 * lanes);
                let most = ARGON2_MEMORY_KIB_MAX.into();
                within("KiB for Argon2", memory_kib.into(), least, most)?;
                let most = ARGON2_WORK_KIB_MAX / u64::from(memory_kib);
                within("passes of Argon2", passes.into(), 1, most)?;
            }
        }
        Ok(Self { cost, salt })
    }

    /// # Errors
    /// [`KdfError`] where the memory cannot be had.
    pub fn derive(&self, passphrase: &[u8], bytes: usize) -> Result<Zeroizing<Vec<u8>>, KdfError> {
        let mut key = Zeroizing::new(vec![0; bytes]);
        match self.cost {
            Cost::Pbkdf2 { hash, iterations } => {
                hash.pbkdf2(passphrase, &self.salt, iterations, &mut key);
            }
            Cost::Argon2 {
                variant,
                passes,
                memory_kib,
                lanes,
            } => {
                let refused = |_| KdfError::Argon2 {
                    key_bytes: bytes,
                    salt_bytes: self.salt.len(),
                };
                let params =
                    Params::new(memory_kib, passes, lanes, Some(bytes)).map_err(refused)?;
                let available_kib = available_kib();
                if u64::from(memory_kib) > available_kib {
                    return Err(KdfError::Memory {
                        memory_kib,
                        available_kib,
                    });
                }
                let mut memory = vec![Block::default(); params.block_count()];
                let algorithm = match variant {
                    Variant::Argon2i => Algorithm::Argon2i,
                    Variant::Argon2id => Algorithm::Argon2id,
                };
                let argon2 = Argon2::new(algorithm, Version::V0x13, params);
                let done = argon2.hash_password_into_with_memory(
                    passphrase,
                    &self.salt,
                    &mut key,
                    &mut memory,
                );
                memory.iter_mut().for_each(Zeroize::zeroize);
                done.map_err(refused)?;
            }
        }
        Ok(key)
    }
}
