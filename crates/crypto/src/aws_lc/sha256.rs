//! SHA-256 (FIPS 180-4).

use std::mem::MaybeUninit;

use aws_lc_sys as lc;

use crate::Status;
use crate::check::SIGNED_DIGEST_BYTES as DIGEST_BYTES;
use crate::scatter::Cursor;
use crate::work::Work;

/// Hashes the source, segment by segment, into the destination.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn run(work: &Work<'_>) -> Status {
    let mut state = MaybeUninit::<lc::SHA256_CTX>::uninit();
    let state = state.as_mut_ptr();
    let mut digest = [0; DIGEST_BYTES];
    // SAFETY: the state is ours and initialised first; segments are valid by
    // the caller's word; the digest has the size the library writes.
    let good = unsafe {
        let mut good = lc::SHA256_Init(state) == 1;
        for segment in work.source.iter().filter(|segment| segment.len > 0) {
            good &= lc::SHA256_Update(state, segment.address.cast(), segment.len) == 1;
        }
        good && lc::SHA256_Final(digest.as_mut_ptr(), state) == 1
    };
    if !good {
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the destination 32 bytes.
    unsafe { Cursor::new(work.destination).scatter(digest.as_ptr(), DIGEST_BYTES) };
    Status::Ok
}
