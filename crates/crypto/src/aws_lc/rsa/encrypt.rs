//! RSA encryption: PKCS#1 v1.5 (RFC 8017 §7.2) and OAEP (§7.1).
//!
//! Decryption knows how long the message must be. With PKCS#1 v1.5 the
//! library's part ends with the number; the padding is read by [`rejection`],
//! which puts other bytes in the place of a message that is not there: the
//! library's own reading says good or bad, and (it says so itself) not quite in
//! constant time. With OAEP the library reads the padding in constant time and
//! then says good or bad, which §7.1.2 allows; a good one of another length is
//! refused thereafter, and that only who made the ciphertext can bring about.

use std::ptr;

use aws_lc_sys as lc;
use zeroize::Zeroizing;

use super::{MODULUS_BYTES_MAX, Oaep, RsaKey, Scheme};
use crate::Status;
use crate::aws_lc::forget_errors;
use crate::rejection::{self, HASH_BYTES};
use crate::scatter::{Cursor, wipe};
use crate::work::Work;

/// `ERR_GET_REASON` of the library's `err.h`.
const ERR_REASON_MASK: u32 = 0xfff;

type Private = Zeroizing<[u8; MODULUS_BYTES_MAX]>;

/// Encrypts the message.
///
/// # Safety
/// As for [`crate::aws_lc::run`].
pub(in crate::aws_lc) unsafe fn encrypt(key: &RsaKey, work: &Work<'_>) -> Status {
    let mut private = Private::new([0; MODULUS_BYTES_MAX]);
    let message = &mut private[..work.source_bytes];
    // SAFETY: the source has that many bytes.
    unsafe { Cursor::new(work.source).gather(message.as_mut_ptr(), message.len()) };
    let mut ciphertext = [0; MODULUS_BYTES_MAX];
    let ciphertext = &mut ciphertext[..key.modulus_bytes];
    let written = match &key.scheme {
        Scheme::Oaep { sealing, .. } => seal(sealing, message, ciphertext),
        _ => encrypt_pkcs1(key, message, ciphertext),
    };
    if written != Some(key.modulus_bytes) {
        forget_errors();
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the destination a modulus' bytes.
    unsafe { Cursor::new(work.destination).scatter(ciphertext.as_ptr(), ciphertext.len()) };
    Status::Ok
}

fn encrypt_pkcs1(key: &RsaKey, message: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut written = 0;
    // SAFETY: private buffers of the sizes given.
    let done = unsafe {
        lc::RSA_encrypt(
            key.key.rsa(),
            &mut written,
            to.as_mut_ptr(),
            to.len(),
            message.as_ptr(),
            message.len(),
            lc::RSA_PKCS1_PADDING,
        )
    };
    (done == 1).then_some(written)
}

fn seal(sealing: &Oaep, message: &[u8], to: &mut [u8]) -> Option<usize> {
    let mut bytes = to.len();
    // SAFETY: private buffers of the sizes given; the context is ours.
    let done = unsafe {
        lc::EVP_PKEY_encrypt(
            sealing.0.as_ptr(),
            to.as_mut_ptr(),
            &mut bytes,
            message.as_ptr(),
            message.len(),
        )
    };
    (done == 1).then_some(bytes)
}

/// Decrypts to a message of the destination's length. Without one, to other bytes or
/// to zeros, depending on the scheme.
///
/// # Safety
/// As for [`crate::aws_lc::run`].
pub(in crate::aws_lc) unsafe fn decrypt(key: &RsaKey, work: &Work<'_>) -> Status {
    if !key.key.is_private() {
        return Status::Unsupported;
    }
    let mut ciphertext = [0; MODULUS_BYTES_MAX];
    let ciphertext = &mut ciphertext[..key.modulus_bytes];
    let mut private = Private::new([0; MODULUS_BYTES_MAX]);
    let out = &mut private[..key.modulus_bytes];
    let message_bytes: usize = work.destination.iter().map(|segment| segment.len).sum();
    // SAFETY: the checks gave the source a modulus' bytes.
    unsafe { Cursor::new(work.source).gather(ciphertext.as_mut_ptr(), ciphertext.len()) };
    let decrypted = match &key.scheme {
        Scheme::Oaep { opening, .. } => open(opening, ciphertext, out, message_bytes),
        Scheme::Pkcs1 {
            exponent: Some(exponent),
        } => decrypt_pkcs1(key, exponent, ciphertext, out, message_bytes),
        _ => return Status::Unsupported,
    };
    match decrypted {
        Ok(message) => {
            // SAFETY: the destination has as many bytes.
            unsafe { Cursor::new(work.destination).scatter(message.as_ptr(), message.len()) };
            Status::Ok
        }
        Err(status) => {
            // SAFETY: the caller vouches for the destination.
            unsafe { wipe(work.destination) };
            status
        }
    }
}

/// The message or its replacement. Fails only for a public reason: the ciphertext is
/// outside the range that the key decrypts.
fn decrypt_pkcs1<'o>(
    key: &RsaKey,
    exponent: &[u8; HASH_BYTES],
    ciphertext: &[u8],
    out: &'o mut [u8],
    message_bytes: usize,
) -> Result<&'o [u8], Status> {
    let mut written = 0;
    // SAFETY: private buffers of the sizes given.
    let done = unsafe {
        lc::RSA_decrypt(
            key.key.rsa(),
            &mut written,
            out.as_mut_ptr(),
            out.len(),
            ciphertext.as_ptr(),
            ciphertext.len(),
            lc::RSA_NO_PADDING,
        )
    };
    if done != 1 || written != out.len() {
        return Err(why_failed());
    }
    let mut alternative = Private::new([0; MODULUS_BYTES_MAX]);
    let alternative = &mut alternative[..message_bytes];
    rejection::alternative(hmac, exponent, ciphertext, alternative).ok_or(Status::BackendFailed)?;
    Ok(rejection::message_or(alternative, out))
}

/// HMAC-SHA-256; needs no memory, and wipes its own.
fn hmac(key: &[u8; HASH_BYTES], text: &[u8], code: &mut [u8; HASH_BYTES]) -> bool {
    // SAFETY: reads both, and writes the digest of a hash of 32 bytes; the hash
    // is the library's constant, and the length may be left out.
    let written = unsafe {
        lc::HMAC(
            lc::EVP_sha256(),
            key.as_ptr().cast(),
            key.len(),
            text.as_ptr(),
            text.len(),
            code.as_mut_ptr(),
            ptr::null_mut(),
        )
    };
    !written.is_null()
}

fn open<'o>(
    opening: &Oaep,
    ciphertext: &[u8],
    out: &'o mut [u8],
    message_bytes: usize,
) -> Result<&'o [u8], Status> {
    let mut bytes = out.len();
    // SAFETY: private buffers of the sizes given; the context is ours.
    let done = unsafe {
        lc::EVP_PKEY_decrypt(
            opening.0.as_ptr(),
            out.as_mut_ptr(),
            &mut bytes,
            ciphertext.as_ptr(),
            ciphertext.len(),
        )
    };
    if done != 1 {
        return Err(why_failed());
    }
    if bytes != message_bytes {
        return Err(Status::InvalidInput);
    }
    Ok(&out[..bytes])
}

fn why_failed() -> Status {
    // SAFETY: has no preconditions.
    let error = unsafe { lc::ERR_peek_last_error() };
    forget_errors();
    if error & ERR_REASON_MASK == lc::ERR_R_MALLOC_FAILURE as u32 {
        Status::BackendFailed
    } else {
        Status::InvalidInput
    }
}
