//! ChaCha20-Poly1305 (RFC 8439 §2.8).
//!
//! The library's one-pass assembly wants the text in one piece. A scattered
//! text goes through a private buffer when it fits one: two copies cost less
//! than the cipher context, which takes pieces, but with one pass for each of
//! its two halves. That is for longer ones.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

use super::aead;
use super::cipher::Cipher;
use crate::check::BLOCK_BYTES as TAG_BYTES;
use crate::scatter::{Cursor, wipe};
use crate::stack::wipe_below;
use crate::work::Work;
use crate::{Segment, Status};

const NONCE_BYTES: usize = 12;
/// What the one-pass call takes stays below this; the longest text does not.
const ONE_CALL_BYTES: usize = (1 << 38) - 64;
/// Bytes of the private buffer, which is on the stack.
const PRIVATE_BYTES: usize = 16 << 10;

/// What the library uses of the stack, where it leaves the key.
const STACK_KIB: usize = 2;

/// Contexts for text in one piece and in several.
pub(super) struct ChaChaKey {
    whole: Whole,
    pieces: Cipher,
}

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

/// Runs a job over text in one piece.
type OnWhole = unsafe fn(&ChaChaKey, Segment, Segment, &Work<'_>) -> Status;

/// Encrypts and writes the tag.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn seal(key: &ChaChaKey, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller.
    unsafe { run(key, work, seal_whole, aead::seal) }
}

/// Decrypts and compares the tag; where it differs, wipes what was decrypted.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn open(key: &ChaChaKey, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller.
    unsafe { run(key, work, open_whole, aead::open) }
}

/// # Safety
/// As for [`super::run`].
#[inline(always)]
unsafe fn run(
    key: &ChaChaKey,
    work: &Work<'_>,
    whole: OnWhole,
    pieces: unsafe fn(&Cipher, &Work<'_>) -> Status,
) -> Status {
    // SAFETY: forwarded from the caller.
    unsafe {
        match work.contiguous() {
            Some((source, destination)) if source.len < ONE_CALL_BYTES => {
                whole(key, source, destination, work)
            }
            None if work.source_bytes <= PRIVATE_BYTES => in_private(key, whole, work),
            _ => {
                let status = pieces(&key.pieces, work);
                wipe_below::<STACK_KIB>();
                status
            }
        }
    }
}

/// Copies the text into a private buffer, runs `whole` there, and copies the
/// result out, or zeros when there is none.
///
/// # Safety
/// As for [`super::run`]; the text fits the buffer.
#[inline(never)]
unsafe fn in_private(key: &ChaChaKey, whole: OnWhole, work: &Work<'_>) -> Status {
    let mut buffer = MaybeUninit::<[u8; PRIVATE_BYTES]>::uninit();
    let private = Segment::new(buffer.as_mut_ptr().cast(), work.source_bytes);
    // SAFETY: both lists hold the bytes of the text, and the buffer has room;
    // it is ours, and wiped before it goes.
    unsafe {
        Cursor::new(work.source).gather(private.address, private.len);
        let status = whole(key, private, private, work);
        if status == Status::Ok {
            Cursor::new(work.destination).scatter(private.address, private.len);
        } else {
            wipe(work.destination);
        }
        lc::OPENSSL_cleanse(private.address.cast(), private.len);
        status
    }
}

/// # Safety
/// As for [`super::run`]; source and destination are as long as each other,
/// the same or apart.
unsafe fn seal_whole(
    key: &ChaChaKey,
    source: Segment,
    destination: Segment,
    work: &Work<'_>,
) -> Status {
    let mut tag_bytes = 0;
    // SAFETY: the caller's; the checks gave the tag 16 bytes.
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
    wipe_below::<STACK_KIB>();
    if sealed == 1 {
        Status::Ok
    } else {
        super::forget_errors();
        Status::BackendFailed
    }
}

/// Where the tag differs, the library leaves zeros.
///
/// # Safety
/// As for [`seal_whole`].
unsafe fn open_whole(
    key: &ChaChaKey,
    source: Segment,
    destination: Segment,
    work: &Work<'_>,
) -> Status {
    // SAFETY: as there.
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
    wipe_below::<STACK_KIB>();
    if opened == 1 {
        return Status::Ok;
    }
    super::forget_errors();
    Status::AuthenticationFailed
}
