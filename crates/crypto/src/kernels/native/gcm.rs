//! Galois/counter mode (SP 800-38D): counters are encrypted and ciphertext is hashed in one
//! pass, eight registers at a time, the one between the steps of the other.

use zeroize::Zeroize;

use super::blocks::{one_round, schedule};
use super::ghash::{POWERS, Powers, Sum};
use super::lanes::{Block, Lanes};
use super::parallel::numbers;
use super::round_keys::RoundKeys;

const BLOCK_BYTES: usize = 16;
const IV_BYTES: usize = 12;
/// Registers in flight: a round takes four cycles, and two begin in each.
const WIDE: usize = 8;
/// The first counter is that of the tag's mask; texts begin with the next.
const FIRST_COUNTER: u32 = 1;

/// A message on its way: what it leaves between two pieces.
pub(in crate::kernels) struct Message {
    /// The hash of all before, byte-reversed.
    hash: Block,
    /// Of the next block, byte-reversed, so that its lower half counts.
    counter: Block,
    mask: Block,
    aad_bytes: u64,
    text_bytes: u64,
}

/// Its mask would let forge the tag.
impl Drop for Message {
    fn drop(&mut self) {
        self.mask.zeroize();
        self.hash.zeroize();
    }
}

/// Begins a message with its additional data.
///
/// # Safety
/// The CPU has the instructions of `V`; `aad` is readable for `aad_bytes`.
#[inline(always)]
pub(super) unsafe fn begin<V: Lanes>(
    keys: &RoundKeys,
    powers: &Powers,
    iv: &[u8; IV_BYTES],
    aad: *const u8,
    aad_bytes: usize,
) -> Message {
    let mut first = [0; BLOCK_BYTES];
    first[..IV_BYTES].copy_from_slice(iv);
    first[IV_BYTES..].copy_from_slice(&FIRST_COUNTER.to_be_bytes());
    let counter = u128::from_be_bytes(first);
    // SAFETY: the caller's word; the rest is our own memory.
    unsafe {
        let mut hash = V::zero();
        let (mut from, mut left) = (aad, aad_bytes);
        while left > 0 {
            let bytes = left.min((POWERS - 1) / V::BLOCKS * V::BLOCKS * BLOCK_BYTES);
            hash = hashed::<V>(powers, hash, from, bytes);
            from = from.add(bytes);
            left -= bytes;
        }
        let mut message = Message {
            hash: [0; BLOCK_BYTES],
            counter: counter.wrapping_add(1).to_le_bytes(),
            mask: [0; BLOCK_BYTES],
            aad_bytes: aad_bytes as u64,
            text_bytes: 0,
        };
        let key = V::broadcast(schedule::<true>(keys));
        let mask = encrypted(keys, [V::broadcast(&first).xor(key)], None);
        mask[0].store_blocks(message.mask.as_mut_ptr(), 1);
        hash.store_blocks(message.hash.as_mut_ptr(), 1);
        message
    }
}

/// The hash of what was hashed before and of these bytes, zeros behind them, with one
/// reduction.
///
/// # Safety
/// As for [`begin`]; there are no more blocks than powers.
#[inline(always)]
unsafe fn hashed<V: Lanes>(powers: &Powers, hash: V, from: *const u8, bytes: usize) -> V {
    let mut power = powers.of(bytes.div_ceil(BLOCK_BYTES));
    let (mut at, mut left) = (from, bytes);
    // SAFETY: the caller's word; behind the powers there is something to read.
    unsafe {
        let (mut before, mut sum) = (hash, Sum::zero());
        while left > 0 {
            let part = left.min(V::BLOCKS * BLOCK_BYTES);
            sum.add(
                V::load_bytes(at, part).reversed().xor(before),
                V::load(power),
            );
            before = V::zero();
            at = at.add(part);
            power = power.add(V::BLOCKS * BLOCK_BYTES);
            left -= part;
        }
        sum.reduced().added()
    }
}

/// All rounds of registers that are xored with the first round key; between them `hash`
/// is hashed, if there is something.
///
/// # Safety
/// As for [`begin`].
#[inline(always)]
unsafe fn encrypted<V: Lanes, const N: usize>(
    keys: &RoundKeys,
    mut blocks: [V; N],
    hash: Option<(&[V; N], *const u8, &mut Sum<V>)>,
) -> [V; N] {
    let schedule = schedule::<true>(keys);
    // SAFETY: the caller's; the schedule has one key more than rounds, and there are
    // powers for all registers.
    unsafe {
        let mut round = 1;
        if let Some((texts, powers, sum)) = hash {
            while round <= N {
                blocks = one_round::<V, N, true>(blocks, V::broadcast(schedule.add(round)));
                let at = powers.add((round - 1) * V::BLOCKS * BLOCK_BYTES);
                sum.add(texts[round - 1], V::load(at));
                round += 1;
            }
        }
        while round < keys.rounds {
            blocks = one_round::<V, N, true>(blocks, V::broadcast(schedule.add(round)));
            round += 1;
        }
        let key = V::broadcast(schedule.add(keys.rounds));
        let mut index = 0;
        while index < N {
            blocks[index] = blocks[index].encrypt_last_round(key);
            index += 1;
        }
    }
    blocks
}

/// The next counters, xored with the first round key.
///
/// # Safety
/// As for [`begin`].
#[inline(always)]
unsafe fn counters<V: Lanes, const N: usize>(keys: &RoundKeys, counter: V) -> [V; N] {
    // SAFETY: the caller's; there are numbers for eight registers.
    unsafe {
        let key = V::broadcast(schedule::<true>(keys));
        let mut blocks = [V::zero(); N];
        let mut index = 0;
        while index < N {
            let number = V::load(numbers().add(index * V::BLOCKS * BLOCK_BYTES));
            blocks[index] = counter.add_halves(number).reversed().xor(key);
            index += 1;
        }
        blocks
    }
}

/// Goes on with the next bytes of a message: whole blocks, unless they are its last.
///
/// # Safety
/// As for [`begin`]; `from` is readable and `to` writable for `bytes`, the same or apart.
#[inline(always)]
pub(super) unsafe fn go_on<V: Lanes, const SEAL: bool>(
    keys: &RoundKeys,
    powers: &Powers,
    message: &mut Message,
    mut from: *const u8,
    mut to: *mut u8,
    bytes: usize,
) {
    let group_bytes = WIDE * V::BLOCKS * BLOCK_BYTES;
    let mut left = bytes;
    message.text_bytes += bytes as u64;
    // SAFETY: the caller's word; a group's bytes are there while they are left.
    unsafe {
        let mut counter = V::broadcast(&message.counter);
        let mut hash = V::zero_but_first(&message.hash);
        let count = [(WIDE * V::BLOCKS) as u64, 0];
        let count = V::broadcast(count.as_ptr().cast());
        let group_powers = powers.of(WIDE * V::BLOCKS);
        // Ciphertext that is to be hashed. A sealed group's is hashed while the next is
        // encrypted.
        let mut waiting: Option<[V; WIDE]> = None;
        while left >= group_bytes {
            let mut texts = [V::zero(); WIDE];
            let mut index = 0;
            while index < WIDE {
                texts[index] = V::load(from.add(index * V::BLOCKS * BLOCK_BYTES));
                index += 1;
            }
            let blocks = counters::<V, WIDE>(keys, counter);
            counter = counter.add_halves(count);
            if !SEAL {
                waiting = Some(reversed(texts));
            }
            let mut sum = Sum::zero();
            let outputs = match &mut waiting {
                Some(waiting) => {
                    waiting[0] = waiting[0].xor(hash);
                    let outputs = encrypted(keys, blocks, Some((waiting, group_powers, &mut sum)));
                    hash = sum.reduced().added();
                    outputs
                }
                None => encrypted(keys, blocks, None),
            };
            let mut index = 0;
            while index < WIDE {
                texts[index] = texts[index].xor(outputs[index]);
                texts[index].store(to.add(index * V::BLOCKS * BLOCK_BYTES));
                index += 1;
            }
            if SEAL {
                waiting = Some(reversed(texts));
            }
            from = from.add(group_bytes);
            to = to.add(group_bytes);
            left -= group_bytes;
        }
        if SEAL && let Some(mut waiting) = waiting {
            waiting[0] = waiting[0].xor(hash);
            let mut sum = Sum::zero();
            let mut index = 0;
            while index < WIDE {
                let at = group_powers.add(index * V::BLOCKS * BLOCK_BYTES);
                sum.add(waiting[index], V::load(at));
                index += 1;
            }
            hash = sum.reduced().added();
        }
        if left > 0 {
            if left <= 4 * V::BLOCKS * BLOCK_BYTES {
                hash = last::<V, 4, SEAL>(keys, powers, hash, counter, from, to, left);
            } else {
                hash = last::<V, WIDE, SEAL>(keys, powers, hash, counter, from, to, left);
            }
            let count = [left.div_ceil(BLOCK_BYTES) as u64, 0];
            counter = counter.add_halves(V::broadcast(count.as_ptr().cast()));
        }
        hash.store_blocks(message.hash.as_mut_ptr(), 1);
        counter.store_blocks(message.counter.as_mut_ptr(), 1);
    }
}

#[inline(always)]
unsafe fn reversed<V: Lanes, const N: usize>(mut blocks: [V; N]) -> [V; N] {
    let mut index = 0;
    while index < N {
        // SAFETY: the caller's.
        blocks[index] = unsafe { blocks[index].reversed() };
        index += 1;
    }
    blocks
}

/// The last bytes, up to `N` registers of them; the hash of all until now.
///
/// # Safety
/// As for [`go_on`].
#[inline(always)]
unsafe fn last<V: Lanes, const N: usize, const SEAL: bool>(
    keys: &RoundKeys,
    powers: &Powers,
    hash: V,
    counter: V,
    from: *const u8,
    to: *mut u8,
    bytes: usize,
) -> V {
    let register_bytes = V::BLOCKS * BLOCK_BYTES;
    let mut power = powers.of(bytes.div_ceil(BLOCK_BYTES));
    // SAFETY: the caller's word; no byte beyond `bytes` is touched.
    unsafe {
        let outputs = encrypted(keys, counters::<V, N>(keys, counter), None);
        let (mut before, mut sum) = (hash, Sum::zero());
        let mut index = 0;
        while index < N {
            let at = index * register_bytes;
            if at < bytes {
                let part = (bytes - at).min(register_bytes);
                let text = V::load_bytes(from.add(at), part);
                let output = text.xor(outputs[index]);
                output.store_bytes(to.add(at), part);
                let cipher = if SEAL { output.first_bytes(part) } else { text };
                sum.add(cipher.reversed().xor(before), V::load(power));
                before = V::zero();
                power = power.add(register_bytes);
            }
            index += 1;
        }
        sum.reduced().added()
    }
}

/// The tag of a message whose text is done.
///
/// # Safety
/// As for [`begin`].
#[inline(always)]
pub(super) unsafe fn tag<V: Lanes>(powers: &Powers, message: &Message) -> Block {
    let bits = u128::from(message.aad_bytes * 8) << 64 | u128::from(message.text_bytes * 8);
    let mut tag = [0; BLOCK_BYTES];
    // SAFETY: the caller's; all is our own memory.
    unsafe {
        let hash = V::zero_but_first(&message.hash);
        let lengths = V::zero_but_first(&bits.to_le_bytes());
        let mut sum = Sum::zero();
        sum.add(lengths.xor(hash), V::load(powers.of(1)));
        let hash = sum.reduced().added().reversed();
        let mask = V::zero_but_first(&message.mask);
        hash.xor(mask).store_blocks(tag.as_mut_ptr(), 1);
    }
    tag
}
