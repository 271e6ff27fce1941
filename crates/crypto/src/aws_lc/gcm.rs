//! AES in Galois/counter mode (SP 800-38D).

use std::ffi::c_int;
use std::ptr;

use aws_lc_sys as lc;

use super::cipher::Cipher;
use crate::check::BLOCK_BYTES;
use crate::scatter::{paired, wipe};
use crate::work::Work;
use crate::{Segment, Status};

/// Most bytes of one call: the library returns the count as a C `int`.
const STEP_BYTES_MAX: usize = 1 << 30;
const TAG_BYTES: c_int = 16;

/// Encrypts and writes the tag.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn seal(cipher: &Cipher, work: &Work<'_>) -> Status {
    let started = cipher.start(work.iv, true);
    // SAFETY: forwarded from the caller; the checks gave the tag 16 bytes.
    let sealed = started
        && unsafe {
            authenticate(cipher, work.aad)
                && text(cipher, work)
                && cipher.step(ptr::null_mut(), ptr::null(), 0) == 0
                && cipher.control(lc::EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, work.tag.address)
        };
    if sealed {
        Status::Ok
    } else {
        Status::BackendFailed
    }
}

/// Decrypts and compares the tag; where it differs, wipes what was decrypted.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn open(cipher: &Cipher, work: &Work<'_>) -> Status {
    let started = cipher.start(work.iv, false);
    // SAFETY: forwarded from the caller; the library copies the tag's 16
    // bytes once, before anything else.
    let decrypted = started
        && unsafe {
            cipher.control(lc::EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, work.tag.address)
                && authenticate(cipher, work.aad)
                && text(cipher, work)
        };
    // SAFETY: nulls and no bytes ask for the verdict.
    if decrypted && unsafe { cipher.step(ptr::null_mut(), ptr::null(), 0) } == 0 {
        return Status::Ok;
    }
    // SAFETY: the caller vouches for the destination.
    unsafe { wipe(work.destination) };
    if decrypted {
        Status::AuthenticationFailed
    } else {
        Status::BackendFailed
    }
}

/// Hashes the additional data.
///
/// # Safety
/// `aad` is readable.
#[inline]
unsafe fn authenticate(cipher: &Cipher, aad: Segment) -> bool {
    let mut done = 0;
    while done < aad.len {
        let bytes = (aad.len - done).min(STEP_BYTES_MAX);
        let from = aad.address.wrapping_add(done);
        // SAFETY: within the segment; a null destination means additional data.
        if unsafe { cipher.step(ptr::null_mut(), from, bytes) } < 0 {
            return false;
        }
        done += bytes;
    }
    true
}

/// Encrypts or decrypts the text, piece by piece.
///
/// # Safety
/// As for [`super::run`].
#[inline]
unsafe fn text(cipher: &Cipher, work: &Work<'_>) -> bool {
    if let Some((source, destination)) = work.contiguous() {
        // SAFETY: both segments are valid by the caller's word, and as long.
        return unsafe { run(cipher, source.address, destination.address, source.len) };
    }
    let mut good = true;
    paired(work.source, work.destination, |from, to, bytes| {
        // SAFETY: as above: parts of both segments.
        good = good && unsafe { run(cipher, from, to, bytes) };
    });
    good
}

/// Encrypts or decrypts one run, in calls of a size the library can take.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes`; the same or apart.
#[inline]
unsafe fn run(cipher: &Cipher, from: *const u8, to: *mut u8, bytes: usize) -> bool {
    let mut done = 0;
    while done < bytes {
        let step = (bytes - done).min(STEP_BYTES_MAX);
        let (from, to) = (from.wrapping_add(done), to.wrapping_add(done));
        // SAFETY: within both runs.
        if unsafe { cipher.step(to, from, step) } < 0 {
            return false;
        }
        done += step;
    }
    true
}

const _: () = assert!(
    TAG_BYTES as usize == BLOCK_BYTES,
    "what the checks let through"
);
