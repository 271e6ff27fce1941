//! AES in cipher block chaining mode.

use aws_lc_sys as lc;

use super::aes_key::AesKey;
use super::blocks;
use crate::Status;
use crate::check::BLOCK_BYTES;
use crate::work::Work;

pub(super) struct CbcKey {
    encrypting: AesKey,
    decrypting: AesKey,
}

impl CbcKey {
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        Some(Self {
            encrypting: AesKey::encrypting(key)?,
            decrypting: AesKey::decrypting(key)?,
        })
    }
}

struct Chain<'k> {
    key: &'k AesKey,
    direction: i32,
    iv: [u8; BLOCK_BYTES],
}

impl Chain<'_> {
    /// Encrypts or decrypts whole blocks and keeps the last for the next call.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes`; the same or apart.
    unsafe fn blocks(&mut self, from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the schedule matches the direction; the rest is the caller's.
        unsafe {
            lc::AES_cbc_encrypt(
                from,
                to,
                bytes,
                self.key.as_ptr(),
                self.iv.as_mut_ptr(),
                self.direction,
            );
        }
    }
}

/// Encrypts or decrypts a message of whole blocks.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(key: &CbcKey, encrypt: bool, work: &Work<'_>) -> Status {
    let mut chain = if encrypt {
        Chain {
            key: &key.encrypting,
            direction: lc::AES_ENCRYPT,
            iv: *work.iv,
        }
    } else {
        Chain {
            key: &key.decrypting,
            direction: lc::AES_DECRYPT,
            iv: *work.iv,
        }
    };
    // SAFETY: forwarded from the caller; the checks let only whole blocks
    // through, and `each` gives what is the same or apart.
    unsafe { blocks::each(work, |from, to, bytes| chain.blocks(from, to, bytes)) };
    Status::Ok
}
