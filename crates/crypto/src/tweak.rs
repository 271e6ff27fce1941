//! Data units of XTS that go through a bounded buffer: how they are cut, and
//! the tweak of each chunk.

use crate::check::BLOCK_BYTES;

/// `tweak`·xⁿ in GF(2¹²⁸) modulo x¹²⁸ + x⁷ + x² + x + 1, up to 64 at a step:
/// what is shifted out at the top, times x⁷ + x² + x + 1, comes in below.
pub(crate) fn times_x(mut tweak: u128, mut n: usize) -> u128 {
    while n > 0 {
        let shift = n.min(64);
        let out = tweak >> (128 - shift);
        tweak = (tweak << shift) ^ out ^ (out << 1) ^ (out << 2) ^ (out << 7);
        n -= shift;
    }
    tweak
}

/// How much to take of `left` bytes, at most `most`: a whole number of blocks,
/// unless it is all; and never so much that less than a block stays, since
/// the last two blocks of an odd length are computed together.
pub(crate) fn chunk_bytes(left: usize, most: usize) -> usize {
    if left <= most {
        left
    } else if left - most < BLOCK_BYTES {
        most - BLOCK_BYTES
    } else {
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK_BYTES: usize = 4096;

    fn doubled(tweak: u128) -> u128 {
        (tweak << 1) ^ if tweak >> 127 == 1 { 0x87 } else { 0 }
    }

    #[test]
    fn many_doublings_at_a_step_are_those_doublings() {
        let mut expected = 0x8f3c_9d10_0000_0001_dead_beef_0123_4567;
        let start = expected;
        for n in 0..300 {
            assert_eq!(times_x(start, n), expected, "{n} doublings");
            expected = doubled(expected);
        }
    }

    #[test]
    fn chunks_cover_everything_and_leave_a_block() {
        for total in 16..3 * CHUNK_BYTES + 40 {
            let mut left = total;
            while left > 0 {
                let bytes = chunk_bytes(left, CHUNK_BYTES);
                assert!((BLOCK_BYTES..=CHUNK_BYTES).contains(&bytes), "{total}");
                assert!(
                    bytes == left || bytes.is_multiple_of(BLOCK_BYTES),
                    "{total}"
                );
                left -= bytes;
            }
        }
    }
}
