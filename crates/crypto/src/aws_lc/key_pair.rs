//! Keys of public-key algorithms: both halves, as PKCS#8 (RFC 5208), or the
//! public one alone, as SubjectPublicKeyInfo (RFC 5280 §4.1).

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use aws_lc_sys as lc;

use crate::{Algorithm, KeyMaterial};

/// RFC 8017 leaves it open; everyone takes this.
const RSA_EXPONENT: u64 = 65537;

/// Owns an `EVP_PKEY`, and knows whether it has its private half.
pub(super) struct KeyPair {
    key: NonNull<lc::EVP_PKEY>,
    is_private: bool,
}

// SAFETY: the key belongs to no thread, and this value is its only owner.
unsafe impl Send for KeyPair {}

impl Drop for KeyPair {
    fn drop(&mut self) {
        // SAFETY: ours, and not used again. Wipes the key: the library's
        // `OPENSSL_free` cleanses every block it gives back.
        unsafe { lc::EVP_PKEY_free(self.key.as_ptr()) };
    }
}

impl KeyPair {
    /// Parses a `PrivateKeyInfo` or a `SubjectPublicKeyInfo` in DER; `None`
    /// when it is none for `algorithm`: of another kind, size or curve.
    pub(super) fn parse(algorithm: Algorithm, der: &[u8]) -> Option<Self> {
        let pair = parse_as(der, lc::EVP_parse_private_key, true);
        let key = pair.or_else(|| parse_as(der, lc::EVP_parse_public_key, false))?;
        key.is_for(algorithm).then_some(key)
    }

    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    fn is_for(&self, algorithm: Algorithm) -> bool {
        // SAFETY: reads the key, which is ours; each part is there when the
        // one before said so.
        unsafe {
            match algorithm {
                Algorithm::Rsa(bits, _) => {
                    lc::EVP_PKEY_id(self.as_ptr()) == lc::EVP_PKEY_RSA
                        && lc::RSA_bits(self.rsa()) as usize == bits.bits()
                }
                Algorithm::EcdsaP256 => {
                    lc::EVP_PKEY_id(self.as_ptr()) == lc::EVP_PKEY_EC
                        && lc::EC_GROUP_get_curve_name(lc::EC_KEY_get0_group(self.ec()))
                            == lc::NID_X9_62_prime256v1
                }
                _ => false,
            }
        }
    }

    pub(super) fn as_ptr(&self) -> *mut lc::EVP_PKEY {
        self.key.as_ptr()
    }

    /// Null when the key is no RSA key; lives as long as this key.
    pub(super) fn rsa(&self) -> *mut lc::RSA {
        // SAFETY: the key is ours; what it holds stays its own.
        unsafe { lc::EVP_PKEY_get0_RSA(self.as_ptr()) }
    }

    /// Null when the key is on no curve; lives as long as this key.
    pub(super) fn ec(&self) -> *mut lc::EC_KEY {
        // SAFETY: as above.
        unsafe { lc::EVP_PKEY_get0_EC_KEY(self.as_ptr()) }
    }

    /// A new one for `algorithm`; `None` when that has no such keys, or the
    /// library no memory.
    fn generate(algorithm: Algorithm) -> Option<Self> {
        let key = Self {
            // SAFETY: has no preconditions; null means no memory.
            key: NonNull::new(unsafe { lc::EVP_PKEY_new() })?,
            is_private: true,
        };
        let made = match algorithm {
            Algorithm::Rsa(bits, _) => key.fill_rsa(i32::try_from(bits.bits()).ok()?),
            Algorithm::EcdsaP256 => key.fill_p256(),
            _ => false,
        };
        made.then_some(key)
    }

    fn fill_rsa(&self, bits: i32) -> bool {
        // SAFETY: every pointer is checked before use, freed on every path,
        // and `EVP_PKEY_set1_RSA` takes a reference of its own.
        unsafe {
            let (rsa, exponent) = (lc::RSA_new(), lc::BN_new());
            let made = !rsa.is_null()
                && !exponent.is_null()
                && lc::BN_set_word(exponent, RSA_EXPONENT) == 1
                && lc::RSA_generate_key_ex(rsa, bits, exponent, ptr::null_mut()) == 1
                && lc::EVP_PKEY_set1_RSA(self.as_ptr(), rsa) == 1;
            lc::BN_free(exponent);
            lc::RSA_free(rsa);
            made
        }
    }

    fn fill_p256(&self) -> bool {
        // SAFETY: as in `fill_rsa`.
        unsafe {
            let key = lc::EC_KEY_new_by_curve_name(lc::NID_X9_62_prime256v1);
            let made = !key.is_null()
                && lc::EC_KEY_generate_key(key) == 1
                && lc::EVP_PKEY_set1_EC_KEY(self.as_ptr(), key) == 1;
            lc::EC_KEY_free(key);
            made
        }
    }

    fn to_pkcs8(&self) -> Option<KeyMaterial> {
        let mut writer = MaybeUninit::uninit();
        let (mut der, mut der_bytes) = (ptr::null_mut(), 0);
        // SAFETY: the writer is initialised before use and finished or cleaned
        // up after it; on success the bytes are ours to free.
        unsafe {
            if lc::CBB_init(writer.as_mut_ptr(), 0) != 1 {
                return None;
            }
            if lc::EVP_marshal_private_key(writer.as_mut_ptr(), self.as_ptr()) != 1
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
}

/// The key that all of `der` is.
fn parse_as(
    der: &[u8],
    parse: unsafe extern "C" fn(*mut lc::CBS) -> *mut lc::EVP_PKEY,
    is_private: bool,
) -> Option<KeyPair> {
    let mut reader = MaybeUninit::uninit();
    // SAFETY: the reader points into `der`, which outlives this call; a null
    // key means that the bytes are none.
    let (parsed, left) = unsafe {
        lc::CBS_init(reader.as_mut_ptr(), der.as_ptr(), der.len());
        (parse(reader.as_mut_ptr()), lc::CBS_len(reader.as_ptr()))
    };
    super::forget_errors();
    let key = NonNull::new(parsed)?;
    let own = KeyPair { key, is_private };
    (left == 0).then_some(own)
}

/// A new private key as PKCS#8 DER: of RSA with exponent 65537, or on P-256.
/// `None` when `algorithm` has no such keys, or the library no memory.
pub(crate) fn generate_pkcs8(algorithm: Algorithm) -> Option<KeyMaterial> {
    KeyPair::generate(algorithm)?.to_pkcs8()
}
