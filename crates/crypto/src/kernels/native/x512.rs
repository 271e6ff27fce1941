//! Four blocks a register: VAES on 512-bit registers.

use std::arch::x86_64::*;

use super::lanes::{Block, Lanes, operations};
use super::x128::backwards;

impl Lanes for __m512i {
    const BLOCKS: usize = 4;

    operations! {
        fn zero() -> Self = _mm512_setzero_si512();
        fn load(from: *const u8) -> Self = _mm512_loadu_si512(from.cast());
        fn load_blocks(from: *const u8, count: usize) -> Self =
            _mm512_maskz_loadu_epi64(halves(count), from.cast());
        fn store(self: Self, to: *mut u8) = _mm512_storeu_si512(to.cast(), self);
        fn store_blocks(self: Self, to: *mut u8, count: usize) =
            _mm512_mask_storeu_epi64(to.cast(), halves(count), self);
        fn broadcast(block: *const Block) -> Self =
            _mm512_broadcast_i32x4(_mm_loadu_si128(block.cast()));
        fn xor(self: Self, other: Self) -> Self = _mm512_xor_si512(self, other);
        fn xor3(self: Self, second: Self, third: Self) -> Self =
            _mm512_ternarylogic_epi64::<0x96>(self, second, third);
        fn encrypt_round(self: Self, key: Self) -> Self = _mm512_aesenc_epi128(self, key);
        fn encrypt_last_round(self: Self, key: Self) -> Self = _mm512_aesenclast_epi128(self, key);
        fn decrypt_round(self: Self, key: Self) -> Self = _mm512_aesdec_epi128(self, key);
        fn decrypt_last_round(self: Self, key: Self) -> Self = _mm512_aesdeclast_epi128(self, key);
        fn ramp(tweak: *const Block) -> Self = {
            let bits = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3);
            times(Self::broadcast(tweak), bits)
        };
        fn times_x(self: Self, bits: usize) -> Self = times(self, _mm512_set1_epi64(bits as i64));
        fn times_x_of_eight(self: Self) -> Self = {
            let carried = _mm512_bsrli_epi128::<12>(self);
            _mm512_bslli_epi128::<4>(self).xor(_mm512_clmulepi64_epi128::<0x00>(carried, polynomial()))
        };
        fn now(registers: [Self; 3]) -> [Self; 3] = now(registers);
        fn add_halves(self: Self, other: Self) -> Self = _mm512_add_epi64(self, other);
        fn reversed(self: Self) -> Self =
            _mm512_shuffle_epi8(self, _mm512_broadcast_i32x4(backwards()));
        fn preceded_by(self: Self, before: Self) -> Self =
            _mm512_alignr_epi64::<6>(self, before);
        fn low_low(self: Self, other: Self) -> Self = _mm512_clmulepi64_epi128::<0x00>(self, other);
        fn high_high(self: Self, other: Self) -> Self = _mm512_clmulepi64_epi128::<0x11>(self, other);
        fn low_high(self: Self, other: Self) -> Self = _mm512_clmulepi64_epi128::<0x10>(self, other);
        fn swapped(self: Self) -> Self = _mm512_shuffle_epi32::<0x4e>(self);
        fn added(self: Self) -> Self = {
            let upper = _mm512_extracti64x4_epi64::<1>(self);
            let two = _mm256_xor_si256(_mm512_castsi512_si256(self), upper);
            let upper = _mm256_extracti128_si256::<1>(two);
            _mm512_zextsi128_si512(_mm_xor_si128(_mm256_castsi256_si128(two), upper))
        };
        fn first_block(self: Self) -> Block = {
            let mut block = [0; 16];
            _mm_storeu_si128(block.as_mut_ptr().cast(), _mm512_castsi512_si128(self));
            block
        };
        fn zero_but_first(block: *const Block) -> Self =
            _mm512_zextsi128_si512(_mm_loadu_si128(block.cast()));
        fn load_bytes(from: *const u8, bytes: usize) -> Self =
            _mm512_maskz_loadu_epi8(first(bytes), from.cast());
        fn store_bytes(self: Self, to: *mut u8, bytes: usize) =
            _mm512_mask_storeu_epi8(to.cast(), first(bytes), self);
        fn first_bytes(self: Self, bytes: usize) -> Self =
            _mm512_maskz_mov_epi8(first(bytes), self);
        fn gather(from: *const *const u8, offset: usize, count: usize, to: *mut Self, stride: usize) = {
            let mut messages = [Self::zero(); 4];
            let mut index = 0;
            while index < 4 {
                let at = (*from.add(index)).add(offset);
                messages[index] =
                    if count == 4 { Self::load(at) } else { Self::load_blocks(at, count) };
                index += 1;
            }
            let blocks = transposed(messages);
            let mut index = 0;
            while index < 4 {
                *to.add(index * stride) = blocks[index];
                index += 1;
            }
        };
        fn scatter(from: *const Self, stride: usize, to: *const *mut u8, offset: usize, count: usize) = {
            let messages = transposed([
                *from,
                *from.add(stride),
                *from.add(2 * stride),
                *from.add(3 * stride),
            ]);
            let mut index = 0;
            while index < 4 {
                let at = (*to.add(index)).add(offset);
                if count == 4 {
                    messages[index].store(at);
                } else {
                    messages[index].store_blocks(at, count);
                }
                index += 1;
            }
        };
    }
}

/// A function with the feature, since registers of this size cannot be named
/// without.
#[inline]
#[target_feature(enable = "avx512f")]
fn now([mut a, mut b, mut c]: [__m512i; 3]) -> [__m512i; 3] {
    // SAFETY: no instruction at all.
    unsafe {
        std::arch::asm!(
            "/* {0} {1} {2} */",
            inout(zmm_reg) a,
            inout(zmm_reg) b,
            inout(zmm_reg) c,
            options(nomem, nostack, preserves_flags)
        );
    }
    [a, b, c]
}

/// A mask for the 64-bit halves of `count` blocks, 1 to 4.
#[inline(always)]
fn halves(count: usize) -> __mmask8 {
    u8::MAX >> (8 - 2 * count)
}

/// A mask for the first `bytes` bytes, 1 to 64.
#[inline(always)]
fn first(bytes: usize) -> __mmask64 {
    u64::MAX >> (64 - bytes)
}

/// Rows to columns, of blocks.
///
/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn transposed([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    // SAFETY: the caller's.
    unsafe {
        let ab_low = _mm512_shuffle_i32x4::<0x44>(a, b);
        let ab_high = _mm512_shuffle_i32x4::<0xee>(a, b);
        let cd_low = _mm512_shuffle_i32x4::<0x44>(c, d);
        let cd_high = _mm512_shuffle_i32x4::<0xee>(c, d);
        [
            _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
            _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
            _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
        ]
    }
}

/// Each half of each block shifted up by as many bits, with what is shifted
/// out of the lower half into the upper, and out of the upper times
/// x⁷ + x² + x + 1 into the lower.
///
/// # Safety
/// The CPU has AVX-512 F and BW, and VPCLMULQDQ.
#[inline(always)]
unsafe fn times(blocks: __m512i, bits: __m512i) -> __m512i {
    // SAFETY: the caller's.
    unsafe {
        let carried = _mm512_srlv_epi64(blocks, _mm512_sub_epi64(_mm512_set1_epi64(64), bits));
        let low = _mm512_clmulepi64_epi128::<0x01>(carried, polynomial());
        _mm512_sllv_epi64(blocks, bits).xor3(_mm512_bslli_epi128::<8>(carried), low)
    }
}

/// # Safety
/// The CPU has AVX-512 F.
#[inline(always)]
unsafe fn polynomial() -> __m512i {
    // SAFETY: the caller's.
    unsafe { _mm512_setr_epi64(0x87, 0, 0x87, 0, 0x87, 0, 0x87, 0) }
}
