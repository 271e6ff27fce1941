//! ECDSA on P-256 over a SHA-256 digest (FIPS 186-5 §6); signatures are r and
//! s, 32 bytes each (IEEE P1363).

use std::ptr::NonNull;

use aws_lc_sys as lc;

use super::key_pair::KeyPair;
use super::number::Number;
use crate::Status;
use crate::check::SIGNED_DIGEST_BYTES as DIGEST_BYTES;
use crate::scatter::{Cursor, copied};
use crate::work::Work;

const NUMBER_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 2 * NUMBER_BYTES;

struct Signature(NonNull<lc::ECDSA_SIG>);

impl Drop for Signature {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { lc::ECDSA_SIG_free(self.0.as_ptr()) };
    }
}

impl Signature {
    fn from_bytes(bytes: &[u8; SIGNATURE_BYTES]) -> Option<Self> {
        let (r, s) = bytes.split_at(NUMBER_BYTES);
        let (r, s) = (Number::from_big_endian(r)?, Number::from_big_endian(s)?);
        // SAFETY: has no preconditions; null means no memory.
        let signature = Self(NonNull::new(unsafe { lc::ECDSA_SIG_new() })?);
        // SAFETY: takes both numbers over; fails only when one is null.
        unsafe { lc::ECDSA_SIG_set0(signature.0.as_ptr(), r.into_raw(), s.into_raw()) };
        Some(signature)
    }

    fn to_bytes(&self) -> Option<[u8; SIGNATURE_BYTES]> {
        let mut bytes = [0; SIGNATURE_BYTES];
        let (r, s) = bytes.split_at_mut(NUMBER_BYTES);
        // SAFETY: the numbers stay the signature's, which is ours; each call
        // writes the 32 bytes that it is given.
        let fits = unsafe {
            let signature = self.0.as_ptr();
            let numbers = [
                (r, lc::ECDSA_SIG_get0_r(signature)),
                (s, lc::ECDSA_SIG_get0_s(signature)),
            ];
            numbers
                .into_iter()
                .all(|(to, number)| lc::BN_bn2bin_padded(to.as_mut_ptr(), to.len(), number) == 1)
        };
        fits.then_some(bytes)
    }
}

/// Signs the digest, with a nonce from the library's generator.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn sign(key: &KeyPair, work: &Work<'_>) -> Status {
    if !key.is_private() {
        return Status::Unsupported;
    }
    // SAFETY: the checks gave the source 32 bytes.
    let digest: [u8; DIGEST_BYTES] = unsafe { copied(work.source) };
    // SAFETY: a private buffer of the size given, and a key on P-256.
    let signature = unsafe { lc::ECDSA_do_sign(digest.as_ptr(), DIGEST_BYTES, key.ec()) };
    let signature = NonNull::new(signature).map(Signature);
    let Some(bytes) = signature.and_then(|signature| signature.to_bytes()) else {
        super::forget_errors();
        return Status::BackendFailed;
    };
    // SAFETY: the checks gave the tag 64 bytes.
    unsafe { Cursor::new(&[work.tag]).scatter(bytes.as_ptr(), SIGNATURE_BYTES) };
    Status::Ok
}

/// Compares the signature with the digest.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn verify(key: &KeyPair, work: &Work<'_>) -> Status {
    // SAFETY: the checks gave the source 32 bytes and the tag 64.
    let (digest, bytes): ([u8; DIGEST_BYTES], _) =
        unsafe { (copied(work.source), copied(&[work.tag])) };
    let Some(signature) = Signature::from_bytes(&bytes) else {
        super::forget_errors();
        return Status::BackendFailed;
    };
    // SAFETY: private buffers of the sizes given, and a key on P-256.
    let good = unsafe {
        lc::ECDSA_do_verify(
            digest.as_ptr(),
            DIGEST_BYTES,
            signature.0.as_ptr(),
            key.ec(),
        )
    };
    if good == 1 {
        return Status::Ok;
    }
    super::forget_errors();
    Status::AuthenticationFailed
}
