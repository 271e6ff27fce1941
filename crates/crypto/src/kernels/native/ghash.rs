//! GHASH (SP 800-38D §6.4) on registers of one, two or four blocks.
//!
//! Blocks are byte-reversed, so that a register's bits are a polynomial's in reverse. The
//! product of two such is one bit short; the hash key, and with it each power, has that bit
//! put in beforehand (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and
//! its Usage for Computing the GCM Mode", 2010, algorithm 5; the reduction by two more
//! multiplications is Gueron's of 2013). Products of many blocks are added before they are
//! reduced, since a reduction costs half as much as a product.

use std::arch::x86_64::__m128i;

use super::lanes::{Block, Lanes};

/// Powers of the hash key: as many blocks are hashed with one reduction.
pub(super) const POWERS: usize = 33;
/// Read behind the last power, for blocks that are none.
const SPARE: usize = 3;

/// `x^127 + x^126 + x^121 + 1`, what `x^-1` times the field's polynomial is, in reverse.
const POLYNOMIAL: [u64; 2] = [1, 0xc2 << 56];

/// The hash key's powers from the highest to the first. Wiped on drop with the key.
#[repr(C, align(64))]
pub(in crate::kernels) struct Powers(pub(in crate::kernels) [Block; POWERS + SPARE]);

impl Powers {
    pub(in crate::kernels) const BLANK: Self = Self([[0; 16]; POWERS + SPARE]);

    /// Fills in the powers of the hash key, an encrypted block of zeros.
    ///
    /// # Safety
    /// The CPU has PCLMULQDQ and SSSE3, and this is compiled for them.
    #[inline(always)]
    pub(super) unsafe fn fill(&mut self, key: &Block) {
        let first = shifted(u128::from_be_bytes(*key)).to_le_bytes();
        // SAFETY: the caller's; all is our own memory.
        unsafe {
            let first = __m128i::load(first.as_ptr());
            let mut power = first;
            let mut at = POWERS;
            while at > 0 {
                at -= 1;
                power.store(self.0[at].as_mut_ptr());
                let mut sum = Sum::zero();
                sum.add(power, first);
                power = sum.reduced();
            }
        }
    }

    /// Where the powers of `blocks` blocks begin.
    #[inline(always)]
    pub(super) fn of(&self, blocks: usize) -> *const u8 {
        self.0[POWERS - blocks..].as_ptr().cast()
    }
}

/// Times x, in reverse: a shift to the left, and the polynomial where a bit falls out.
fn shifted(key: u128) -> u128 {
    let carry = key >> 127;
    let polynomial = u128::from(POLYNOMIAL[1]) << 64 | u128::from(POLYNOMIAL[0]);
    key << 1 ^ carry.wrapping_neg() & polynomial
}

/// Products that are added and not reduced yet.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    low: V,
    middle: V,
    high: V,
}

impl<V: Lanes> Sum<V> {
    /// # Safety
    /// The CPU has the instructions of `V`; so for all that follow.
    #[inline(always)]
    pub(super) unsafe fn zero() -> Self {
        // SAFETY: the caller's.
        let zero = unsafe { V::zero() };
        Self {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Adds each block times its power.
    ///
    /// # Safety
    /// As for [`Self::zero`].
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, blocks: V, powers: V) {
        // SAFETY: the caller's.
        unsafe {
            self.low = self.low.xor(blocks.low_low(powers));
            self.high = self.high.xor(blocks.high_high(powers));
            let (one, other) = (blocks.low_high(powers), blocks.high_low(powers));
            self.middle = self.middle.xor3(one, other);
        }
    }

    /// The remainder by the field's polynomial, in each place.
    ///
    /// # Safety
    /// As for [`Self::zero`].
    #[inline(always)]
    pub(super) unsafe fn reduced(self) -> V {
        // SAFETY: the caller's; a block is read.
        unsafe {
            let polynomial = V::broadcast(POLYNOMIAL.as_ptr().cast());
            let folded = self.low.low_high(polynomial);
            let middle = self.middle.xor3(self.low.swapped(), folded);
            let folded = middle.low_high(polynomial);
            self.high.xor3(middle.swapped(), folded)
        }
    }
}
