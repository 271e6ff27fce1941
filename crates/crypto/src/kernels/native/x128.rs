//! One block a register: AES-NI.

use std::arch::x86_64::*;

use super::lanes::{Block, Lanes, first_part, load_part, operations, store_part};

/// x⁷ + x² + x + 1, which x¹²⁸ is.
const POLYNOMIAL: i64 = 0x87;

impl Lanes for __m128i {
    const BLOCKS: usize = 1;

    operations! {
        fn zero() -> Self = _mm_setzero_si128();
        fn load(from: *const u8) -> Self = _mm_loadu_si128(from.cast());
        fn load_blocks(from: *const u8, _count: usize) -> Self = Self::load(from);
        fn store(self: Self, to: *mut u8) = _mm_storeu_si128(to.cast(), self);
        fn store_blocks(self: Self, to: *mut u8, _count: usize) = self.store(to);
        fn broadcast(block: *const Block) -> Self = Self::load(block.cast());
        fn xor(self: Self, other: Self) -> Self = _mm_xor_si128(self, other);
        fn xor3(self: Self, second: Self, third: Self) -> Self = self.xor(second).xor(third);
        fn encrypt_round(self: Self, key: Self) -> Self = _mm_aesenc_si128(self, key);
        fn encrypt_last_round(self: Self, key: Self) -> Self = _mm_aesenclast_si128(self, key);
        fn decrypt_round(self: Self, key: Self) -> Self = _mm_aesdec_si128(self, key);
        fn decrypt_last_round(self: Self, key: Self) -> Self = _mm_aesdeclast_si128(self, key);
        fn ramp(tweak: *const Block) -> Self = Self::load(tweak.cast());
        fn times_x(self: Self, bits: usize) -> Self = {
            let carried = _mm_srl_epi64(self, _mm_cvtsi64_si128(64 - bits as i64));
            let shifted = _mm_sll_epi64(self, _mm_cvtsi64_si128(bits as i64));
            let low = _mm_clmulepi64_si128::<0x01>(carried, _mm_cvtsi64_si128(POLYNOMIAL));
            shifted.xor3(_mm_slli_si128::<8>(carried), low)
        };
        fn times_x_of_eight(self: Self) -> Self = {
            let carried = _mm_srli_si128::<15>(self);
            let low = _mm_clmulepi64_si128::<0x00>(carried, _mm_cvtsi64_si128(POLYNOMIAL));
            _mm_slli_si128::<1>(self).xor(low)
        };
        fn add_halves(self: Self, other: Self) -> Self = _mm_add_epi64(self, other);
        fn reversed(self: Self) -> Self = _mm_shuffle_epi8(self, backwards());
        fn preceded_by(self: Self, before: Self) -> Self = before;
        fn low_low(self: Self, other: Self) -> Self = _mm_clmulepi64_si128::<0x00>(self, other);
        fn high_high(self: Self, other: Self) -> Self = _mm_clmulepi64_si128::<0x11>(self, other);
        fn low_high(self: Self, other: Self) -> Self = _mm_clmulepi64_si128::<0x10>(self, other);
        fn swapped(self: Self) -> Self = _mm_shuffle_epi32::<0x4e>(self);
        fn added(self: Self) -> Self = self;
        fn first_block(self: Self) -> Block = {
            let mut block = [0; 16];
            _mm_storeu_si128(block.as_mut_ptr().cast(), self);
            block
        };
        fn zero_but_first(block: *const Block) -> Self = Self::load(block.cast());
        fn load_bytes(from: *const u8, bytes: usize) -> Self =
            if bytes == 16 { Self::load(from) } else { load_part(from, bytes) };
        fn store_bytes(self: Self, to: *mut u8, bytes: usize) =
            if bytes == 16 { self.store(to) } else { store_part(self, to, bytes) };
        fn first_bytes(self: Self, bytes: usize) -> Self =
            if bytes == 16 { self } else { first_part(self, bytes) };
        fn gather(from: *const *const u8, offset: usize, _count: usize, to: *mut Self, _stride: usize) = {
            *to = Self::load((*from).add(offset));
        };
        fn scatter(from: *const Self, _stride: usize, to: *const *mut u8, offset: usize, _count: usize) = {
            (*from).store((*to).add(offset));
        };
    }
}

/// A shuffle that reverses a block's bytes.
///
/// # Safety
/// None but SSE2, which x86-64 has.
#[inline(always)]
pub(super) unsafe fn backwards() -> __m128i {
    // SAFETY: SSE2 only.
    unsafe { _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0) }
}
