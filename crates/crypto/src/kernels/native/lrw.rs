//! AES in LRW (IEEE P1619/D5): each block is whitened with the product of its number
//! and a second key. Eight registers in flight.

use super::lanes::Lanes;
use super::round_keys::RoundKeys;
use super::xts::{WIDE, group};
use crate::kernels::key::KernelKey;
use crate::kernels::multiples::{Far, Multiples, NEAR};
use crate::work::Unit;

const BLOCK_BYTES: usize = 16;
/// Blocks of the widest register.
const BLOCKS_MAX: usize = 4;

/// Encrypts or decrypts texts of 32 blocks or a multiple of that; the IV is the number
/// of the first block, big-endian.
///
/// # Safety
/// The CPU has the instructions of `V`; sources are readable and destinations
/// writable, the same bytes or apart.
#[inline(always)]
pub(super) unsafe fn units<V: Lanes, const ENCRYPT: bool, const ROUNDS: usize>(
    units: &[Unit<'_, KernelKey>],
    multiples: &Multiples,
) {
    let mut far = Far::new(multiples);
    for unit in units {
        let keys: &RoundKeys = &unit.key.native().data;
        let mut number = u128::from_be_bytes(*unit.iv);
        let mut done = 0;
        while done < unit.bytes {
            // SAFETY: the caller's word; eight registers divide 32 blocks.
            unsafe {
                let masks = masks::<V>(multiples, &mut far, number);
                let (from, to) = (unit.source.add(done), unit.destination.add(done));
                group::<V, WIDE, ENCRYPT, ROUNDS>(keys, &masks, from, to);
            }
            number = number.wrapping_add((WIDE * V::BLOCKS) as u128);
            done += WIDE * V::BLOCKS * BLOCK_BYTES;
        }
    }
}

/// What whitens eight registers of blocks from `number` on.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn masks<V: Lanes>(multiples: &Multiples, far: &mut Far<'_>, number: u128) -> [V; WIDE] {
    let near = number as usize % NEAR;
    // SAFETY: the caller's word; whole registers of products lie below `NEAR`, since
    // both numbers are at most that less a register.
    unsafe {
        let mut masks = [V::zero(); WIDE];
        let mut product = far.at(number).to_ne_bytes();
        let mut index = 0;
        while index < WIDE {
            let at = near + index * V::BLOCKS;
            masks[index] = if at + V::BLOCKS <= NEAR {
                V::load(multiples.near(at)).xor(V::broadcast(&product))
            } else if at >= NEAR {
                if at < NEAR + V::BLOCKS {
                    product = far
                        .at(number.wrapping_add((index * V::BLOCKS) as u128))
                        .to_ne_bytes();
                }
                V::load(multiples.near(at - NEAR)).xor(V::broadcast(&product))
            } else {
                let mut blocks = [0_u128; BLOCKS_MAX];
                let first = number.wrapping_add((index * V::BLOCKS) as u128);
                let numbers = (0..V::BLOCKS).map(|block| first.wrapping_add(block as u128));
                for (block, number) in blocks.iter_mut().zip(numbers) {
                    *block = far.product(number);
                }
                V::load(blocks.as_ptr().cast())
            };
            index += 1;
        }
        masks
    }
}
