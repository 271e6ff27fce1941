//! Two blocks a register: VAES on 256-bit registers.

use std::arch::x86_64::*;

use super::lanes::{Block, Lanes, first_part, load_part, operations, store_part};
use super::x128::backwards;

impl Lanes for __m256i {
    const BLOCKS: usize = 2;

    operations! {
        fn zero() -> Self = _mm256_setzero_si256();
        fn load(from: *const u8) -> Self = _mm256_loadu_si256(from.cast());
        fn load_blocks(from: *const u8, count: usize) -> Self =
            if count == 2 { Self::load(from) } else { _mm256_zextsi128_si256(__m128i::load(from)) };
        fn store(self: Self, to: *mut u8) = _mm256_storeu_si256(to.cast(), self);
        fn store_blocks(self: Self, to: *mut u8, count: usize) =
            if count == 2 { self.store(to) } else { _mm256_castsi256_si128(self).store(to) };
        fn broadcast(block: *const Block) -> Self =
            _mm256_broadcastsi128_si256(__m128i::load(block.cast()));
        fn xor(self: Self, other: Self) -> Self = _mm256_xor_si256(self, other);
        fn xor3(self: Self, second: Self, third: Self) -> Self = self.xor(second).xor(third);
        fn encrypt_round(self: Self, key: Self) -> Self = _mm256_aesenc_epi128(self, key);
        fn encrypt_last_round(self: Self, key: Self) -> Self = _mm256_aesenclast_epi128(self, key);
        fn decrypt_round(self: Self, key: Self) -> Self = _mm256_aesdec_epi128(self, key);
        fn decrypt_last_round(self: Self, key: Self) -> Self = _mm256_aesdeclast_epi128(self, key);
        fn ramp(tweak: *const Block) -> Self = {
            let bits = _mm256_setr_epi64x(0, 0, 1, 1);
            times(Self::broadcast(tweak), bits)
        };
        fn times_x(self: Self, bits: usize) -> Self = times(self, _mm256_set1_epi64x(bits as i64));
        fn times_x_of_eight(self: Self) -> Self = {
            let carried = _mm256_bsrli_epi128::<14>(self);
            _mm256_bslli_epi128::<2>(self).xor(_mm256_clmulepi64_epi128::<0x00>(carried, polynomial()))
        };
        fn add_halves(self: Self, other: Self) -> Self = _mm256_add_epi64(self, other);
        fn reversed(self: Self) -> Self =
            _mm256_shuffle_epi8(self, _mm256_broadcastsi128_si256(backwards()));
        fn preceded_by(self: Self, before: Self) -> Self =
            _mm256_permute2x128_si256::<0x21>(before, self);
        fn low_low(self: Self, other: Self) -> Self = _mm256_clmulepi64_epi128::<0x00>(self, other);
        fn high_high(self: Self, other: Self) -> Self = _mm256_clmulepi64_epi128::<0x11>(self, other);
        fn low_high(self: Self, other: Self) -> Self = _mm256_clmulepi64_epi128::<0x10>(self, other);
        fn swapped(self: Self) -> Self = _mm256_shuffle_epi32::<0x4e>(self);
        fn added(self: Self) -> Self = {
            let upper = _mm256_extracti128_si256::<1>(self);
            _mm256_zextsi128_si256(_mm256_castsi256_si128(self).xor(upper))
        };
        fn first_block(self: Self) -> Block = {
            let mut block = [0; 16];
            _mm_storeu_si128(block.as_mut_ptr().cast(), _mm256_castsi256_si128(self));
            block
        };
        fn zero_but_first(block: *const Block) -> Self =
            _mm256_zextsi128_si256(__m128i::load(block.cast()));
        fn load_bytes(from: *const u8, bytes: usize) -> Self =
            if bytes == 32 { Self::load(from) } else { load_part(from, bytes) };
        fn store_bytes(self: Self, to: *mut u8, bytes: usize) =
            if bytes == 32 { self.store(to) } else { store_part(self, to, bytes) };
        fn first_bytes(self: Self, bytes: usize) -> Self =
            if bytes == 32 { self } else { first_part(self, bytes) };
        fn gather(from: *const *const u8, offset: usize, count: usize, to: *mut Self, stride: usize) = {
            let first = Self::load_blocks((*from).add(offset), count);
            let second = Self::load_blocks((*from.add(1)).add(offset), count);
            *to = _mm256_permute2x128_si256::<0x20>(first, second);
            *to.add(stride) = _mm256_permute2x128_si256::<0x31>(first, second);
        };
        fn scatter(from: *const Self, stride: usize, to: *const *mut u8, offset: usize, count: usize) = {
            let (first, second) = (*from, *from.add(stride));
            let messages = [
                _mm256_permute2x128_si256::<0x20>(first, second),
                _mm256_permute2x128_si256::<0x31>(first, second),
            ];
            messages[0].store_blocks((*to).add(offset), count);
            messages[1].store_blocks((*to.add(1)).add(offset), count);
        };
    }
}

/// Each half of each block shifted up by as many bits, with what is shifted
/// out of the lower half into the upper, and out of the upper times
/// x⁷ + x² + x + 1 into the lower.
///
/// # Safety
/// The CPU has AVX2 and VPCLMULQDQ.
#[inline(always)]
unsafe fn times(blocks: __m256i, bits: __m256i) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let carried = _mm256_srlv_epi64(blocks, _mm256_sub_epi64(_mm256_set1_epi64x(64), bits));
        let low = _mm256_clmulepi64_epi128::<0x01>(carried, polynomial());
        _mm256_sllv_epi64(blocks, bits).xor3(_mm256_bslli_epi128::<8>(carried), low)
    }
}

/// # Safety
/// The CPU has AVX.
#[inline(always)]
unsafe fn polynomial() -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_setr_epi64x(0x87, 0, 0x87, 0) }
}
