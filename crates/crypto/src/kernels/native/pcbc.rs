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
    let (mut cipher, mut mixed) = (Blocks([0; BLOCKS_MAX]), Blocks([0; BLOCKS_MAX]));
    let bytes = V::BLOCKS * BLOCK_BYTES;
    for unit in units {
        let keys = &unit.key.native().data;
        let mut chained = u128::from_ne_bytes(*unit.iv);
        let mut done = 0;
        // SAFETY: the caller's word; eight registers divide 32 blocks.
        unsafe {
            let key = V::broadcast(schedule::<false>(keys));
            while done < unit.bytes {
                let (mut inputs, mut masks) = ([V::zero(); WIDE], [V::zero(); WIDE]);
                let mut index = 0;
                while index < WIDE {
                    masks[index] = V::load(unit.source.add(done + index * bytes));
                    masks[index].store(cipher.0.as_mut_ptr().cast::<u8>().add(index * bytes));
                    inputs[index] = masks[index].xor(key);
                    index += 1;
                }
                // Text xor ciphertext, but for what is chained.
                let outputs = rounds::<V, WIDE, false, 0>(keys, inputs, &masks);
                let mut index = 0;
                while index < WIDE {
                    outputs[index].store(mixed.0.as_mut_ptr().cast::<u8>().add(index * bytes));
                    index += 1;
                }
                let blocks = mixed.0.iter().zip(&cipher.0).take(WIDE * V::BLOCKS);
                for (block, (mixed, cipher)) in blocks.enumerate() {
                    chained ^= mixed;
                    let to = unit
                        .destination
                        .add(done + block * BLOCK_BYTES)
                        .cast::<u128>();
                    to.write_unaligned(chained ^ cipher);
                }
                done += WIDE * bytes;
            }
        }
    }
}
