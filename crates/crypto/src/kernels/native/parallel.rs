//! Modes whose blocks do not wait for each other: ECB, CTR, and CBC when it
//! decrypts (SP 800-38A). Eight registers in flight.

use super::blocks::{rounds, schedule};
use super::lanes::Lanes;
use super::round_keys::RoundKeys;
use crate::kernels::key::KernelKey;
use crate::work::Unit;

/// Registers in flight: a round takes four cycles, and two begin in each.
const WIDE: usize = 8;
const BLOCK_BYTES: usize = 16;

/// What goes through the rounds is the text; nothing is added.
pub(super) const ECB: u8 = 0;
/// What goes through the rounds is the text; the block before it is added.
pub(super) const CBC: u8 = 1;
/// What goes through the rounds is a counter; the text is added.
pub(super) const CTR: u8 = 2;

/// Little-endian numbers 0 to 31, to add to a counter's lower half.
#[repr(C, align(64))]
struct Numbers([[u64; 2]; 4 * WIDE]);

static NUMBERS: Numbers = {
    let mut numbers = [[0; 2]; 4 * WIDE];
    let mut index = 0;
    while index < numbers.len() {
        numbers[index][0] = index as u64;
        index += 1;
    }
    Numbers(numbers)
};

/// Where these begin.
#[inline(always)]
pub(super) fn numbers() -> *const u8 {
    NUMBERS.0.as_ptr().cast()
}

/// Encrypts or decrypts messages.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart; but for CTR, all is whole blocks.
#[inline(always)]
pub(super) unsafe fn messages<V: Lanes, const MODE: u8, const ENCRYPT: bool>(
    units: &[Unit<'_, KernelKey>],
) {
    for unit in units {
        let keys = &unit.key.native().data;
        // SAFETY: forwarded from the caller.
        unsafe {
            if MODE == CTR {
                counted::<V>(keys, unit);
            } else {
                let (from, to) = (unit.source, unit.destination);
                let first = V::broadcast(unit.iv);
                run::<V, MODE, ENCRYPT>(keys, first, from, to, unit.bytes / BLOCK_BYTES);
            }
        }
    }
}

/// One message in counter mode: as one run, or two when the lower half of the
/// counter overflows, so that no run sees a carry.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn counted<V: Lanes>(keys: &RoundKeys, unit: &Unit<'_, KernelKey>) {
    let mut counter = u128::from_be_bytes(*unit.iv);
    let (mut from, mut to) = (unit.source, unit.destination);
    let mut left = unit.bytes / BLOCK_BYTES;
    let part = unit.bytes % BLOCK_BYTES;
    // SAFETY: the caller's word.
    unsafe {
        while left > 0 {
            let to_carry = (u64::MAX - counter as u64).saturating_add(1);
            let blocks = usize::try_from(to_carry).map_or(left, |blocks| blocks.min(left));
            let first = V::broadcast(&counter.to_le_bytes());
            run::<V, CTR, true>(keys, first, from, to, blocks);
            counter = counter.wrapping_add(blocks as u128);
            from = from.add(blocks * BLOCK_BYTES);
            to = to.add(blocks * BLOCK_BYTES);
            left -= blocks;
        }
        if part > 0 {
            let mut block = [0_u8; BLOCK_BYTES];
            let private = block.as_mut_ptr();
            std::ptr::copy_nonoverlapping(from, private, part);
            let first = V::broadcast(&counter.to_le_bytes());
            run::<V, CTR, true>(keys, first, private, private, 1);
            std::ptr::copy_nonoverlapping(private, to, part);
        }
    }
}

/// `left` blocks. `first` holds the counter, lower half first, or the block
/// before in every place.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn run<V: Lanes, const MODE: u8, const ENCRYPT: bool>(
    keys: &RoundKeys,
    mut first: V,
    mut from: *const u8,
    mut to: *mut u8,
    mut left: usize,
) {
    // SAFETY: the caller's word; `left` blocks are always there.
    unsafe {
        while left >= WIDE * V::BLOCKS {
            first = group::<V, WIDE, MODE, ENCRYPT>(keys, first, from, to, V::BLOCKS);
            from = from.add(WIDE * V::BLOCKS * BLOCK_BYTES);
            to = to.add(WIDE * V::BLOCKS * BLOCK_BYTES);
            left -= WIDE * V::BLOCKS;
        }
        if left >= 4 * V::BLOCKS {
            first = group::<V, 4, MODE, ENCRYPT>(keys, first, from, to, V::BLOCKS);
            from = from.add(4 * V::BLOCKS * BLOCK_BYTES);
            to = to.add(4 * V::BLOCKS * BLOCK_BYTES);
            left -= 4 * V::BLOCKS;
        }
        while left > 0 {
            let blocks = left.min(V::BLOCKS);
            first = group::<V, 1, MODE, ENCRYPT>(keys, first, from, to, blocks);
            from = from.add(blocks * BLOCK_BYTES);
            to = to.add(blocks * BLOCK_BYTES);
            left -= blocks;
        }
    }
}

/// `N` registers, of which the last has `blocks` blocks; what `first` is for
/// those that follow.
///
/// # Safety
/// As for [`messages`].
#[inline(always)]
unsafe fn group<V: Lanes, const N: usize, const MODE: u8, const ENCRYPT: bool>(
    keys: &RoundKeys,
    first: V,
    from: *const u8,
    to: *mut u8,
    blocks: usize,
) -> V {
    let bytes = V::BLOCKS * BLOCK_BYTES;
    let numbers = numbers();
    // SAFETY: the caller's word; there are numbers for eight registers.
    unsafe {
        let key = V::broadcast(schedule::<ENCRYPT>(keys));
        let mut inputs = [V::zero(); N];
        let mut masks = [V::zero(); N];
        let mut before = first;
        let mut index = 0;
        while index < N {
            let at = from.add(index * bytes);
            let text = if N == 1 {
                V::load_blocks(at, blocks)
            } else {
                V::load(at)
            };
            if MODE == CTR {
                let counter = first.add_halves(V::load(numbers.add(index * bytes)));
                inputs[index] = counter.reversed().xor(key);
                masks[index] = text;
            } else {
                inputs[index] = text.xor(key);
            }
            if MODE == CBC {
                masks[index] = text.preceded_by(before);
                before = text;
            }
            index += 1;
        }
        let outputs = rounds::<V, N, ENCRYPT, 0>(keys, inputs, &masks);
        let mut index = 0;
        while index < N {
            let at = to.add(index * bytes);
            if N == 1 {
                outputs[index].store_blocks(at, blocks);
            } else {
                outputs[index].store(at);
            }
            index += 1;
        }
        if MODE == CTR {
            let count = [(N * V::BLOCKS) as u64, 0];
            first.add_halves(V::broadcast(count.as_ptr().cast()))
        } else {
            before
        }
    }
}
