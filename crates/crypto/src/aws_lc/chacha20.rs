//! ChaCha20-Poly1305 (RFC 8439 §2.8).
//!
//! The library's one-pass assembly wants the text in one piece; the cipher
//! context takes pieces, with one pass for each of its two halves.

use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

use super::aead;
use super::cipher::Cipher;
use crate::check::BLOCK_BYTES as TAG_BYTES;
use crate::work::Work;
use crate::{Segment, Status};

const NONCE_BYTES: usize = 12;
/// What the one-pass call takes stays below this; the longest text does not.
const ONE_CALL_BYTES: usize = (1 << 38) - 64;

/// Contexts for text in one piece and in several.
pub(super) struct ChaChaKey {
    whole: Whole,
    pieces: Cipher,
}

/// Owns an `EVP_AEAD_CTX`.
struct Whole(NonNull<lc::EVP_AEAD_CTX>);

// SAFETY: the context belongs to no thread, and this value is its only owner.
unsafe impl Send for Whole {}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again. Wipes the key: the library's
        // `OPENSSL_free` cleanses every block it gives back.
        unsafe { lc::EVP_AEAD_CTX_free(self.0.as_ptr()) };
    }
}

impl ChaChaKey {
    /// `key` has 32 bytes.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        // SAFETY: both return pointers to constants of the library; the key
        // is as long as said, which is what the algorithm takes.
        let (whole, cipher) = unsafe {
            let aead = lc::EVP_aead_chacha20_poly1305();
            (
                lc::EVP_AEAD_CTX_new(aead, key.as_ptr(), key.len(), TAG_BYTES),
                lc::EVP_chacha20_poly1305(),
            )
        };
        Some(Self {
            whole: Whole(NonNull::new(whole)?),
            pieces: Cipher::new(cipher, key, true)?,
        })
    }
}

fn in_one_call(work: &Work<'_>) -> Option<(Segment, Segment)> {
    work.contiguous()
        .filter(|(source, _)| source.len < ONE_CALL_BYTES)
}

/// Encrypts and writes the tag.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn seal(key: &ChaChaKey, work: &Work<'_>) -> Status {
    let Some((source, destination)) = in_one_call(work) else {
        // SAFETY: forwarded from the caller.
        return unsafe { aead::seal(&key.pieces, work) };
    };
    let mut tag_bytes = 0;
    // SAFETY: segments are valid by the caller's word, text and result as
    // long as each other, the same or apart; the checks gave the tag 16 bytes.
    let sealed = unsafe {
        lc::EVP_AEAD_CTX_seal_scatter(
            key.whole.0.as_ptr(),
            destination.address,
            work.tag.address,
            &mut tag_bytes,
            TAG_BYTES,
            work.iv.as_ptr(),
            NONCE_BYTES,
            source.address,
            source.len,
            ptr::null(),
            0,
            work.aad.address,
            work.aad.len,
        )
    };
    if sealed == 1 {
        Status::Ok
    } else {
        super::forget_errors();
        Status::BackendFailed
    }
}

/// Decrypts and compares the tag; where it differs, the library wipes what
/// was decrypted.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn open(key: &ChaChaKey, work: &Work<'_>) -> Status {
    let Some((source, destination)) = in_one_call(work) else {
        // SAFETY: forwarded from the caller.
        return unsafe { aead::open(&key.pieces, work) };
    };
    // SAFETY: as in `seal`.
    let opened = unsafe {
        lc::EVP_AEAD_CTX_open_gather(
            key.whole.0.as_ptr(),
            destination.address,
            work.iv.as_ptr(),
            NONCE_BYTES,
            source.address,
            source.len,
            work.tag.address,
            TAG_BYTES,
            work.aad.address,
            work.aad.len,
        )
    };
    if opened == 1 {
        return Status::Ok;
    }
    super::forget_errors();
    Status::AuthenticationFailed
}
