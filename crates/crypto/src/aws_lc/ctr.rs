//! AES in counter mode: all 16 bytes of the IV are one big-endian counter,
//! which wraps to zero (SP 800-38A §6.5 and appendix B.1).

use aws_lc_sys as lc;
use zeroize::Zeroize;

use super::aes_key::AesKey;
use crate::Status;
use crate::scatter::paired;
use crate::work::Work;

/// Encrypts or decrypts: the same thing.
///
/// # Safety
/// As for [`super::run`].
// Inlined: as a call of its own it takes a tenth of a 64-byte request's time.
#[inline(always)]
pub(super) unsafe fn run(key: &AesKey, work: &Work<'_>) -> Status {
    let mut counter = *work.iv;
    // The key stream left over from the last block, and how much of it is used.
    let mut stream = [0; 16];
    let mut used = 0;
    let mut apply = |from: *const u8, to: *mut u8, bytes: usize| {
        // SAFETY: `from` and `to` are segments of `work`, which the caller
        // vouches for; the same or apart; the counter state is private.
        unsafe {
            lc::AES_ctr128_encrypt(
                from,
                to,
                bytes,
                key.as_ptr(),
                counter.as_mut_ptr(),
                stream.as_mut_ptr(),
                &mut used,
            );
        }
    };
    match work.contiguous() {
        _ if work.source_bytes == 0 => {}
        Some((source, destination)) => apply(source.address, destination.address, source.len),
        None => paired(work.source, work.destination, apply),
    }
    if used > 0 {
        stream.zeroize();
    }
    Status::Ok
}
