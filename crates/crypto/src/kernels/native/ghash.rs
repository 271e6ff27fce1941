//! GHASH (SP 800-38D §6.4) on registers of one, two or four blocks.
//!
//! Blocks are byte-reversed, so that a register's bits are a polynomial's in reverse. The
//! product of two such is one bit short; the hash key, and with it each power, has that bit
//! put in beforehand (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and
//! its Usage for Computing the GCM Mode", 2010, algorithm 5; the reduction by two more
//! multiplications is Gueron's of 2013). Products of many blocks are added before they are
//! reduced, since a reduction costs as much as a product; and a product is three
//! multiplications instead of four (Karatsuba's), with sums that are kept with the powers.

use std::arch::x86_64::__m128i;
use std::mem::MaybeUninit;

use super::lanes::{Block, Lanes};

const BLOCK_BYTES: usize = 16;
/// Powers of the hash key: as many blocks are hashed with one reduction, groups and the
/// lengths of a message.
pub(super) const POWERS: usize = 69;
/// That there are from the beginning: a register's.
const FIRST: usize = 4;
/// For messages that are longer than that: a group's of the widest registers.
pub(super) const LEAST: usize = 16;
/// In front, so that registers of the powers below the highest are aligned.
const PAD: usize = 3;
/// Behind the first power: read for blocks that are none.
const SPARE: usize = 4;
const PLACES: usize = PAD + POWERS + SPARE;
/// From a power to the sum of its halves.
const TO_SUMS: usize = PLACES * BLOCK_BYTES;

/// `x^127 + x^126 + x^121 + 1`, what `x^-1` times the field's polynomial is, in reverse.
const POLYNOMIAL: [u64; 2] = [1, 0xc2 << 56];

/// The hash key's powers from the highest to the first, then the sums of their halves.
/// Wiped on drop.
#[repr(C, align(64))]
pub(in crate::kernels) struct Powers {
    places: [[Block; PLACES]; 2],
    /// Powers that there are.
    count: usize,
    /// Most that there were: those of keys before are to be wiped, too.
    most: usize,
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Powers {
    pub(super) const BLANK: Self = Self {
        places: [[[0; BLOCK_BYTES]; PLACES]; 2],
        count: 0,
        most: 0,
    };

    /// In memory that need not be zeroed before; there are no powers yet.
    #[inline(always)]
    pub(super) fn begin_in(memory: &mut MaybeUninit<Self>) -> &mut Self {
        let at = memory.as_mut_ptr();
        // SAFETY: counts are all that has to be there: places are read by address alone,
        // and after they were written, or for what is thrown away.
        unsafe {
            (&raw mut (*at).count).write(0);
            (&raw mut (*at).most).write(0);
            &mut *at
        }
    }

    /// Zeroes those that there are and were.
    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        let bytes = self.count.max(self.most).next_multiple_of(FIRST) * BLOCK_BYTES;
        let start = self.end().cast_mut().wrapping_sub(bytes);
        for start in [start, start.wrapping_add(TO_SUMS)] {
            // SAFETY: ours.
            unsafe { aws_lc_sys::OPENSSL_cleanse(start.cast(), bytes) };
        }
        (self.count, self.most) = (0, 0);
    }

    /// The first powers alone: a register's of four blocks.
    ///
    /// # Safety
    /// The CPU has PCLMULQDQ, and this is compiled for it.
    #[inline(always)]
    pub(super) unsafe fn begin(&mut self, key: &Block) {
        let first = shifted(u128::from_be_bytes(*key)).to_le_bytes();
        self.count = FIRST;
        let end = self.end().cast_mut();
        // SAFETY: the caller's; all is our own memory.
        unsafe {
            let first = __m128i::broadcast(&first);
            let mut power = first;
            let mut index = 1;
            loop {
                let at = end.sub(index * BLOCK_BYTES);
                power.store(at);
                power.xor(power.swapped()).store(at.add(TO_SUMS));
                if index == FIRST {
                    return;
                }
                let mut sum = Sum::zero();
                sum.add(power, Factor::broadcast(end.sub(BLOCK_BYTES)));
                power = sum.reduced();
                index += 1;
            }
        }
    }

    /// The first four, which were made before.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, and this is compiled for them.
    #[inline(always)]
    pub(super) unsafe fn begin_with<V: Lanes>(&mut self, powers: *const [Block; FIRST]) {
        self.most = self.most.max(self.count);
        self.count = FIRST;
        let to = self.end().wrapping_sub(FIRST * BLOCK_BYTES).cast_mut();
        let mut at = 0;
        while at < FIRST * BLOCK_BYTES {
            // SAFETY: the caller's; all is our own memory.
            unsafe {
                let powers = V::load(powers.cast::<u8>().add(at));
                powers.store(to.add(at));
                powers.xor(powers.swapped()).store(to.add(at + TO_SUMS));
            }
            at += V::BLOCKS * BLOCK_BYTES;
        }
    }

    /// The first four.
    pub(super) fn first(&self) -> &[Block; FIRST] {
        let first = &self.places[0][PAD + POWERS - FIRST..];
        first.first_chunk().expect("there are more")
    }

    /// Makes powers up to `count` at least, which is [`POWERS`] at most: each time as many
    /// as there are, since none of them waits for another.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, and this is compiled for them.
    #[inline(always)]
    pub(super) unsafe fn extend<V: Lanes>(&mut self, count: usize) {
        let end = self.end().cast_mut();
        while self.count < count {
            let (have, want) = (self.count, count.min(2 * self.count));
            // SAFETY: the caller's; what is made beyond the highest power goes to the pad.
            unsafe {
                let factor = Factor::broadcast(end.sub(have * BLOCK_BYTES));
                while self.count < want {
                    self.count += V::BLOCKS;
                    let at = end.sub(self.count * BLOCK_BYTES);
                    let mut sum = Sum::zero();
                    sum.add(V::load(at.add(have * BLOCK_BYTES)), factor);
                    let next = sum.reduced();
                    next.store(at);
                    next.xor(next.swapped()).store(at.add(TO_SUMS));
                }
            }
        }
        self.count = self.count.min(POWERS);
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Behind the first power.
    #[inline(always)]
    pub(super) fn end(&self) -> *const u8 {
        let start = self.places.as_ptr().cast::<u8>();
        start.wrapping_add((PAD + POWERS) * BLOCK_BYTES)
    }
}

/// Times x, in reverse: a shift to the left, and the polynomial where a bit falls out.
fn shifted(key: u128) -> u128 {
    let carry = key >> 127;
    let polynomial = u128::from(POLYNOMIAL[1]) << 64 | u128::from(POLYNOMIAL[0]);
    key << 1 ^ carry.wrapping_neg() & polynomial
}

/// Powers and the sums of their halves.
#[derive(Clone, Copy)]
pub(super) struct Factor<V>(V, V);

impl<V: Lanes> Factor<V> {
    /// # Safety
    /// As for [`Powers::extend`]; `from` is a place of [`Powers`].
    #[inline(always)]
    pub(super) unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe { Self(V::load(from), V::load(from.add(TO_SUMS))) }
    }

    /// # Safety
    /// As for [`Self::load`].
    #[inline(always)]
    pub(super) unsafe fn broadcast(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe {
            Self(
                V::broadcast(from.cast()),
                V::broadcast(from.add(TO_SUMS).cast()),
            )
        }
    }
}

/// Products that are added and not reduced yet.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    low: V,
    /// Of the sums of halves.
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
    pub(super) unsafe fn add(&mut self, blocks: V, Factor(powers, sums): Factor<V>) {
        // SAFETY: the caller's.
        unsafe {
            self.low = self.low.xor(blocks.low_low(powers));
            self.high = self.high.xor(blocks.high_high(powers));
            let halves = blocks.xor(blocks.swapped());
            self.middle = self.middle.xor(halves.low_low(sums));
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
            let middle = self.middle.xor3(self.low, self.high);
            let folded = self.low.low_high(polynomial);
            let middle = middle.xor3(self.low.swapped(), folded);
            let folded = middle.low_high(polynomial);
            self.high.xor3(middle.swapped(), folded)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[target_feature(enable = "aes,pclmulqdq,ssse3,sse4.1")]
    fn two_keys(powers: &mut Powers) {
        // SAFETY: compiled for the instructions, which the caller looked for.
        unsafe {
            powers.begin(&[7; 16]);
            let first = *powers.first();
            for count in [POWERS, 5] {
                powers.begin_with::<__m128i>(&first);
                powers.extend::<__m128i>(count);
            }
        }
    }

    /// A key with few powers behind one with many leaves none of those.
    #[test]
    fn powers_of_all_keys_are_wiped() {
        if crate::instructions() < crate::Instructions::AesNi {
            return testing::skipped("no AES-NI here");
        }
        let mut powers = Box::new(Powers::BLANK);
        // SAFETY: the CPU has AES-NI, and what the sets say with it.
        unsafe { two_keys(&mut powers) };
        let is_blank = |powers: &Powers| {
            powers
                .places
                .as_flattened()
                .as_flattened()
                .iter()
                .all(|byte| *byte == 0)
        };
        assert!(powers.count() == 5 && !is_blank(&powers));
        powers.wipe();
        assert!(is_blank(&powers));
    }
}
