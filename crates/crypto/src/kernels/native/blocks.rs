//! The block cipher on several registers at once.

use std::arch::x86_64::__m128i;
use std::mem::MaybeUninit;

use super::lanes::{Block, Lanes};
use super::round_keys::RoundKeys;

/// Runs `blocks`, already xored with the first round key, through all rounds;
/// each register has a last round key of its own, made of the schedule's and
/// of `mask`, which is thus xored to the result. `ROUNDS` is
/// the key's number of rounds, or 0 where the compiler need not know it.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn rounds<V: Lanes, const N: usize, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    mut blocks: [V; N],
    mask: &[V; N],
) -> [V; N] {
    let schedule = schedule::<ENCRYPT>(keys);
    let count = if ROUNDS > 0 { ROUNDS } else { keys.rounds };
    // SAFETY: the instructions are there, says the caller; the schedule has
    // one key more than rounds.
    unsafe {
        let mut round = 1;
        while round < count {
            blocks = one_round::<V, N, ENCRYPT>(blocks, V::broadcast(schedule.add(round)));
            round += 1;
        }
        let key = V::broadcast(schedule.add(count));
        let mut index = 0;
        while index < N {
            let key = key.xor(mask[index]);
            blocks[index] = if ENCRYPT {
                blocks[index].encrypt_last_round(key)
            } else {
                blocks[index].decrypt_last_round(key)
            };
            index += 1;
        }
    }
    blocks
}

/// One round that is not the last.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn one_round<V: Lanes, const N: usize, const ENCRYPT: bool>(
    mut blocks: [V; N],
    key: V,
) -> [V; N] {
    let mut index = 0;
    while index < N {
        // SAFETY: the caller's.
        blocks[index] = unsafe {
            if ENCRYPT {
                blocks[index].encrypt_round(key)
            } else {
                blocks[index].decrypt_round(key)
            }
        };
        index += 1;
    }
    blocks
}

/// The round keys of a direction, in the order of use.
#[inline(always)]
pub(super) fn schedule<const ENCRYPT: bool>(keys: &RoundKeys) -> *const [u8; 16] {
    if ENCRYPT {
        keys.encrypting.as_ptr()
    } else {
        keys.decrypting.as_ptr()
    }
}

/// Registers of one block that are encrypted side by side with a key each.
const SIDE_BY_SIDE: usize = 8;

/// Up to `MOST` blocks with a schedule each, which are encrypted together.
pub(super) struct Blocks<const MOST: usize> {
    schedules: [MaybeUninit<*const Block>; MOST],
    blocks: [MaybeUninit<Block>; MOST],
    count: usize,
}

impl<const MOST: usize> Blocks<MOST> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self {
            schedules: [const { MaybeUninit::uninit() }; MOST],
            blocks: [const { MaybeUninit::uninit() }; MOST],
            count: 0,
        }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, schedule: *const Block, block: Block) {
        self.schedules[self.count].write(schedule);
        self.blocks[self.count].write(block);
        self.count += 1;
    }

    /// Zeroes the first `count` places.
    #[inline(always)]
    pub(super) fn wipe(&mut self, count: usize) {
        let places = self.blocks[..count].as_mut_ptr();
        // SAFETY: ours.
        unsafe { aws_lc_sys::OPENSSL_cleanse(places.cast(), count * size_of::<Block>()) };
    }

    /// All of them, encrypted; there are none afterwards.
    ///
    /// # Safety
    /// The CPU has the instructions of `V`; a schedule has one key more than `rounds`.
    #[inline(always)]
    pub(super) unsafe fn encrypted<V: Lanes>(&mut self, rounds: usize) -> &[Block] {
        let count = std::mem::take(&mut self.count);
        // SAFETY: as many were pushed; the rest is the caller's.
        unsafe {
            let keys = self.schedules[..count].assume_init_ref();
            let blocks = self.blocks[..count].assume_init_mut();
            each::<V>(keys, rounds, blocks);
            blocks
        }
    }
}

/// Encrypts blocks, each with the schedule that `keys` has for it: those of one key that
/// follow one another in registers of `V`.
///
/// # Safety
/// As for [`Blocks::encrypted`]; there are as many keys as blocks.
#[inline(always)]
unsafe fn each<V: Lanes>(keys: &[*const Block], rounds: usize, blocks: &mut [Block]) {
    let (mut at, count) = (0, blocks.len());
    let blocks = blocks.as_mut_ptr();
    // SAFETY: the caller's; no more blocks are touched than there are.
    unsafe {
        while at < count {
            let mut same = 1;
            while at + same < count && same < 4 * V::BLOCKS && keys[at + same] == keys[at] {
                same += 1;
            }
            let together = (count - at).min(SIDE_BY_SIDE);
            if same > 2 || same == together {
                let here = blocks.add(at).cast::<u8>();
                if same > V::BLOCKS {
                    of_one::<V, 4>(keys[at], rounds, here, same);
                } else if same > 1 {
                    of_one::<V, 1>(keys[at], rounds, here, same);
                } else {
                    of_one::<__m128i, 1>(keys[at], rounds, here, same);
                }
                at += same;
                continue;
            }
            side_by_side(keys, rounds, blocks, at, together);
            at += together;
        }
    }
}

/// Encrypts `count` blocks from `at` on, with a key each.
///
/// # Safety
/// As for [`each`].
#[inline(always)]
unsafe fn side_by_side(
    keys: &[*const Block],
    rounds: usize,
    blocks: *mut Block,
    at: usize,
    count: usize,
) {
    // SAFETY: the caller's; the last is done again where there are fewer.
    unsafe {
        let keys: [*const Block; SIDE_BY_SIDE] =
            std::array::from_fn(|index| keys[at + index.min(count - 1)]);
        let mut registers = [__m128i::zero(); SIDE_BY_SIDE];
        let mut index = 0;
        while index < SIDE_BY_SIDE {
            let block = __m128i::broadcast(blocks.add(at + index.min(count - 1)));
            registers[index] = block.xor(__m128i::broadcast(keys[index]));
            index += 1;
        }
        let mut round = 1;
        while round < rounds {
            let mut index = 0;
            while index < SIDE_BY_SIDE {
                let key = __m128i::broadcast(keys[index].add(round));
                registers[index] = registers[index].encrypt_round(key);
                index += 1;
            }
            round += 1;
        }
        let mut index = 0;
        while index < count {
            let key = __m128i::broadcast(keys[index].add(rounds));
            let output = registers[index].encrypt_last_round(key);
            output.store(blocks.add(at + index).cast());
            index += 1;
        }
    }
}

/// Encrypts up to `N` registers of blocks with one key.
///
/// # Safety
/// As for [`each`].
#[inline(always)]
unsafe fn of_one<V: Lanes, const N: usize>(
    key: *const [u8; 16],
    rounds: usize,
    at: *mut u8,
    count: usize,
) {
    let register_bytes = V::BLOCKS * 16;
    // SAFETY: the caller's; registers beyond the blocks are not stored.
    unsafe {
        let first = V::broadcast(key);
        let mut registers = [V::zero(); N];
        let mut index = 0;
        while index < N {
            if index * V::BLOCKS < count {
                let blocks = (count - index * V::BLOCKS).min(V::BLOCKS);
                let block = V::load_blocks(at.add(index * register_bytes), blocks);
                registers[index] = block.xor(first);
            }
            index += 1;
        }
        let mut round = 1;
        while round < rounds {
            registers = one_round::<V, N, true>(registers, V::broadcast(key.add(round)));
            round += 1;
        }
        let last = V::broadcast(key.add(rounds));
        let mut index = 0;
        while index < N {
            if index * V::BLOCKS < count {
                let blocks = (count - index * V::BLOCKS).min(V::BLOCKS);
                let output = registers[index].encrypt_last_round(last);
                output.store_blocks(at.add(index * register_bytes), blocks);
            }
            index += 1;
        }
    }
}
