//! AES in Galois/counter mode (SP 800-38D): one message after the other, by
//! direct calls, with the tables of the key computed once.

use std::mem::MaybeUninit;

use zeroize::Zeroize;

use super::calls::GcmCalls;
use super::key::IpsecKey;
use super::layout::GcmContext;
use super::tag;
use crate::Status;
use crate::check::BLOCK_BYTES;
use crate::scatter::{paired, wipe};
use crate::work::Work;

/// Encrypts and writes the tag.
///
/// # Safety
/// The segments of `work`, which has passed the checks for GCM, are readable,
/// destination and tag writable.
#[inline]
pub(super) unsafe fn seal(calls: &GcmCalls, key: &IpsecKey, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller; the checks gave the tag 16 bytes.
    unsafe { run(calls, key, work, true, work.tag.address) };
    Status::Ok
}

/// Decrypts and compares the tag; where it differs, wipes what was decrypted.
///
/// # Safety
/// As for [`seal`], but that the tag is only read.
#[inline]
pub(super) unsafe fn open(calls: &GcmCalls, key: &IpsecKey, work: &Work<'_>) -> Status {
    let mut computed = [0; BLOCK_BYTES];
    // SAFETY: forwarded from the caller; the computed tag is ours.
    unsafe {
        let expected = tag::read(work.tag.address);
        run(calls, key, work, false, computed.as_mut_ptr());
        if tag::equal(&computed, &expected) {
            return Status::Ok;
        }
        wipe(work.destination);
    }
    computed.zeroize();
    Status::AuthenticationFailed
}

/// # Safety
/// As for [`seal`]; `tag` is writable for 16 bytes.
#[inline]
unsafe fn run(calls: &GcmCalls, key: &IpsecKey, work: &Work<'_>, seals: bool, tag: *mut u8) {
    let Some((source, destination)) = work.contiguous() else {
        // SAFETY: forwarded from the caller.
        unsafe { scattered(calls, key, work, seals, tag) };
        return;
    };
    // The library leaves lengths and counters in there, and clears the rest.
    let mut context = MaybeUninit::uninit();
    let whole = if seals { calls.seal } else { calls.open };
    // SAFETY: forwarded from the caller; the context is ours.
    unsafe {
        whole(
            key.gcm(),
            context.as_mut_ptr(),
            destination.address,
            source.address,
            source.len as u64,
            work.iv.as_ptr(),
            work.aad.address,
            work.aad.len as u64,
            tag,
            BLOCK_BYTES as u64,
        );
    }
}

/// Piece by piece; the library keeps what is left of a block.
///
/// # Safety
/// As for [`run`].
#[inline(never)]
unsafe fn scattered(calls: &GcmCalls, key: &IpsecKey, work: &Work<'_>, seals: bool, tag: *mut u8) {
    let mut context = GcmContext([0; 128]);
    let state = &raw mut context;
    let (update, finalize) = if seals {
        (calls.encrypt, calls.encrypt_finalize)
    } else {
        (calls.decrypt, calls.decrypt_finalize)
    };
    // SAFETY: forwarded from the caller; the context is ours.
    unsafe {
        (calls.init)(
            key.gcm(),
            state,
            work.iv.as_ptr(),
            work.aad.address,
            work.aad.len as u64,
        );
    }
    paired(work.source, work.destination, |from, to, bytes| {
        // SAFETY: runs of the caller's segments.
        unsafe { update(key.gcm(), state, to, from, bytes as u64) };
    });
    // SAFETY: as above.
    unsafe { finalize(key.gcm(), state, tag, BLOCK_BYTES as u64) };
    context.0.zeroize();
}
