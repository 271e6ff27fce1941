//! Arithmetic of XTS tweaks outside registers.

use crate::check::BLOCK_BYTES;

/// `tweak`·xⁿ in GF(2¹²⁸) modulo x¹²⁸ + x⁷ + x² + x + 1, up to 64 at a step:
/// what is shifted out at the top, times x⁷ + x² + x + 1, comes in below.
pub(super) fn times_x(mut tweak: u128, mut n: usize) -> u128 {
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
pub(super) fn chunk_bytes(left: usize, most: usize) -> usize {
    if left <= most {
        left
    } else if left - most < BLOCK_BYTES {
        most - BLOCK_BYTES
    } else {
        most
    }
}
