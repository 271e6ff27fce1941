//! AES, each block alone.
//!
//! In the library's interface only one block goes at a time. Its assembly has
//! all of a message at once, eight blocks in flight: that is called where the
//! library would choose AES-NI, and its key schedules are of that form.

use std::ffi::c_int;

use aws_lc_sys as lc;

use super::aes_key::AesKey;
use super::{blocks, chosen};
use crate::check::BLOCK_BYTES;
use crate::work::Work;
use crate::{Instructions, Status};

type AllAtOnce = unsafe extern "C" fn(*const u8, *mut u8, usize, *const lc::AES_KEY, c_int);

#[cfg(target_arch = "x86_64")]
const WITH_AES_INSTRUCTIONS: Option<AllAtOnce> = Some(aes_hw_ecb_encrypt);
#[cfg(not(target_arch = "x86_64"))]
const WITH_AES_INSTRUCTIONS: Option<AllAtOnce> = None;

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    /// Of the library's `aesni-x86_64` assembly; in no public header, hence
    /// held to the known answers.
    #[link_name = concat!(env!("AWS_LC_PREFIX"), "aes_hw_ecb_encrypt")]
    fn aes_hw_ecb_encrypt(
        from: *const u8,
        to: *mut u8,
        bytes: usize,
        key: *const lc::AES_KEY,
        encrypt: c_int,
    );
}

/// Schedules for both directions, and the code that takes all blocks at once.
pub(crate) struct EcbKey {
    encrypting: AesKey,
    decrypting: AesKey,
    all_at_once: Option<AllAtOnce>,
}

impl EcbKey {
    /// `key` has 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8]) -> Option<Self> {
        let (instructions, _) = chosen::aws_lc_chose();
        Some(Self {
            encrypting: AesKey::encrypting(key)?,
            decrypting: AesKey::decrypting(key)?,
            all_at_once: WITH_AES_INSTRUCTIONS.filter(|_| instructions >= Instructions::AesNi),
        })
    }

    /// Encrypts or decrypts whole blocks.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `bytes`; the same or apart.
    pub(crate) unsafe fn blocks(&self, encrypt: bool, from: *const u8, to: *mut u8, bytes: usize) {
        let key = self.schedule(encrypt).as_ptr();
        if let Some(all_at_once) = self.all_at_once {
            // SAFETY: the caller's; the schedule matches direction and code.
            unsafe { all_at_once(from, to, bytes, key, c_int::from(encrypt)) };
            return;
        }
        let one = if encrypt {
            lc::AES_encrypt
        } else {
            lc::AES_decrypt
        };
        for at in (0..bytes).step_by(BLOCK_BYTES) {
            // SAFETY: a whole block within both runs; the schedule matches.
            unsafe { one(from.wrapping_add(at), to.wrapping_add(at), key) };
        }
    }

    fn schedule(&self, encrypt: bool) -> &AesKey {
        if encrypt {
            &self.encrypting
        } else {
            &self.decrypting
        }
    }
}

/// Encrypts or decrypts a message of whole blocks.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(key: &EcbKey, encrypt: bool, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller; the checks let only whole blocks
    // through, and `each` gives what is the same or apart.
    unsafe { blocks::each(work, |from, to, bytes| key.blocks(encrypt, from, to, bytes)) };
    Status::Ok
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ways through the library, over more blocks than go at once.
    #[test]
    fn one_block_at_a_time_gives_the_same() {
        let text: Vec<u8> = (0..21 * BLOCK_BYTES).map(|i| (i * 7) as u8).collect();
        for key_bytes in [16, 24, 32] {
            let mut key = EcbKey::new(&vec![0x51; key_bytes]).expect("a good key");
            for encrypt in [true, false] {
                let results = [None, key.all_at_once].map(|code| {
                    key.all_at_once = code;
                    let mut out = vec![0; text.len()];
                    // SAFETY: both are as long as said.
                    unsafe { key.blocks(encrypt, text.as_ptr(), out.as_mut_ptr(), text.len()) };
                    out
                });
                assert_eq!(results[0], results[1], "{key_bytes} {encrypt}");
            }
        }
    }
}
