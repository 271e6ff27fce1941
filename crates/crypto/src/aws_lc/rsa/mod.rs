//! RSA (RFC 8017), with SHA-256 wherever a hash is needed.

mod encrypt;
mod sign;

pub(super) use encrypt::{decrypt, encrypt};
pub(super) use sign::{sign, verify};

use std::ptr::{self, NonNull};

use aws_lc_sys as lc;
use zeroize::Zeroizing;

use super::key_pair::KeyPair;
use crate::rejection::Hash;
use crate::{RsaBits, RsaScheme};

const MODULUS_BYTES_MAX: usize = 512;

/// A key, how its messages are padded, and what that needs.
pub(super) struct RsaKey {
    scheme: Scheme,
    key: KeyPair,
    modulus_bytes: usize,
}

enum Scheme {
    /// With the hash of the private exponent, where that is there.
    Pkcs1 {
        exponent: Option<Box<Hash>>,
    },
    Oaep {
        sealing: Oaep,
        opening: Oaep,
    },
    Pss,
}

impl RsaKey {
    /// `key` is an RSA key of this size; `None` without memory.
    pub(super) fn new(key: KeyPair, bits: RsaBits, scheme: RsaScheme) -> Option<Self> {
        let modulus_bytes = bits.bits() / 8;
        let scheme = match scheme {
            RsaScheme::Pkcs1 if key.is_private() => Scheme::Pkcs1 {
                exponent: Some(hashed_exponent(&key, modulus_bytes)?),
            },
            RsaScheme::Pkcs1 => Scheme::Pkcs1 { exponent: None },
            RsaScheme::Pss => Scheme::Pss,
            RsaScheme::Oaep => Scheme::Oaep {
                sealing: Oaep::new(&key, lc::EVP_PKEY_encrypt_init)?,
                opening: Oaep::new(&key, lc::EVP_PKEY_decrypt_init)?,
            },
        };
        Some(Self {
            scheme,
            key,
            modulus_bytes,
        })
    }
}

/// SHA-256 of the private exponent in as many bytes as the modulus has (see
/// [`crate::rejection`]); in a box, so that nothing moves it.
fn hashed_exponent(key: &KeyPair, modulus_bytes: usize) -> Option<Box<Hash>> {
    let mut exponent = Zeroizing::new([0; MODULUS_BYTES_MAX]);
    let mut hash = Box::<Hash>::default();
    // SAFETY: the key is ours, and so is its exponent; both buffers have the
    // bytes that are written.
    let hashed = unsafe {
        let number = lc::RSA_get0_d(key.rsa());
        !number.is_null()
            && lc::BN_bn2bin_padded(exponent.as_mut_ptr(), modulus_bytes, number) == 1
            && !lc::SHA256(exponent.as_ptr(), modulus_bytes, hash.as_mut_ptr()).is_null()
    };
    hashed.then_some(hash)
}

/// Owns an `EVP_PKEY_CTX` for OAEP with SHA-256 for label and mask, empty
/// label. Scratch space too, which is wiped when it is freed.
struct Oaep(NonNull<lc::EVP_PKEY_CTX>);

// SAFETY: the context belongs to no thread; this value is its only owner and,
// not being `Sync`, used by one thread at a time.
unsafe impl Send for Oaep {}

impl Oaep {
    fn new(
        key: &KeyPair,
        begin: unsafe extern "C" fn(*mut lc::EVP_PKEY_CTX) -> i32,
    ) -> Option<Self> {
        // SAFETY: the key is ours; the context takes a reference of its own.
        let context = unsafe { lc::EVP_PKEY_CTX_new(key.as_ptr(), ptr::null_mut()) };
        let own = Self(NonNull::new(context)?);
        // SAFETY: the context is ours; the hash is a constant of the library,
        // which takes it for the mask as well when none is set for that.
        let ready = unsafe {
            begin(context) == 1
                && lc::EVP_PKEY_CTX_set_rsa_padding(context, lc::RSA_PKCS1_OAEP_PADDING) == 1
                && lc::EVP_PKEY_CTX_set_rsa_oaep_md(context, lc::EVP_sha256()) == 1
        };
        ready.then_some(own)
    }
}

impl Drop for Oaep {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again.
        unsafe { lc::EVP_PKEY_CTX_free(self.0.as_ptr()) };
    }
}
