//! AES in Galois/counter mode (SP 800-38D): its contexts.

use aws_lc_sys as lc;

use super::cipher::Cipher;

/// For both directions; `key` has 16, 24 or 32 bytes.
pub(super) fn context(key: &[u8]) -> Option<Cipher> {
    // SAFETY: these return pointers to constants of the library.
    let cipher = unsafe {
        match key.len() {
            16 => lc::EVP_aes_128_gcm(),
            24 => lc::EVP_aes_192_gcm(),
            _ => lc::EVP_aes_256_gcm(),
        }
    };
    Cipher::new(cipher, key, true)
}
