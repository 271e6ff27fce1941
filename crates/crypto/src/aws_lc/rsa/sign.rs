//! RSA signatures over a SHA-256 digest: PKCS#1 v1.5 (RFC 8017 §8.2) and PSS
//! (§8.1).

use aws_lc_sys as lc;

use super::{MODULUS_BYTES_MAX, RsaKey, Scheme};
use crate::Status;
use crate::aws_lc::forget_errors;
use crate::check::SIGNED_DIGEST_BYTES as DIGEST_BYTES;
use crate::scatter::{Cursor, copied};
use crate::work::Work;

/// As long as the digest (RFC 8017 §9.1).
const PSS_SALT_BYTES: i32 = 32;

/// Signs the digest.
///
/// # Safety
/// As for [`crate::aws_lc::run`].
pub(in crate::aws_lc) unsafe fn sign(key: &RsaKey, work: &Work<'_>) -> Status {
    if !key.key.is_private() {
        return Status::Unsupported;
    }
    // SAFETY: the checks gave the source 32 bytes.
    let digest = unsafe { copied(work.source) };
    let mut signature = [0; MODULUS_BYTES_MAX];
    let signature = &mut signature[..key.modulus_bytes];
    let signed = match key.scheme {
        Scheme::Pss => sign_pss(key, &digest, signature),
        _ => sign_pkcs1(key, &digest, signature),
    };
    if !signed {
        forget_errors();
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the tag a modulus' bytes.
    unsafe { Cursor::new(&[work.tag]).scatter(signature.as_ptr(), signature.len()) };
    Status::Ok
}

fn sign_pkcs1(key: &RsaKey, digest: &[u8; DIGEST_BYTES], signature: &mut [u8]) -> bool {
    let mut written = 0;
    // SAFETY: private buffers of the sizes that the library reads and, for a
    // key of this size, writes.
    let signed = unsafe {
        lc::RSA_sign(
            lc::NID_sha256,
            digest.as_ptr(),
            DIGEST_BYTES,
            signature.as_mut_ptr(),
            &mut written,
            key.key.rsa(),
        )
    };
    signed == 1 && written as usize == signature.len()
}

fn sign_pss(key: &RsaKey, digest: &[u8; DIGEST_BYTES], signature: &mut [u8]) -> bool {
    let mut written = 0;
    // SAFETY: as above, the sizes given; the hash is the library's constant.
    let signed = unsafe {
        lc::RSA_sign_pss_mgf1(
            key.key.rsa(),
            &mut written,
            signature.as_mut_ptr(),
            signature.len(),
            digest.as_ptr(),
            DIGEST_BYTES,
            lc::EVP_sha256(),
            lc::EVP_sha256(),
            PSS_SALT_BYTES,
        )
    };
    signed == 1 && written == signature.len()
}

/// Compares the signature with the digest.
///
/// # Safety
/// As for [`crate::aws_lc::run`].
pub(in crate::aws_lc) unsafe fn verify(key: &RsaKey, work: &Work<'_>) -> Status {
    // SAFETY: the checks gave the source 32 bytes.
    let digest: [u8; DIGEST_BYTES] = unsafe { copied(work.source) };
    let mut signature = [0; MODULUS_BYTES_MAX];
    let signature = &mut signature[..key.modulus_bytes];
    // SAFETY: the checks gave the tag a modulus' bytes.
    unsafe { Cursor::new(&[work.tag]).gather(signature.as_mut_ptr(), signature.len()) };
    // SAFETY: private buffers of the sizes given; the hash is the library's
    // constant.
    let good = unsafe {
        match key.scheme {
            Scheme::Pss => lc::RSA_verify_pss_mgf1(
                key.key.rsa(),
                digest.as_ptr(),
                DIGEST_BYTES,
                lc::EVP_sha256(),
                lc::EVP_sha256(),
                PSS_SALT_BYTES,
                signature.as_ptr(),
                signature.len(),
            ),
            _ => lc::RSA_verify(
                lc::NID_sha256,
                digest.as_ptr(),
                DIGEST_BYTES,
                signature.as_ptr(),
                signature.len(),
                key.key.rsa(),
            ),
        }
    };
    if good == 1 {
        return Status::Ok;
    }
    forget_errors();
    Status::AuthenticationFailed
}
