//! What a key gives to messages.

use super::BLOCK_BYTES;
use crate::kernels::native::ghash::Powers;
use crate::kernels::native::lanes::Block;

/// What a key gives: round keys, and powers of the hash key.
#[derive(Clone, Copy)]
pub(in crate::kernels) struct Keys {
    pub(super) schedule: *const Block,
    /// Behind the first power; the others are before it.
    pub(super) powers_end: *const u8,
    /// Powers that there are: a group's at least, or as many as a message has blocks.
    pub(super) powers: usize,
}

impl Keys {
    #[inline(always)]
    pub(in crate::kernels::native) fn new(schedule: *const Block, powers: &Powers) -> Self {
        Self {
            schedule,
            powers_end: powers.end(),
            powers: powers.count(),
        }
    }

    /// With the first four powers alone: for [`Self::with`].
    #[inline(always)]
    pub(in crate::kernels::native) fn of_first(
        schedule: *const Block,
        powers: *const [Block; 4],
    ) -> Self {
        Self {
            schedule,
            powers_end: powers.wrapping_add(1).cast(),
            powers: 4,
        }
    }

    #[inline(always)]
    pub(in crate::kernels::native) fn first_powers(self) -> *const [Block; 4] {
        self.powers_end.cast::<[Block; 4]>().wrapping_sub(1)
    }

    #[inline(always)]
    pub(in crate::kernels::native) fn with(self, powers: &Powers) -> Self {
        Self::new(self.schedule, powers)
    }

    #[inline(always)]
    pub(in crate::kernels::native) fn is_of(self, other: Self) -> bool {
        self.schedule == other.schedule
    }

    /// Where the powers of `blocks` blocks begin.
    #[inline(always)]
    pub(super) fn powers_of(self, blocks: usize) -> *const u8 {
        self.powers_end.wrapping_sub(blocks * BLOCK_BYTES)
    }
}
