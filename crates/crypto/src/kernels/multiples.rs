//! LRW's second key times the numbers of blocks, in GF(2¹²⁸) modulo
//! x¹²⁸ + x⁷ + x² + x + 1, a block's first byte being the highest (IEEE P1619/D5, as
//! Linux has it). Numbers are public: only they choose what is looked up.

use zeroize::Zeroize;

/// Numbers whose products are kept side by side.
pub(super) const NEAR: usize = 64;

/// Products as blocks, so that they are xored to text as they are. Wiped on drop.
#[repr(C, align(64))]
pub(super) struct Multiples {
    /// Of 0 to 63.
    near: [u128; NEAR],
    /// Of powers of two.
    powers: [u128; 128],
}

impl Multiples {
    /// Boxed, so that moving it leaves no copy behind.
    pub fn new(key: &[u8; 16]) -> Box<Self> {
        let mut own = Box::new(Self {
            near: [0; NEAR],
            powers: [0; 128],
        });
        let mut product = u128::from_be_bytes(*key);
        for power in &mut own.powers {
            *power = product.to_be();
            product = (product << 1) ^ (0x87 & 0_u128.wrapping_sub(product >> 127));
        }
        for number in 1..NEAR {
            let below = number & (number - 1);
            let power = number.trailing_zeros() as usize;
            own.near[number] = own.near[below] ^ own.powers[power];
        }
        own
    }

    /// The address of the product of `number`, below [`NEAR`], with those that follow.
    pub fn near(&self, number: usize) -> *const u8 {
        self.near[number..].as_ptr().cast()
    }
}

impl Drop for Multiples {
    fn drop(&mut self) {
        self.near.zeroize();
        self.powers.zeroize();
    }
}

/// The product of a multiple of 64; the next is often a few bits away.
pub(super) struct Far<'k> {
    multiples: &'k Multiples,
    number: u128,
    product: u128,
}

impl<'k> Far<'k> {
    pub fn new(multiples: &'k Multiples) -> Self {
        Self {
            multiples,
            number: 0,
            product: 0,
        }
    }

    /// The product of `number` without its lowest six bits.
    #[inline(always)]
    pub fn at(&mut self, number: u128) -> u128 {
        let number = number & !(NEAR as u128 - 1);
        let mut changed = self.number ^ number;
        while changed > 0 {
            self.product ^= self.multiples.powers[changed.trailing_zeros() as usize & 127];
            changed &= changed - 1;
        }
        self.number = number;
        self.product
    }

    /// The product of any number.
    #[inline(always)]
    pub fn product(&mut self, number: u128) -> u128 {
        self.at(number) ^ self.multiples.near[number as usize % NEAR]
    }
}

impl Drop for Far<'_> {
    fn drop(&mut self) {
        self.product.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit.
    fn times(key: u128, number: u128) -> u128 {
        let mut product = 0;
        for bit in (0..128).rev() {
            product = (product << 1) ^ if product >> 127 == 1 { 0x87 } else { 0 };
            product ^= if number >> bit & 1 == 1 { key } else { 0 };
        }
        product
    }

    #[test]
    fn products_are_those_of_long_multiplication() {
        let key = 0xfe91_0000_1234_5678_9abc_def0_0f1e_2d3c;
        let multiples = Multiples::new(&u128::to_be_bytes(key));
        let mut far = Far::new(&multiples);
        for start in [
            0,
            1,
            62,
            1 << 63,
            u128::MAX - 70,
            0x0123_4567_89ab_cdef << 61,
        ] {
            for number in (0..150).map(|step| start.wrapping_add(step)) {
                assert_eq!(
                    far.product(number),
                    times(key, number).to_be(),
                    "{number:x}"
                );
            }
        }
    }
}
