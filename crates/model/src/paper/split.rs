//! Equation (9): requests above the best size go in pieces.

use std::num::NonZeroU64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// How many: `⌈B/B₀⌉`, at least 1.
    pub count: u64,
    /// Bytes of each but the last: `B₀`, or `B` when that is less.
    pub piece_bytes: u64,
    /// Bytes of the last: what is left. As printed, (9) would make it `B₀`
    /// and the request longer than it was.
    pub last_bytes: u64,
}

/// (9): how a request of `block_bytes` goes where `best_bytes` (`B₀`) is the
/// best size. A request of no bytes is one piece of none.
pub fn split_pieces(block_bytes: u64, best_bytes: NonZeroU64) -> Pieces {
    let count = block_bytes.div_ceil(best_bytes.get()).max(1);
    let piece_bytes = best_bytes.get().min(block_bytes);
    Pieces {
        count,
        piece_bytes,
        last_bytes: block_bytes - (count - 1) * piece_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(block_bytes: u64, best_bytes: u64) -> (u64, u64, u64) {
        let pieces = split_pieces(block_bytes, NonZeroU64::new(best_bytes).unwrap());
        (pieces.count, pieces.piece_bytes, pieces.last_bytes)
    }

    #[test]
    fn pieces_make_up_the_request() {
        assert_eq!(split(0, 16_384), (1, 0, 0));
        assert_eq!(split(16_383, 16_384), (1, 16_383, 16_383));
        assert_eq!(split(16_384, 16_384), (1, 16_384, 16_384));
        assert_eq!(split(65_536, 16_384), (4, 16_384, 16_384));
        assert_eq!(split(40_000, 16_384), (3, 16_384, 7232));
        assert_eq!(split(u64::MAX, 1), (u64::MAX, 1, 1));
    }
}
