//! Key expansion (FIPS 197 §5.2), by the instructions themselves: no table.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::lanes::Block;

/// Round keys of AES-256, the most there are, less one.
pub(super) const ROUNDS_MAX: usize = 14;
const WORDS: usize = 4;

/// Round keys in the order of use, both ways. Wiped on drop; keep it boxed
/// and never move it, since that leaves a copy behind.
#[repr(C, align(64))]
pub(crate) struct RoundKeys {
    pub(super) encrypting: [Block; ROUNDS_MAX + 1],
    pub(super) decrypting: [Block; ROUNDS_MAX + 1],
    pub(super) rounds: usize,
}

impl RoundKeys {
    pub const BLANK: Self = Self {
        encrypting: [[0; 16]; ROUNDS_MAX + 1],
        decrypting: [[0; 16]; ROUNDS_MAX + 1],
        rounds: 0,
    };

    /// Fills in the keys that `key`, of 16, 24 or 32 bytes, expands to.
    ///
    /// # Safety
    /// The CPU has AES-NI.
    #[target_feature(enable = "aes")]
    pub(super) unsafe fn expand(&mut self, key: &[u8]) {
        let key_words = key.len() / 4;
        assert!(matches!(key_words, 4 | 6 | 8), "16, 24 or 32 bytes");
        self.rounds = key_words + 6;
        for (index, word) in key.chunks_exact(4).enumerate() {
            self.encrypting.as_flattened_mut()[index * 4..][..4].copy_from_slice(word);
        }
        let mut constant = 1;
        for index in key_words..WORDS * (self.rounds + 1) {
            let mut word = self.word(index - 1);
            if index % key_words == 0 {
                word = substituted(word).rotate_right(8) ^ constant;
                constant = doubled(constant);
            } else if key_words == 8 && index % 8 == 4 {
                word = substituted(word);
            }
            let word = word ^ self.word(index - key_words);
            self.encrypting.as_flattened_mut()[index * 4..][..4]
                .copy_from_slice(&word.to_le_bytes());
        }
        self.invert();
    }

    fn word(&self, index: usize) -> u32 {
        let bytes = &self.encrypting.as_flattened()[index * 4..][..4];
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    /// The keys of the equivalent inverse cipher (FIPS 197 §5.3.5).
    #[target_feature(enable = "aes")]
    fn invert(&mut self) {
        for (index, to) in self.decrypting[..=self.rounds].iter_mut().enumerate() {
            let from = &self.encrypting[self.rounds - index];
            // SAFETY: both are blocks of our own.
            unsafe {
                let key = _mm_loadu_si128(from.as_ptr().cast());
                let outer = index == 0 || index == self.rounds;
                let key = if outer { key } else { _mm_aesimc_si128(key) };
                _mm_storeu_si128(to.as_mut_ptr().cast(), key);
            }
        }
    }
}

/// The S-box on each byte: with four equal columns, the rotation of rows in a
/// last round moves nothing.
#[target_feature(enable = "aes")]
fn substituted(word: u32) -> u32 {
    let columns = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aesenclast_si128(columns, _mm_setzero_si128())).cast_unsigned()
}

/// A round constant times x; how often is public.
fn doubled(constant: u32) -> u32 {
    (constant << 1) ^ if constant & 0x80 > 0 { 0x11b } else { 0 }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.encrypting.zeroize();
        self.decrypting.zeroize();
    }
}
