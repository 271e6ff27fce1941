//! Packet numbers (RFC 9000, sections 12.3 and 17.1): of 62 bits, of which a packet
//! carries the last 8 to 32.

use super::varint::VALUE_MAX;

/// The largest packet number.
pub const NUMBER_MAX: u64 = VALUE_MAX;

/// The most bytes that a packet carries of its number.
pub const BYTES_MAX: usize = 4;

/// The last bytes of a packet number, as a header has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Truncated {
    word: [u8; BYTES_MAX],
    /// 1 to 4, the last of the word.
    bytes: usize,
}

impl Truncated {
    /// In the fewest bytes that a receiver can expand who has seen what the
    /// acknowledgments say: see [`bytes_needed`].
    pub fn new(number: u64, largest_acknowledged: Option<u64>) -> Option<Self> {
        Self::in_bytes(number, bytes_needed(number, largest_acknowledged)?)
    }

    /// In so many bytes; `None` if they are not 1 to 4.
    pub fn in_bytes(number: u64, bytes: usize) -> Option<Self> {
        let [.., a, b, c, d] = number.to_be_bytes();
        let mut word = [a, b, c, d];
        word[..BYTES_MAX.checked_sub(bytes)?].fill(0);
        (bytes > 0).then_some(Self { word, bytes })
    }

    /// As read from an unprotected header; `None` if they are not 1 to 4 bytes.
    pub fn of_bytes(field: &[u8]) -> Option<Self> {
        let mut word = [0; BYTES_MAX];
        let bytes = field.len();
        word[BYTES_MAX.checked_sub(bytes)?..].copy_from_slice(field);
        (bytes > 0).then_some(Self { word, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.word[BYTES_MAX - self.bytes..]
    }

    /// The whole number: see [`expand`].
    pub fn expand(&self, largest: Option<u64>) -> u64 {
        let bits = u32::try_from(8 * self.bytes).expect("32 at most");
        expand(u32::from_be_bytes(self.word), bits, largest)
    }
}

/// How many bytes of a number a packet must carry (RFC 9000, section A.2): so many
/// that their range is twice that of the packets which the peer has not acknowledged.
///
/// `None` if four are too few, the number is above [`NUMBER_MAX`], or it was
/// acknowledged already.
pub fn bytes_needed(number: u64, largest_acknowledged: Option<u64>) -> Option<usize> {
    let outstanding = match largest_acknowledged {
        Some(largest) => number.checked_sub(largest).filter(|count| *count > 0)?,
        None => number.checked_add(1)?,
    };
    if number > NUMBER_MAX {
        return None;
    }
    (1..=BYTES_MAX).find(|bytes| outstanding <= 1 << (8 * bytes - 1))
}

/// The number that ends in `truncated`, its last `bits` (1 to 32), and is nearest to the
/// one behind `largest`, the largest that was received (RFC 9000, section A.3). It is
/// [`NUMBER_MAX`] at most.
pub fn expand(truncated: u32, bits: u32, largest: Option<u64>) -> u64 {
    let window = 1_u64 << bits.clamp(1, 32);
    let expected = largest.map_or(0, |largest| largest.min(NUMBER_MAX) + 1);
    let candidate = expected & !(window - 1) | u64::from(truncated) & (window - 1);
    let is_low = candidate + window / 2 <= expected && candidate + window <= NUMBER_MAX;
    let is_high = candidate > expected + window / 2 || candidate > NUMBER_MAX;
    if is_low {
        candidate + window
    } else if is_high && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}
