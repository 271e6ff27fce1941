//! RSA encryption: PKCS#1 v1.5 (RFC 8017 §7.2) and OAEP (§7.1).
//!
//! Decryption knows how long the message must be, and says only whether there
//! is one of that length. With PKCS#1 v1.5 the library's part ends with the
//! number; the padding is read here, every byte of it and of the message, in
//! the same time whatever they are, since the library's own reading (of which
//! it says so itself) tells a good padding from a bad one by time. With OAEP
//! the library reads the padding in constant time and then says good or bad,
//! which §7.1.2 allows; a good one of another length is refused thereafter,
//! and that only who made the ciphertext can bring about.

use std::hint::black_box;

use aws_lc_sys as lc;
use zeroize::Zeroizing;

use super::{MODULUS_BYTES_MAX, Oaep, RsaKey, Scheme};
use crate::Status;
use crate::aws_lc::forget_errors;
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

/// Decrypts to a message of the destination's length, or to zeros.
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
        _ => decrypt_pkcs1(key, ciphertext, out, message_bytes),
    };
    match decrypted {
        Ok((message, status)) => {
            // SAFETY: the destination has as many bytes.
            unsafe { Cursor::new(work.destination).scatter(message.as_ptr(), message.len()) };
            status
        }
        Err(status) => {
            // SAFETY: the caller vouches for the destination.
            unsafe { wipe(work.destination) };
            status
        }
    }
}

/// The message, or as many zeros and [`Status::InvalidInput`].
fn decrypt_pkcs1<'o>(
    key: &RsaKey,
    ciphertext: &[u8],
    out: &'o mut [u8],
    message_bytes: usize,
) -> Result<(&'o [u8], Status), Status> {
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
    Ok(unpadded(out, message_bytes))
}

/// Takes the padding off in constant time: 0, 2, bytes that are not zero, 0,
/// the message. That they are eight at least, the checks have seen to.
fn unpadded(out: &mut [u8], message_bytes: usize) -> (&[u8], Status) {
    let (padding, message) = out.split_at_mut(out.len() - message_bytes);
    let (first, last) = (&padding[..2], padding.len() - 1);
    let mut wrong = first[0] | (first[1] ^ 2) | padding[last];
    for &byte in &padding[2..last] {
        wrong |= all_ones_if_zero(byte);
    }
    let keep = black_box(all_ones_if_zero(wrong));
    for byte in &mut *message {
        *byte &= keep;
    }
    let status = if keep == 0 {
        Status::InvalidInput
    } else {
        Status::Ok
    };
    (message, status)
}

/// Without a branch.
fn all_ones_if_zero(byte: u8) -> u8 {
    (u32::from(byte).wrapping_sub(1) >> 8) as u8
}

fn open<'o>(
    opening: &Oaep,
    ciphertext: &[u8],
    out: &'o mut [u8],
    message_bytes: usize,
) -> Result<(&'o [u8], Status), Status> {
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
    Ok((&out[..bytes], Status::Ok))
}

/// Tells a lack of memory from a ciphertext that is none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn padded() -> [u8; 64] {
        let mut block = [0x77; 64];
        block[..2].copy_from_slice(&[0, 2]);
        block[44] = 0;
        block[45..].copy_from_slice(b"nineteen bytes here");
        block
    }

    #[test]
    fn zero_is_told_from_all_others() {
        assert_eq!(all_ones_if_zero(0), 0xff);
        assert!((1..=255).all(|byte| all_ones_if_zero(byte) == 0));
    }

    #[test]
    fn a_message_of_that_length_comes_out_and_no_other() {
        let good: (&[u8], Status) = (b"nineteen bytes here", Status::Ok);
        assert_eq!(unpadded(&mut padded(), 19), good);
        for message_bytes in (0..=53).filter(|&bytes| bytes != 19) {
            let zeros = vec![0; message_bytes];
            let refused = (&*zeros, Status::InvalidInput);
            assert_eq!(unpadded(&mut padded(), message_bytes), refused);
        }
    }

    #[test]
    fn every_byte_of_the_padding_counts() {
        for at in 0..45 {
            let mut block = padded();
            block[at] = if (2..44).contains(&at) { 0 } else { 1 };
            let refused: (&[u8], Status) = (&[0; 19], Status::InvalidInput);
            assert_eq!(unpadded(&mut block, 19), refused, "byte {at}");
        }
    }
}
