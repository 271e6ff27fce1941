//! AES a block at a time: what a program calls for a mode that no library has, and a
//! yardstick for ours.

use aws_lc_sys as lc;

use super::aes_key::AesKey;

/// A key for single blocks, by AWS-LC. Zeroised on drop.
pub struct BlockCipher {
    encrypting: AesKey,
    decrypting: AesKey,
}

impl BlockCipher {
    /// `None` unless `key` has 16, 24 or 32 bytes.
    pub fn new(key: &[u8]) -> Option<Self> {
        Some(Self {
            encrypting: AesKey::encrypting(key)?,
            decrypting: AesKey::decrypting(key)?,
        })
    }

    /// Encrypts (or decrypts) one block.
    #[inline]
    pub fn run(&self, encrypt: bool, block: u128) -> u128 {
        let (from, mut to) = (block.to_ne_bytes(), [0; 16]);
        // SAFETY: one block each, and a schedule for the direction.
        unsafe {
            if encrypt {
                lc::AES_encrypt(from.as_ptr(), to.as_mut_ptr(), self.encrypting.as_ptr());
            } else {
                lc::AES_decrypt(from.as_ptr(), to.as_mut_ptr(), self.decrypting.as_ptr());
            }
        }
        u128::from_ne_bytes(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.1.
    #[test]
    fn a_block_is_the_standards() {
        let of = |digits: [u8; 16]| u128::from_ne_bytes(digits);
        let key = std::array::from_fn::<u8, 16, _>(|at| at as u8);
        let text = of(std::array::from_fn(|at| at as u8 * 0x11));
        let wanted = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
        let cipher = BlockCipher::new(&key).unwrap();
        assert_eq!(cipher.run(true, text), of(wanted));
        assert_eq!(cipher.run(false, of(wanted)), text);
        assert!(BlockCipher::new(&key[1..]).is_none());
    }
}
