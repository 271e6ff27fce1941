//! What hides the header of a QUIC packet: five bytes from a sample of its ciphertext.

use aws_lc_sys as lc;
use zeroize::Zeroizing;

use super::aes_key::AesKey;
use crate::Algorithm;

const BLOCK_BYTES: usize = 16;
const CHACHA_KEY_BYTES: usize = 32;

/// A key of header protection (RFC 9001 §5.4), by AWS-LC. Zeroised on drop.
pub struct HeaderMask(Cipher);

enum Cipher {
    Aes(AesKey),
    ChaCha20(Zeroizing<[u8; CHACHA_KEY_BYTES]>),
}

impl HeaderMask {
    /// Of what the packet's cipher takes; `None` where `key` has another length, or the
    /// algorithm protects no packets.
    pub fn new(algorithm: Algorithm, key: &[u8]) -> Option<Self> {
        let is = |bytes| key.len() == bytes;
        Some(Self(match algorithm {
            Algorithm::Aes128Gcm if is(16) => Cipher::Aes(AesKey::encrypting(key)?),
            Algorithm::Aes256Gcm if is(32) => Cipher::Aes(AesKey::encrypting(key)?),
            Algorithm::ChaCha20Poly1305 => {
                let mut own = Zeroizing::new([0; CHACHA_KEY_BYTES]);
                own.copy_from_slice(key.get(..).filter(|_| is(CHACHA_KEY_BYTES))?);
                Cipher::ChaCha20(own)
            }
            _ => return None,
        }))
    }

    pub(crate) fn prefetch(&self) {
        if let Cipher::Aes(key) = &self.0 {
            key.prefetch();
        }
    }

    /// For the first byte, of which it changes the lower bits, and up to four bytes of the
    /// packet number (§5.4.3, §5.4.4).
    pub fn mask(&self, sample: &[u8; BLOCK_BYTES]) -> [u8; 5] {
        let mut mask = [0; 5];
        match &self.0 {
            Cipher::Aes(key) => {
                let mut block = [0; BLOCK_BYTES];
                // SAFETY: a block each, and a schedule that encrypts.
                unsafe { lc::AES_encrypt(sample.as_ptr(), block.as_mut_ptr(), key.as_ptr()) };
                mask.copy_from_slice(&block[..5]);
            }
            Cipher::ChaCha20(key) => {
                let (counter, nonce) = sample.split_first_chunk().expect("sixteen bytes");
                let counter = u32::from_le_bytes(*counter);
                // SAFETY: the mask is read and written in place; key and nonce have the 32
                // and 12 bytes that the call takes.
                unsafe {
                    lc::CRYPTO_chacha_20(
                        mask.as_mut_ptr(),
                        mask.as_ptr(),
                        mask.len(),
                        key.as_ptr(),
                        nonce.as_ptr(),
                        counter,
                    );
                }
            }
        }
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digit = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digit).collect()
    }

    /// RFC 9001 §A.2, §A.3, §A.5.
    #[test]
    fn masks_are_the_standards() {
        for (algorithm, key, sample, mask) in [
            (
                Algorithm::Aes128Gcm,
                "9f50449e04a0e810283a1e9933adedd2",
                "d1b1c98dd7689fb8ec11d242b123dc9b",
                "437b9aec36",
            ),
            (
                Algorithm::Aes128Gcm,
                "c206b8d9b9f0f37644430b490eeaa314",
                "2cd0991cd25b0aac406a5816b6394100",
                "2ec0d8356a",
            ),
            (
                Algorithm::ChaCha20Poly1305,
                "25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4",
                "5e5cd55c41f69080575d7999c25a5bfb",
                "aefefe7d03",
            ),
        ] {
            let key = HeaderMask::new(algorithm, &bytes(key)).unwrap();
            let sample = bytes(sample).try_into().unwrap();
            assert_eq!(key.mask(&sample)[..], bytes(mask));
        }
    }

    #[test]
    fn a_key_of_another_length_or_algorithm_is_none() {
        for (algorithm, bytes) in [
            (Algorithm::Aes128Gcm, 32),
            (Algorithm::Aes256Gcm, 16),
            (Algorithm::ChaCha20Poly1305, 16),
            (Algorithm::Aes128Ctr, 16),
        ] {
            assert!(HeaderMask::new(algorithm, &vec![1; bytes]).is_none());
        }
    }
}
