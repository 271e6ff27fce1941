//! AES in XTS (IEEE 1619-2018): eight registers in flight, each with the
//! tweaks of its blocks in a register of its own.

use std::arch::x86_64::__m128i;

use super::blocks::{one_round, rounds, schedule};
use super::lanes::{Block, Lanes};
use super::round_keys::RoundKeys;
use crate::kernels::key::KernelKey;
use crate::work::Unit;

/// Registers in flight: a round takes four cycles, and two begin in each.
pub(super) const WIDE: usize = 8;
const TWEAKS: usize = 32;
const BLOCK_BYTES: usize = 16;

/// A loop of [`WIDE`] turns written out: left to itself, the compiler keeps
/// what it indexes in memory.
macro_rules! eight_times {
    ($index:ident => $body:block) => {
        eight_times!(@ $index $body 0 1 2 3 4 5 6 7)
    };
    (@ $index:ident $body:block $($number:literal)*) => {
        $({
            let $index = $number;
            $body
        })*
    };
}

#[repr(C, align(64))]
struct Tweaks([Block; TWEAKS]);

/// Encrypts or decrypts data units, each of 16 bytes at least; or pieces of some, whose
/// IVs are then tweaks that are encrypted.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart.
#[inline(always)]
pub(super) unsafe fn units<V: Lanes, const ENCRYPT: bool, const ROUNDS: usize>(
    units: &[Unit<'_, KernelKey>],
    is_encrypted: bool,
) {
    let mut tweaks = Tweaks([[0; 16]; TWEAKS]);
    let mut rest = units;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(TWEAKS));
        // SAFETY: forwarded from the caller.
        unsafe {
            for (unit, tweak) in now.iter().zip(&mut tweaks.0) {
                *tweak = *unit.iv;
            }
            if !is_encrypted {
                encrypt_tweaks::<V, ROUNDS>(now, &mut tweaks);
            }
            let mut own = first::<V>(&tweaks.0[0]);
            for (index, unit) in now.iter().enumerate() {
                let keys = &unit.key.native().data;
                let (from, to) = (unit.source, unit.destination);
                // Behind the last one there is none: made all the same, and of no use.
                let next = &tweaks.0[(index + 1) % TWEAKS];
                own = data_unit::<V, ENCRYPT, ROUNDS>(keys, own, next, (from, to), unit.bytes);
            }
        }
        rest = later;
    }
}

/// Encrypts the tweak of one data unit, or of a chunk of one.
///
/// # Safety
/// The CPU has AES-NI.
#[inline(always)]
pub(super) unsafe fn encrypt_tweak<const ROUNDS: usize>(keys: &RoundKeys, tweak: &mut Block) {
    let block = std::ptr::from_mut(tweak).cast::<u8>();
    // SAFETY: one block of our own; the instructions are there.
    unsafe {
        let whitened = [__m128i::load(block).xor(__m128i::broadcast(&keys.encrypting[0]))];
        rounds::<__m128i, 1, true, ROUNDS>(keys, whitened, &[__m128i::zero()])[0].store(block);
    }
}

/// Encrypts the tweaks of up to 32 data units in place.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn encrypt_tweaks<V: Lanes, const ROUNDS: usize>(
    units: &[Unit<'_, KernelKey>],
    tweaks: &mut Tweaks,
) {
    let key = units[0].key;
    let to = tweaks.0.as_mut_ptr().cast::<u8>();
    let is_one_key = units.iter().all(|unit| std::ptr::eq(unit.key, key));
    // SAFETY: a register's bytes divide the array, and what lies behind the
    // last tweak in it is ours too. The rest is the caller's word.
    unsafe {
        if is_one_key {
            let keys = &key.native().tweak;
            let mut done = 0;
            while done < units.len() {
                let at = to.add(done * BLOCK_BYTES);
                let left = units.len() - done;
                done += V::BLOCKS
                    * if left > 4 * V::BLOCKS {
                        encrypt_blocks::<V, 8, ROUNDS>(keys, at)
                    } else if left > V::BLOCKS {
                        encrypt_blocks::<V, 4, ROUNDS>(keys, at)
                    } else {
                        encrypt_blocks::<V, 1, ROUNDS>(keys, at)
                    };
            }
        } else {
            for (unit, tweak) in units.iter().zip(&mut tweaks.0) {
                encrypt_tweak::<ROUNDS>(&unit.key.native().tweak, tweak);
            }
        }
    }
}

/// Encrypts `N` registers of blocks in place; `N`.
///
/// # Safety
/// The CPU has the instructions of `V`, and `at` this many bytes.
#[inline(always)]
unsafe fn encrypt_blocks<V: Lanes, const N: usize, const ROUNDS: usize>(
    keys: &RoundKeys,
    at: *mut u8,
) -> usize {
    let bytes = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller's word.
    unsafe {
        let mut blocks = [V::zero(); N];
        let key = V::broadcast(&keys.encrypting[0]);
        for (index, block) in blocks.iter_mut().enumerate() {
            *block = V::load(at.add(index * bytes)).xor(key);
        }
        let blocks = rounds::<V, N, true, ROUNDS>(keys, blocks, &[V::zero(); N]);
        for (index, block) in blocks.iter().enumerate() {
            block.store(at.add(index * bytes));
        }
    }
    N
}

/// Encrypts or decrypts a chunk of a data unit, whose encrypted tweak is `tweak`.
///
/// # Safety
/// As for [`data_unit`].
#[inline(always)]
pub(super) unsafe fn chunk<V: Lanes, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    tweak: &Block,
    at: *mut u8,
    bytes: usize,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        let own = first::<V>(tweak);
        data_unit::<V, ENCRYPT, ROUNDS>(keys, own, tweak, (at, at), bytes);
    }
}

/// The tweaks of the first eight registers of a data unit.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn first<V: Lanes>(tweak: &Block) -> [V; WIDE] {
    // SAFETY: the caller's word.
    unsafe {
        let first = V::ramp(tweak);
        let mut tweaks = [first; WIDE];
        let mut index = 1;
        while index < WIDE {
            tweaks[index] = first.times_x(index * V::BLOCKS);
            index += 1;
        }
        tweaks
    }
}

/// Encrypts or decrypts one data unit, or a chunk of one, whose first tweaks are `tweaks`;
/// those of the unit whose encrypted tweak is `later`.
///
/// # Safety
/// The CPU has the instructions of `V`; `from` is readable and `to` writable
/// for `bytes`, at least 16, the same or apart.
#[inline(always)]
unsafe fn data_unit<V: Lanes, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    mut tweaks: [V; WIDE],
    later: &Block,
    (mut from, mut to): (*const u8, *mut u8),
    bytes: usize,
) -> [V; WIDE] {
    let stolen = bytes % BLOCK_BYTES;
    // With a part of a block at the end, the last whole one goes with it.
    let mut left = bytes / BLOCK_BYTES - usize::from(stolen > 0);
    // SAFETY: the caller's word; `left` blocks are always there, and
    // a block and `stolen` bytes more if that is not zero.
    unsafe {
        while left >= WIDE * V::BLOCKS {
            left -= WIDE * V::BLOCKS;
            if left == 0 && stolen == 0 {
                // Where there are 16 registers and not 32, those tweaks have no room.
                if V::BLOCKS < 4 {
                    group::<V, WIDE, ENCRYPT, ROUNDS>(keys, &tweaks, from, to);
                    return first(later);
                }
                return group_and_next::<V, ENCRYPT, true, ROUNDS>(keys, tweaks, later, from, to);
            }
            tweaks = group_and_next::<V, ENCRYPT, false, ROUNDS>(keys, tweaks, later, from, to);
            from = from.add(WIDE * V::BLOCKS * BLOCK_BYTES);
            to = to.add(WIDE * V::BLOCKS * BLOCK_BYTES);
        }
        tail::<V, ENCRYPT, ROUNDS>(keys, tweaks, from, to, left, stolen);
        first(later)
    }
}

/// `N` registers of blocks.
///
/// # Safety
/// As for [`data_unit`].
#[inline(always)]
pub(super) unsafe fn group<V: Lanes, const N: usize, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    tweaks: &[V; N],
    from: *const u8,
    to: *mut u8,
) {
    let bytes = V::BLOCKS * BLOCK_BYTES;
    // SAFETY: the caller's word.
    unsafe {
        let key = V::broadcast(schedule::<ENCRYPT>(keys));
        let mut blocks = [V::zero(); N];
        let mut index = 0;
        while index < N {
            blocks[index] = V::load(from.add(index * bytes)).xor3(key, tweaks[index]);
            index += 1;
        }
        let blocks = rounds::<V, N, ENCRYPT, ROUNDS>(keys, blocks, tweaks);
        let mut index = 0;
        while index < N {
            blocks[index].store(to.add(index * bytes));
            index += 1;
        }
    }
}

/// Eight registers of blocks; the tweaks of the next eight, or if this is the `LAST` of
/// its data unit, of the first of the one whose encrypted tweak is `later`. They are made
/// between the rounds: done at once, they would take the AES units' slots for a while.
///
/// # Safety
/// As for [`data_unit`].
#[inline(always)]
#[allow(
    unused_assignments,
    reason = "the last turn orders a tweak that none comes after"
)]
unsafe fn group_and_next<V: Lanes, const ENCRYPT: bool, const LAST: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    mut tweaks: [V; WIDE],
    later: &Block,
    from: *const u8,
    to: *mut u8,
) -> [V; WIDE] {
    let bytes = V::BLOCKS * BLOCK_BYTES;
    let schedule = schedule::<ENCRYPT>(keys);
    // SAFETY: the caller's word; there are ten rounds at least.
    unsafe {
        let key = V::broadcast(schedule);
        let last_key = V::broadcast(schedule.add(ROUNDS));
        let mut blocks = [V::zero(); WIDE];
        let mut index = 0;
        while index < WIDE {
            blocks[index] = V::load(from.add(index * bytes)).xor3(key, tweaks[index]);
            index += 1;
        }
        let (mut masks, mut next) = (tweaks, tweaks);
        eight_times!(index => {
            blocks = one_round::<V, WIDE, ENCRYPT>(blocks, V::broadcast(schedule.add(index + 1)));
            next[index] = match (LAST, index) {
                (false, _) => tweaks[index].times_x_of_eight(),
                (true, 0) => V::ramp(later),
                (true, _) => next[0].times_x(index * V::BLOCKS),
            };
            masks[index] = tweaks[index].xor(last_key);
            let later = (index + 1) % WIDE;
            [blocks[0], next[index], tweaks[later]] =
                V::now([blocks[0], next[index], tweaks[later]]);
        });
        let mut round = WIDE + 1;
        while round < ROUNDS {
            blocks = one_round::<V, WIDE, ENCRYPT>(blocks, V::broadcast(schedule.add(round)));
            round += 1;
        }
        let mut index = 0;
        while index < WIDE {
            let block = if ENCRYPT {
                blocks[index].encrypt_last_round(masks[index])
            } else {
                blocks[index].decrypt_last_round(masks[index])
            };
            block.store(to.add(index * bytes));
            index += 1;
        }
        next
    }
}

/// What is left of a data unit: fewer than eight registers of blocks, in
/// groups of four, two, one and a part of one; and ciphertext stealing.
///
/// # Safety
/// As for [`data_unit`].
#[inline(always)]
unsafe fn tail<V: Lanes, const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    tweaks: [V; WIDE],
    from: *const u8,
    to: *mut u8,
    left: usize,
    stolen: usize,
) {
    let tweaks = tweaks.as_ptr().cast::<u8>();
    let mut at = 0;
    // SAFETY: the caller's word; `at` stays below eight registers.
    unsafe {
        if left & (4 * V::BLOCKS) > 0 {
            let tweaks = some::<V, 4>(tweaks);
            group::<V, 4, ENCRYPT, ROUNDS>(keys, &tweaks, from, to);
            at += 4 * V::BLOCKS * BLOCK_BYTES;
        }
        if left & (2 * V::BLOCKS) > 0 {
            let tweaks = some::<V, 2>(tweaks.add(at));
            group::<V, 2, ENCRYPT, ROUNDS>(keys, &tweaks, from.add(at), to.add(at));
            at += 2 * V::BLOCKS * BLOCK_BYTES;
        }
        if left & V::BLOCKS > 0 {
            let tweaks = some::<V, 1>(tweaks.add(at));
            group::<V, 1, ENCRYPT, ROUNDS>(keys, &tweaks, from.add(at), to.add(at));
            at += V::BLOCKS * BLOCK_BYTES;
        }
        let count = left % V::BLOCKS;
        if count > 0 {
            let tweak = some::<V, 1>(tweaks.add(at));
            let key = V::broadcast(schedule::<ENCRYPT>(keys));
            let block = V::load_blocks(from.add(at), count).xor3(key, tweak[0]);
            let block = rounds::<V, 1, ENCRYPT, ROUNDS>(keys, [block], &tweak)[0];
            block.store_blocks(to.add(at), count);
            at += count * BLOCK_BYTES;
        }
        if stolen > 0 {
            let tweak = __m128i::load(tweaks.add(at));
            steal::<ENCRYPT, ROUNDS>(keys, tweak, from.add(at), to.add(at), stolen);
        }
    }
}

/// `N` registers at `from`.
///
/// # Safety
/// The CPU has the instructions of `V`, and they are readable.
#[inline(always)]
unsafe fn some<V: Lanes, const N: usize>(from: *const u8) -> [V; N] {
    // SAFETY: the caller's word.
    unsafe {
        let mut registers = [V::zero(); N];
        let mut index = 0;
        while index < N {
            registers[index] = V::load(from.add(index * V::BLOCKS * BLOCK_BYTES));
            index += 1;
        }
        registers
    }
}

/// The last whole block and the `stolen` bytes, 1 to 15, behind it (IEEE 1619
/// §5.3.2, §5.4.2). `tweak` is the one of that block.
///
/// # Safety
/// As for [`data_unit`].
#[inline(always)]
unsafe fn steal<const ENCRYPT: bool, const ROUNDS: usize>(
    keys: &RoundKeys,
    tweak: __m128i,
    from: *const u8,
    to: *mut u8,
    stolen: usize,
) {
    let mut joined = [0; BLOCK_BYTES];
    let mut part = [0_u8; BLOCK_BYTES];
    // SAFETY: the caller's word; both parts are read before either is
    // written, and `stolen` is less than a block.
    unsafe {
        let next = tweak.times_x(1);
        let tweaks = if ENCRYPT {
            [tweak, next]
        } else {
            [next, tweak]
        };
        let private = joined.as_mut_ptr();
        std::ptr::copy_nonoverlapping(from.add(BLOCK_BYTES), part.as_mut_ptr(), stolen);
        group::<__m128i, 1, ENCRYPT, ROUNDS>(keys, &[tweaks[0]], from, private);
        std::ptr::swap_nonoverlapping(private, part.as_mut_ptr(), stolen);
        group::<__m128i, 1, ENCRYPT, ROUNDS>(keys, &[tweaks[1]], private, to);
        std::ptr::copy_nonoverlapping(part.as_ptr(), to.add(BLOCK_BYTES), stolen);
    }
}
