//! SHA-1 and SHA-2 (FIPS 180-4).

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use aws_lc_sys as lc;

use crate::scatter::Cursor;
use crate::work::Work;
use crate::{Between, Segment, Status};

const DIGEST_BYTES_MAX: usize = 64;

/// A hash function over a state of type `S`.
pub(super) struct Function<S> {
    begin: unsafe extern "C" fn(*mut S) -> c_int,
    update: unsafe extern "C" fn(*mut S, *const c_void, usize) -> c_int,
    finish: unsafe extern "C" fn(*mut u8, *mut S) -> c_int,
    digest_bytes: usize,
}

pub(super) const SHA1: Function<lc::SHA_CTX> = Function {
    begin: lc::SHA1_Init,
    update: lc::SHA1_Update,
    finish: lc::SHA1_Final,
    digest_bytes: 20,
};

pub(super) const SHA256: Function<lc::SHA256_CTX> = Function {
    begin: lc::SHA256_Init,
    update: lc::SHA256_Update,
    finish: lc::SHA256_Final,
    digest_bytes: 32,
};

pub(super) const SHA384: Function<lc::SHA512_CTX> = Function {
    begin: lc::SHA384_Init,
    update: lc::SHA384_Update,
    finish: lc::SHA384_Final,
    digest_bytes: 48,
};

pub(super) const SHA512: Function<lc::SHA512_CTX> = Function {
    begin: lc::SHA512_Init,
    update: lc::SHA512_Update,
    finish: lc::SHA512_Final,
    digest_bytes: 64,
};

/// Hashes the source, segment by segment, into the destination.
///
/// # Safety
/// As for [`super::run`], for the algorithm of `function`.
#[inline]
pub(super) unsafe fn run<S>(function: &Function<S>, work: &Work<'_>) -> Status {
    let mut state = MaybeUninit::<S>::uninit();
    let state = state.as_mut_ptr();
    let mut digest = [0; DIGEST_BYTES_MAX];
    // SAFETY: the state is ours and initialised first; segments are valid by
    // the caller's word; no digest is longer than its buffer.
    let good = unsafe {
        (function.begin)(state) == 1
            && absorb(function, state, work.source)
            && (function.finish)(digest.as_mut_ptr(), state) == 1
    };
    // SAFETY: ours; it holds the end of the message.
    unsafe { lc::OPENSSL_cleanse(state.cast(), size_of::<S>()) };
    if !good {
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the destination a digest's bytes.
    unsafe { Cursor::new(work.destination).scatter(digest.as_ptr(), function.digest_bytes) };
    Status::Ok
}

/// Hashes a piece of a message; with the last, writes the digest into the destination.
///
/// # Safety
/// As for [`run`]; `between` is of this message.
pub(super) unsafe fn piece<S: Copy>(
    function: &Function<S>,
    work: &Work<'_>,
    between: &mut Between,
    is_last: bool,
) -> Status {
    let (state, is_first) = between.state::<S>();
    let mut digest = [0; DIGEST_BYTES_MAX];
    // SAFETY: as in `run`; the state stays begun between the pieces.
    let good = unsafe {
        (!is_first || (function.begin)(state) == 1)
            && absorb(function, state, work.source)
            && (!is_last || (function.finish)(digest.as_mut_ptr(), state) == 1)
    };
    if !good {
        return Status::BackendFailed;
    }
    if is_last {
        // SAFETY: the checks gave the destination a digest's bytes.
        unsafe { Cursor::new(work.destination).scatter(digest.as_ptr(), function.digest_bytes) };
    }
    Status::Ok
}

/// Hashes a list of segments.
///
/// # Safety
/// `state` has been begun, and the list is readable.
#[inline]
pub(super) unsafe fn absorb<S>(function: &Function<S>, state: *mut S, list: &[Segment]) -> bool {
    list.iter()
        .filter(|segment| segment.len > 0)
        .all(|segment| {
            // SAFETY: the caller's.
            unsafe { (function.update)(state, segment.address.cast(), segment.len) == 1 }
        })
}
