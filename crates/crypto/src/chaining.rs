//! How a long message can be done in pieces: what the next piece needs of
//! the one before.

use crate::check::BLOCK_BYTES;
use crate::tweak::chunk_bytes;
use crate::{Algorithm, Kind, Operation};

/// How the pieces of a message follow one another. Pieces but the last are
/// whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chaining {
    /// ECB: not at all.
    Independent,
    /// CBC encryption: the last block written is the next piece's IV.
    Written,
    /// CBC decryption: the last block read is, which is gone afterwards where
    /// a message is decrypted in place.
    Read,
    /// Counter mode: see [`counter_after`].
    Counted,
    /// Sectors: see [`crate::Sectors::job_iv_after`].
    Numbered,
    /// XTS, GCM that seals, hashes, HMAC: more than a block, in a
    /// [`Between`](crate::Between). The first piece of GCM brings the additional data, and may
    /// have no text; the last writes the tag.
    Kept,
}

impl Kind {
    /// How pieces of such a message follow one another; `None` where a message is done
    /// in one go: no piece of a text that is opened may be seen before its tag is checked,
    /// ChaCha20-Poly1305 is whole in every library, and public keys have no pieces.
    pub const fn chaining(self) -> Option<Chaining> {
        use Algorithm as A;
        match (self.algorithm, self.operation) {
            (A::Aes128Ecb | A::Aes192Ecb | A::Aes256Ecb, _) => Some(Chaining::Independent),
            (A::Aes128Ctr | A::Aes192Ctr | A::Aes256Ctr, _) => Some(Chaining::Counted),
            (A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc, Operation::Encrypt) => {
                Some(Chaining::Written)
            }
            (A::Aes128Cbc | A::Aes192Cbc | A::Aes256Cbc, _) => Some(Chaining::Read),
            (A::Aes128Xts | A::Aes256Xts, _) => Some(Chaining::Kept),
            (A::Aes128Gcm | A::Aes192Gcm | A::Aes256Gcm, Operation::Encrypt) => {
                Some(Chaining::Kept)
            }
            (A::Sectors(_), _) => Some(Chaining::Numbered),
            (A::Sha1 | A::Sha256 | A::Sha384 | A::Sha512 | A::HmacSha256, _) => {
                Some(Chaining::Kept)
            }
            _ => None,
        }
    }

    /// Bytes of the next piece of `left` bytes, `most` at most, whole blocks: in XTS, where
    /// the last two blocks are computed together, a block at least is left, or nothing; of
    /// sectors one at least, however few `most` is.
    pub fn piece_bytes(self, left: usize, most: usize) -> usize {
        match self.algorithm {
            Algorithm::Sectors(sectors) => {
                let bytes = sectors.sector_bytes();
                left.min((most - most % bytes).max(bytes))
            }
            algorithm if algorithm.is_xts() => chunk_bytes(left, most),
            _ => left.min(most),
        }
    }
}

/// The counter block behind `bytes` (SP 800-38A appendix B.1, 128 bits).
pub fn counter_after(iv: [u8; 16], bytes: usize) -> [u8; 16] {
    let blocks = bytes.div_ceil(BLOCK_BYTES) as u128;
    u128::from_be_bytes(iv).wrapping_add(blocks).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_128_bits() {
        assert_eq!(counter_after([0xff; 16], 16), [0; 16]);
        assert_eq!(counter_after([0; 16], 4096)[14..], [1, 0]);
        assert_eq!(counter_after([7; 16], 0), [7; 16]);
    }

    #[test]
    fn text_that_is_opened_and_public_keys_have_no_pieces() {
        let chains = |operation| {
            let all = Algorithm::ALL.map(|algorithm| Kind::new(algorithm, operation));
            all.iter().filter(|kind| kind.chaining().is_some()).count()
        };
        assert_eq!(chains(Operation::Encrypt), 19);
        assert_eq!(chains(Operation::Decrypt), 16);
    }
}
