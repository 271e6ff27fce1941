//! Short messages of one key, side by side.

use super::counters::{Counters, Rounds};
use super::{BLOCK_BYTES, Unit, first_counter, lengths, next_of, tag};
use crate::kernels::native::ghash::{Factor, Sum};
use crate::kernels::native::lanes::Lanes;

/// Messages that are done together.
pub(super) const ABREAST: usize = 4;

/// Whether text and additional data of each fit a register, and they have one key.
#[inline(always)]
pub(super) fn are_short<V: Lanes>(units: &[Unit; ABREAST]) -> bool {
    units.iter().all(|unit| {
        unit.bytes.max(unit.aad.len) <= V::BLOCKS * BLOCK_BYTES && unit.keys.is_of(units[0].keys)
    })
}

/// Messages of one register each: what one waits for, the others fill.
///
/// # Safety
/// As for [`super::messages`]; they [are short](are_short).
#[inline(always)]
pub(super) unsafe fn abreast<V: Lanes, const SEAL: bool, const ROUNDS: usize>(
    units: &mut [Unit; ABREAST],
) {
    let keys = units[0].keys;
    // SAFETY: the caller's word.
    unsafe {
        let rounds = Rounds::<V, ROUNDS>::load(keys);
        let mut given = [[0; BLOCK_BYTES]; ABREAST];
        let mut blocks = [V::zero(); ABREAST];
        let mut index = 0;
        while index < ABREAST {
            given[index] = units[index].given::<SEAL>();
            let first = first_counter(units[index].iv());
            blocks[index] = Counters::begin(rounds.0[0], next_of(&first)).next::<1>()[0];
            index += 1;
        }
        let stream = rounds.end(rounds.begin(blocks));
        let mut sums = [Sum::zero(); ABREAST];
        index = 0;
        while index < ABREAST {
            let unit = &units[index];
            let sum = &mut sums[index];
            let mut blocks = 1;
            if unit.bytes > 0 {
                let text = V::load_bytes(unit.source, unit.bytes);
                let output = text.xor(stream[index]);
                output.store_bytes(unit.destination, unit.bytes);
                let text = if SEAL {
                    output.first_bytes(unit.bytes)
                } else {
                    text
                };
                blocks += unit.bytes.div_ceil(BLOCK_BYTES);
                sum.add(text.reversed(), Factor::load(keys.powers_of(blocks)));
            }
            if unit.aad.len > 0 {
                let aad = V::load_bytes(unit.aad.address, unit.aad.len);
                blocks += unit.aad.len.div_ceil(BLOCK_BYTES);
                sum.add(aad.reversed(), Factor::load(keys.powers_of(blocks)));
            }
            let lengths = lengths(unit.aad.len as u64, unit.bytes as u64);
            sum.add(V::zero_but_first(&lengths), Factor::load(keys.powers_of(1)));
            index += 1;
        }
        let mut hashes = [[0; BLOCK_BYTES]; ABREAST];
        index = 0;
        // No closure: it would be compiled without the instructions.
        while index < ABREAST {
            hashes[index] = sums[index].reduced().added().first_block();
            index += 1;
        }
        index = 0;
        while index < ABREAST {
            let tag = tag(&hashes[index], &units[index].mask);
            units[index].end::<SEAL>(&given[index], &tag);
            index += 1;
        }
    }
}
