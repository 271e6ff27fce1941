//! A key as the library wants it, and the same for AWS-LC, to which go the
//! jobs that the library does not take.

use zeroize::{Zeroize, Zeroizing};

use super::NAME;
use super::calls::Calls;
use super::layout::GcmKeyData;
use super::memory::Memory;
use crate::aws_lc::AwsLc;
use crate::work::{OwnKey, Work};
use crate::{Algorithm, Backend, Job, Key, KeyError, KeyMaterial, Kind, Operation, Segment};
use crate::{Segments, Status};

/// Where the schedule for decrypting begins; that for encrypting is first.
const DECRYPTING: usize = 256;
const SCHEDULES: usize = 512;
/// Where the state after HMAC's outer pad begins; that of the inner is first.
const OUTER: usize = 64;
/// Bytes of a block of SHA-256.
const HASH_BLOCK: usize = 64;

pub(super) struct IpsecKey {
    algorithm: Algorithm,
    operations: u8,
    expanded: Memory,
    /// 0, 1 or 2 for 128, 192 or 256 bits.
    pub(super) size: usize,
    spare: Box<dyn Key>,
}

impl IpsecKey {
    /// For the operations whose bits are set in `operations`.
    pub(super) fn new(
        calls: &Calls,
        algorithm: Algorithm,
        material: &KeyMaterial,
        operations: u8,
    ) -> Result<Self, KeyError> {
        let bytes = material.expose_for(algorithm)?;
        let size = (bytes.len() / 8).saturating_sub(2).min(2);
        let failed = KeyError::Backend {
            backend: NAME,
            algorithm,
        };
        Ok(Self {
            algorithm,
            operations,
            expanded: expanded(calls, algorithm, bytes, size).ok_or(failed)?,
            size,
            spare: AwsLc.key(algorithm, material)?,
        })
    }

    #[inline]
    pub(super) fn allows(&self, operation: Operation) -> bool {
        self.operations & 1 << operation as u8 != 0
    }

    /// The schedule for encrypting blocks, or the bytes of a key that needs none.
    #[inline]
    pub(super) fn encrypting(&self) -> *const u8 {
        self.expanded.start()
    }

    #[inline]
    pub(super) fn decrypting(&self) -> *const u8 {
        self.expanded.start().wrapping_add(DECRYPTING)
    }

    #[inline]
    pub(super) fn gcm(&self) -> *const GcmKeyData {
        self.expanded.start().cast()
    }

    /// States of SHA-256 after HMAC's inner and outer pad.
    #[inline]
    pub(super) fn hmac(&self) -> [*const u8; 2] {
        [
            self.expanded.start(),
            self.expanded.start().wrapping_add(OUTER),
        ]
    }

    pub(super) fn spare_key(&self) -> &dyn Key {
        &*self.spare
    }

    /// Runs a job with AWS-LC.
    ///
    /// # Safety
    /// The segments of `work` are readable, those that the operation writes
    /// writable.
    #[inline(never)]
    pub(super) unsafe fn spare(&self, operation: Operation, work: &Work<'_>) -> Status {
        let kind = Kind::new(self.algorithm, operation);
        let job = Job {
            key: &*self.spare,
            source: listed(work.source),
            destination: listed(work.destination),
            iv: *work.iv,
            aad: work.aad,
            tag: work.tag,
        };
        let mut status = [Status::BackendFailed];
        // SAFETY: forwarded from the caller; the lists outlive the call.
        unsafe { AwsLc.process(kind, &[job], &mut status) };
        status[0]
    }
}

/// A list as a job has it; lists have at most 1024 segments after the first.
fn listed(list: &[Segment]) -> Segments {
    let (first, rest) = list
        .split_first()
        .map_or((Segment::EMPTY, list), |(first, rest)| (*first, rest));
    Segments {
        first,
        rest: rest.as_ptr(),
        rest_count: u32::try_from(rest.len()).unwrap_or(u32::MAX),
    }
}

/// `None` without memory.
fn expanded(calls: &Calls, algorithm: Algorithm, key: &[u8], size: usize) -> Option<Memory> {
    match algorithm {
        Algorithm::HmacSha256 => hmac(calls, key),
        Algorithm::ChaCha20Poly1305 => {
            let memory = Memory::new(key.len())?;
            // SAFETY: the memory has as many bytes and is new.
            unsafe {
                memory
                    .start()
                    .copy_from_nonoverlapping(key.as_ptr(), key.len())
            };
            Some(memory)
        }
        _ if key.is_empty() => Memory::new(1),
        _ if algorithm.is_aead() => {
            let memory = Memory::new(size_of::<GcmKeyData>())?;
            // SAFETY: the key has the bytes of its size, the memory room for
            // what any version writes.
            unsafe { (calls.gcm[size].prepare)(key.as_ptr(), memory.start().cast()) };
            Some(memory)
        }
        _ => {
            let memory = Memory::new(SCHEDULES)?;
            let decrypting = memory.start().wrapping_add(DECRYPTING);
            // SAFETY: the key has the bytes of its size; each schedule has at
            // most 240 bytes and room for 256, on a cache line.
            unsafe {
                (calls.expand_key[size])(key.as_ptr(), memory.start().cast(), decrypting.cast());
            }
            Some(memory)
        }
    }
}

/// The states that every code of this key begins with (RFC 2104).
fn hmac(calls: &Calls, key: &[u8]) -> Option<Memory> {
    let mut block = Zeroizing::new([0; HASH_BLOCK]);
    if key.len() > HASH_BLOCK {
        // SAFETY: reads the key, writes 32 bytes, for which the block has room.
        unsafe { aws_lc_sys::SHA256(key.as_ptr(), key.len(), block.as_mut_ptr()) };
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let memory = Memory::new(2 * OUTER)?;
    for (at, pad) in [(0, 0x36), (OUTER, 0x5c)] {
        let mut padded = block.map(|byte| byte ^ pad);
        // SAFETY: reads a block, writes a state of 32 bytes.
        unsafe {
            (calls.sha256_one_block)(padded.as_ptr(), memory.start().wrapping_add(at).cast());
        }
        padded.zeroize();
    }
    Some(memory)
}

impl OwnKey for IpsecKey {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
