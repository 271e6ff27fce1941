//! The hash of a message, chunk by chunk.

use super::{BLOCK_BYTES, GROUP, Keys};
use crate::Segment;
use crate::kernels::native::ghash::{Factor, Sum};
use crate::kernels::native::lanes::Lanes;

/// A hash on its way: sums of products with the powers of a chunk, so many blocks that
/// there are powers for.
pub(super) struct Hash<V> {
    keys: Keys,
    pub(super) sum: Sum<V>,
    /// What was hashed before, for the next register.
    pub(super) before: V,
    /// Of the next block.
    power: *const u8,
    /// Of the chunk.
    blocks_left: usize,
    /// Behind the chunk.
    blocks_after: usize,
}

impl<V: Lanes> Hash<V> {
    /// Begins with `aad`, `blocks` follow it, in groups but for the last few.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn begin(keys: Keys, before: V, aad: Segment, blocks: usize) -> Self {
        // SAFETY: the caller's word.
        unsafe {
            let mut own = Self {
                keys,
                sum: Sum::zero(),
                before,
                power: keys.powers_end,
                blocks_left: 0,
                blocks_after: 0,
            };
            let (mut from, mut left) = (aad.address, aad.len);
            while left > V::BLOCKS * BLOCK_BYTES {
                own.chunk(V::BLOCKS, 0);
                own.add(V::load(from));
                own.end();
                from = from.add(V::BLOCKS * BLOCK_BYTES);
                left -= V::BLOCKS * BLOCK_BYTES;
            }
            own.chunk(left.div_ceil(BLOCK_BYTES), blocks);
            if left > 0 {
                own.add(V::load_bytes(from, left));
                own.power = keys.powers_of(own.blocks_left);
                own.pass(0);
            }
            own
        }
    }

    /// Begins a chunk of `first` blocks and as many of `blocks` as there are powers for.
    #[inline(always)]
    fn chunk(&mut self, first: usize, blocks: usize) {
        let group = GROUP * V::BLOCKS;
        let whole = (self.keys.powers - first) / group * group;
        self.blocks_left = if first + blocks <= self.keys.powers {
            blocks
        } else {
            whole
        };
        self.blocks_after = blocks - self.blocks_left;
        self.power = self.keys.powers_of(first + self.blocks_left);
    }

    /// Adds a register of ciphertext.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, text: V) {
        // SAFETY: the caller's word; behind the powers there is something to read.
        unsafe {
            let block = text.reversed().xor(self.before);
            self.sum.add(block, Factor::load(self.power));
            self.before = V::zero();
            self.power = self.power.add(V::BLOCKS * BLOCK_BYTES);
        }
    }

    /// Adds a group.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn add_group(&mut self, texts: &[V; GROUP]) {
        let mut index = 0;
        while index < GROUP {
            // SAFETY: the caller's.
            unsafe { self.add(texts[index]) };
            index += 1;
        }
        // SAFETY: the caller's.
        unsafe { self.pass(GROUP) };
    }

    /// As many registers were added, with which a chunk may end.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn pass(&mut self, registers: usize) {
        self.blocks_left = self.blocks_left.saturating_sub(registers * V::BLOCKS);
        if self.blocks_left == 0 && self.blocks_after > 0 {
            // SAFETY: the caller's.
            unsafe { self.end() };
            self.chunk(0, self.blocks_after);
        }
    }

    /// Ends a chunk: its hash is before the next.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn end(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.before = self.sum.reduced().added();
            self.sum = Sum::zero();
        }
    }
}
