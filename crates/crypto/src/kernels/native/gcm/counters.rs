//! Counters of a message, and their encryption.

use super::{BLOCK_BYTES, Keys};
use crate::kernels::native::blocks::one_round;
use crate::kernels::native::lanes::{Block, Lanes};
use crate::kernels::native::parallel::numbers;
use crate::kernels::native::round_keys::ROUNDS_MAX;

/// Counters in blocks of 256, within which they differ from a first by xor alone.
pub(super) struct Counters<V> {
    /// Of the first, its last byte zero.
    first: u128,
    /// The first round key.
    key: V,
    /// The first counter as a block, xored with it.
    whitened: V,
    /// Of the next.
    offset: usize,
}

/// Numbers of one byte as counters have them, behind two that no message begins with:
/// registers of those that follow are aligned.
#[repr(C, align(64))]
struct Offsets([Block; 2], [Block; 256]);

static OFFSETS: Offsets = {
    let mut offsets = [[0; BLOCK_BYTES]; 256];
    let mut index = 0;
    while index < offsets.len() {
        offsets[index][BLOCK_BYTES - 1] = index as u8;
        index += 1;
    }
    Offsets([[0; BLOCK_BYTES]; 2], offsets)
};

impl<V: Lanes> Counters<V> {
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn begin(key: V, next: u128) -> Self {
        let mut own = Self {
            first: next & !0xff,
            key,
            whitened: key,
            offset: next as usize & 0xff,
        };
        // SAFETY: the caller's.
        unsafe { own.whiten() };
        own
    }

    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    unsafe fn whiten(&mut self) {
        // SAFETY: the caller's.
        unsafe {
            self.whitened = V::broadcast(&self.first.to_be_bytes()).xor(self.key);
        }
    }

    /// The next `N` registers, whitened.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn next<const N: usize>(&mut self) -> [V; N] {
        // SAFETY: the caller's; within the offsets.
        unsafe {
            let mut blocks = [V::zero(); N];
            if self.offset + N * V::BLOCKS <= 256 {
                let from = OFFSETS.1[self.offset..].as_ptr().cast::<u8>();
                let mut index = 0;
                while index < N {
                    let offsets = V::load(from.add(index * V::BLOCKS * BLOCK_BYTES));
                    blocks[index] = self.whitened.xor(offsets);
                    index += 1;
                }
                self.offset += N * V::BLOCKS;
                return blocks;
            }
            let counter = V::broadcast(&(self.first + self.offset as u128).to_le_bytes());
            let mut index = 0;
            while index < N {
                let number = V::load(numbers().add(index * V::BLOCKS * BLOCK_BYTES));
                blocks[index] = counter.add_halves(number).reversed().xor(self.key);
                index += 1;
            }
            self.offset = self.offset + N * V::BLOCKS - 256;
            self.first += 256;
            self.whiten();
            blocks
        }
    }
}

/// Round keys in registers: to broadcast them takes as long as a round.
#[derive(Clone, Copy)]
pub(super) struct Rounds<V, const ROUNDS: usize>(pub(super) [V; ROUNDS_MAX + 1]);

impl<V: Lanes, const ROUNDS: usize> Rounds<V, ROUNDS> {
    /// # Safety
    /// As for [`super::messages`]; the key has so many rounds.
    #[inline(always)]
    pub(super) unsafe fn load(keys: Keys) -> Self {
        // SAFETY: the caller's: a schedule has one key more than rounds.
        unsafe {
            let mut own = [V::zero(); ROUNDS_MAX + 1];
            let mut round = 0;
            while round <= ROUNDS {
                own[round] = V::broadcast(keys.schedule.add(round));
                round += 1;
            }
            Self(own)
        }
    }

    /// All rounds but the last.
    ///
    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn begin<const N: usize>(&self, mut blocks: [V; N]) -> [V; N] {
        let mut round = 1;
        while round < ROUNDS {
            // SAFETY: the caller's.
            blocks = unsafe { one_round::<V, N, true>(blocks, self.0[round]) };
            round += 1;
        }
        blocks
    }

    /// # Safety
    /// As for [`super::messages`].
    #[inline(always)]
    pub(super) unsafe fn end<const N: usize>(&self, mut blocks: [V; N]) -> [V; N] {
        let mut index = 0;
        while index < N {
            // SAFETY: the caller's.
            blocks[index] = unsafe { blocks[index].encrypt_last_round(self.0[ROUNDS]) };
            index += 1;
        }
        blocks
    }
}
