//! Sealing and opening through a cipher context, which takes text in pieces.

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
    steps(aad.len).all(|(at, bytes)| {
        let from = aad.address.wrapping_add(at);
        // SAFETY: within the segment; a null destination means additional data.
        unsafe { cipher.step(ptr::null_mut(), from, bytes) >= 0 }
    })
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

/// Encrypts or decrypts one run.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes`; the same or apart.
#[inline]
unsafe fn run(cipher: &Cipher, from: *const u8, to: *mut u8, bytes: usize) -> bool {
    steps(bytes).all(|(at, bytes)| {
        // SAFETY: within both runs.
        unsafe { cipher.step(to.wrapping_add(at), from.wrapping_add(at), bytes) >= 0 }
    })
}

/// Offset and size of each call that covers `bytes`; none for none, since a
/// call without bytes means something else to the library.
#[inline]
fn steps(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes)
        .step_by(STEP_BYTES_MAX)
        .map(move |at| (at, (bytes - at).min(STEP_BYTES_MAX)))
}

const _: () = assert!(
    TAG_BYTES as usize == BLOCK_BYTES,
    "what the checks let through"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn covering(bytes: usize) -> Vec<(usize, usize)> {
        steps(bytes).collect()
    }

    #[test]
    fn steps_cover_and_fit_an_int() {
        let most = STEP_BYTES_MAX;
        assert_eq!(covering(0), []);
        assert_eq!(covering(7), [(0, 7)]);
        assert_eq!(covering(most), [(0, most)]);
        assert_eq!(
            covering(2 * most + 5),
            [(0, most), (most, most), (2 * most, 5)]
        );
        assert!(c_int::try_from(most).is_ok());
    }
}
