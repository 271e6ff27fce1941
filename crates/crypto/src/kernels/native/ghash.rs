//! GHASH (SP 800-38D §6.4) on registers of one, two or four blocks.
//!
//! Blocks are byte-reversed, so that a register's bits are a polynomial's in reverse. The
//! product of two such is one bit short; the hash key, and with it each power, has that bit
//! put in beforehand (Gueron and Kounavis, "Intel Carry-Less Multiplication Instruction and
//! its Usage for Computing the GCM Mode", 2010, algorithm 5; the reduction by two more
//! multiplications is Gueron's of 2013). Products of many blocks are added before they are
//! reduced, since a reduction costs as much as a product; and a product is three
//! multiplications instead of four (Karatsuba's), with sums that are kept with the powers.

use zeroize::Zeroize;

use super::lanes::{Block, Lanes};

const BLOCK_BYTES: usize = 16;
/// Powers of the hash key: as many blocks are hashed with one reduction, groups and the
/// lengths of a message.
pub(super) const POWERS: usize = 69;
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
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.places.zeroize();
    }
}

impl Powers {
    pub(super) const BLANK: Self = Self {
        places: [[[0; BLOCK_BYTES]; PLACES]; 2],
        count: 0,
    };

    /// The first power alone, of the hash key: an encrypted block of zeros.
    #[inline(always)]
    pub(super) fn begin(&mut self, key: &Block) {
        self.count = 0;
        let first = shifted(u128::from_be_bytes(*key));
        self.places[0][PAD + POWERS - 1] = first.to_le_bytes();
        self.places[1][PAD + POWERS - 1] = (first ^ first.rotate_right(64)).to_le_bytes();
        self.count = 1;
    }

    /// Makes powers up to `count`, which is [`POWERS`] at most, and more where a register
    /// has more.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`, and this is compiled for them.
    #[inline(always)]
    pub(super) unsafe fn extend<V: Lanes>(&mut self, count: usize) {
        while self.count < count {
            // SAFETY: the caller's; powers begin in front of what is there.
            unsafe {
                if self.count < V::BLOCKS {
                    self.step::<std::arch::x86_64::__m128i>(1);
                } else {
                    self.step::<V>(V::BLOCKS.min(POWERS - self.count));
                }
            }
        }
    }

    /// The next powers, one register of them or the last few: those before times that of
    /// as many blocks.
    ///
    /// # Safety
    /// As for [`Self::extend`].
    #[inline(always)]
    unsafe fn step<V: Lanes>(&mut self, count: usize) {
        let end = self.end();
        // SAFETY: all is our own memory, and there is a pad.
        unsafe {
            let factor = end.sub(count * BLOCK_BYTES);
            let mut sum = Sum::zero();
            let before = V::load(end.sub(self.count.max(V::BLOCKS) * BLOCK_BYTES));
            sum.add(before, Factor::broadcast::<V>(factor));
            let next = sum.reduced();
            let at = end.sub((self.count + count) * BLOCK_BYTES).cast_mut();
            next.store_blocks(at, count);
            next.xor(next.swapped())
                .store_blocks(at.add(TO_SUMS), count);
        }
        self.count += count;
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

impl Factor<()> {
    /// # Safety
    /// As for [`Powers::extend`]; `from` is a place of [`Powers`].
    #[inline(always)]
    pub(super) unsafe fn load<V: Lanes>(from: *const u8) -> Factor<V> {
        // SAFETY: the caller's.
        unsafe { Factor(V::load(from), V::load(from.add(TO_SUMS))) }
    }

    /// # Safety
    /// As for [`Self::load`].
    #[inline(always)]
    pub(super) unsafe fn broadcast<V: Lanes>(from: *const u8) -> Factor<V> {
        // SAFETY: the caller's.
        unsafe {
            Factor(
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
