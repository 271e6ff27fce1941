//! RSA-2048 with PKCS#1 v1.5 padding over a SHA-256 digest (RFC 8017 §8.2).

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

use crate::check::SIGNED_DIGEST_BYTES as DIGEST_BYTES;
use crate::scatter::Cursor;
use crate::work::Work;
use crate::{Algorithm, KeyError, KeyMaterial, RsaBits, RsaScheme, Status};

const MODULUS_BITS: u32 = 2048;
const SIGNATURE_BYTES: usize = 256;

/// Owns an `EVP_PKEY` that holds an RSA-2048 private key.
pub(super) struct RsaKey(NonNull<lc::EVP_PKEY>);

// SAFETY: the key belongs to no thread, and this value is its only owner.
unsafe impl Send for RsaKey {}

impl RsaKey {
    /// Parses a PKCS#8 `PrivateKeyInfo` in DER (RFC 5208).
    pub(super) fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let malformed = KeyError::Malformed {
            algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
        };
        let mut reader = MaybeUninit::uninit();
        // SAFETY: the reader points into `der`, which outlives this call; a
        // null key means that the bytes are none.
        let (parsed, left) = unsafe {
            lc::CBS_init(reader.as_mut_ptr(), der.as_ptr(), der.len());
            (
                lc::EVP_parse_private_key(reader.as_mut_ptr()),
                lc::CBS_len(reader.as_ptr()),
            )
        };
        forget_errors();
        let key = NonNull::new(parsed).map(Self).ok_or(malformed)?;
        if left == 0 && key.bits() == Some(MODULUS_BITS) {
            Ok(key)
        } else {
            Err(KeyError::Malformed {
                algorithm: Algorithm::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
            })
        }
    }

    /// `None` when the key is of another algorithm.
    fn bits(&self) -> Option<u32> {
        // SAFETY: ours; null for another algorithm.
        let rsa = NonNull::new(self.rsa())?;
        // SAFETY: lives as long as the key that holds it.
        Some(unsafe { lc::RSA_bits(rsa.as_ptr()) })
    }

    fn rsa(&self) -> *mut lc::RSA {
        // SAFETY: the key is ours; what it holds stays its own.
        unsafe { lc::EVP_PKEY_get0_RSA(self.0.as_ptr()) }
    }
}

impl Drop for RsaKey {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again. Wipes the key: the library's
        // `OPENSSL_free` cleanses every block it gives back.
        unsafe { lc::EVP_PKEY_free(self.0.as_ptr()) };
    }
}

/// Signs the digest.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn sign(key: &RsaKey, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller.
    let digest = unsafe { digest(work) };
    let mut signature = [0; SIGNATURE_BYTES];
    let mut written = 0;
    // SAFETY: private buffers of the sizes that the library reads and, for a
    // 2048-bit key, writes.
    let signed = unsafe {
        lc::RSA_sign(
            lc::NID_sha256,
            digest.as_ptr(),
            DIGEST_BYTES,
            signature.as_mut_ptr(),
            &mut written,
            key.rsa(),
        )
    };
    if signed != 1 || written as usize != SIGNATURE_BYTES {
        forget_errors();
        return Status::BackendFailed;
    }
    // SAFETY: the checks gave the tag 256 bytes.
    unsafe { Cursor::new(&[work.tag]).scatter(signature.as_ptr(), SIGNATURE_BYTES) };
    Status::Ok
}

/// Compares the signature with the digest.
///
/// # Safety
/// As for [`super::run`].
pub(super) unsafe fn verify(key: &RsaKey, work: &Work<'_>) -> Status {
    // SAFETY: forwarded from the caller.
    let digest = unsafe { digest(work) };
    let mut signature = [0; SIGNATURE_BYTES];
    // SAFETY: the checks gave the tag 256 bytes.
    unsafe { Cursor::new(&[work.tag]).gather(signature.as_mut_ptr(), SIGNATURE_BYTES) };
    // SAFETY: private buffers of the sizes given.
    let good = unsafe {
        lc::RSA_verify(
            lc::NID_sha256,
            digest.as_ptr(),
            DIGEST_BYTES,
            signature.as_ptr(),
            SIGNATURE_BYTES,
            key.rsa(),
        )
    };
    if good == 1 {
        return Status::Ok;
    }
    forget_errors();
    Status::AuthenticationFailed
}

/// A private copy of the digest, so that no one changes it under the library.
///
/// # Safety
/// The source is readable.
unsafe fn digest(work: &Work<'_>) -> [u8; DIGEST_BYTES] {
    let mut digest = [0; DIGEST_BYTES];
    // SAFETY: the checks gave the source 32 bytes.
    unsafe { Cursor::new(work.source).gather(digest.as_mut_ptr(), DIGEST_BYTES) };
    digest
}

/// The library queues errors for each thread; a verdict is all we report.
fn forget_errors() {
    // SAFETY: has no preconditions.
    unsafe { lc::ERR_clear_error() };
}

/// A new RSA-2048 private key with exponent 65537, as PKCS#8 DER; `None` when
/// the library has no memory.
pub(crate) fn generate() -> Option<KeyMaterial> {
    let key = generate_key()?;
    let mut writer = MaybeUninit::uninit();
    let (mut der, mut der_bytes) = (ptr::null_mut(), 0);
    // SAFETY: the writer is initialised before use and finished or cleaned up
    // after it; on success the bytes are ours to free.
    unsafe {
        if lc::CBB_init(writer.as_mut_ptr(), 0) != 1 {
            return None;
        }
        if lc::EVP_marshal_private_key(writer.as_mut_ptr(), key.0.as_ptr()) != 1
            || lc::CBB_finish(writer.as_mut_ptr(), &mut der, &mut der_bytes) != 1
        {
            lc::CBB_cleanup(writer.as_mut_ptr());
            return None;
        }
    }
    // SAFETY: `CBB_finish` gave us these bytes, and no one else has them.
    let material = KeyMaterial::take(unsafe { std::slice::from_raw_parts_mut(der, der_bytes) });
    // SAFETY: as above; not used again.
    unsafe { lc::OPENSSL_free(der.cast()) };
    Some(material)
}

fn generate_key() -> Option<RsaKey> {
    // SAFETY: every pointer is checked before use, freed on every path, and
    // `EVP_PKEY_set1_RSA` takes a reference of its own.
    unsafe {
        let key = RsaKey(NonNull::new(lc::EVP_PKEY_new())?);
        let (rsa, exponent) = (lc::RSA_new(), lc::BN_new());
        let made = !rsa.is_null()
            && !exponent.is_null()
            && lc::BN_set_word(exponent, 65537) == 1
            && lc::RSA_generate_key_ex(rsa, MODULUS_BITS as i32, exponent, ptr::null_mut()) == 1
            && lc::EVP_PKEY_set1_RSA(key.0.as_ptr(), rsa) == 1;
        lc::BN_free(exponent);
        lc::RSA_free(rsa);
        made.then_some(key)
    }
}
