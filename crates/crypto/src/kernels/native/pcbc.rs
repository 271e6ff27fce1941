//! AES-PCBC decryption: the blocks themselves do not wait for each other; what is
//! passed from one to the next is only xored. Encryption is with that of CBC.

use super::blocks::{rounds, schedule};
use super::lanes::Lanes;
use crate::kernels::key::KernelKey;
use crate::work::Unit;

/// Registers in flight: a round takes four cycles, and two begin in each.
const WIDE: usize = 8;
const BLOCK_BYTES: usize = 16;
/// Blocks of eight of the widest registers.
const BLOCKS_MAX: usize = 4 * WIDE;

#[repr(C, align(64))]
struct Blocks([u128; BLOCKS_MAX]);

/// Decrypts texts of 32 blocks or a multiple of that.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart.
#[inline(always)]
pub(super) unsafe fn decrypt<V: Lanes>(units: &[Unit<'_, KernelKey>]) {
    let mut sums = Blocks([0; BLOCKS_MAX]);
    let sums = sums.0.as_mut_ptr().cast::<u8>();
    let bytes = V::BLOCKS * BLOCK_BYTES;
    for unit in units {
        let keys = &unit.key.native().data;
        let mut done = 0;
        // SAFETY: the caller's word; eight registers divide 32 blocks, for which there
        // is room.
        unsafe {
            let mut chained = V::broadcast(unit.iv);
            let key = V::broadcast(schedule::<false>(keys));
            while done < unit.bytes {
                let (mut inputs, mut masks) = ([V::zero(); WIDE], [V::zero(); WIDE]);
                let mut index = 0;
                while index < WIDE {
                    masks[index] = V::load(unit.source.add(done + index * bytes));
                    inputs[index] = masks[index].xor(key);
                    index += 1;
                }
                // Text xor ciphertext, but for what is chained.
                let mut outputs = rounds::<V, WIDE, false, 0>(keys, inputs, &masks);
                let mut index = 0;
                while index < WIDE {
                    outputs[index] = summed(outputs[index]);
                    outputs[index].store(sums.add(index * bytes));
                    index += 1;
                }
                let mut index = 0;
                while index < WIDE {
                    let text = outputs[index].xor3(chained, masks[index]);
                    text.store(unit.destination.add(done + index * bytes));
                    let last = sums.add((index + 1) * bytes - BLOCK_BYTES);
                    chained = chained.xor(V::broadcast(last.cast()));
                    index += 1;
                }
                done += WIDE * bytes;
            }
        }
    }
}

/// Each block xored with all before it.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn summed<V: Lanes>(mut blocks: V) -> V {
    let mut distance = 1;
    while distance < V::BLOCKS {
        let (mut moved, mut step) = (blocks, 0);
        // SAFETY: the caller's word.
        unsafe {
            while step < distance {
                moved = moved.preceded_by(V::zero());
                step += 1;
            }
            blocks = blocks.xor(moved);
        }
        distance *= 2;
    }
    blocks
}
