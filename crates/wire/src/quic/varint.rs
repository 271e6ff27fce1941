//! Integers of variable length (RFC 9000, section 16), and a reader of fields that
//! may be cut off anywhere.

use crate::bytes::array_at;
use crate::error::{Layer, ParseError};

/// The largest value: 2^62 - 1.
pub const VALUE_MAX: u64 = Width::Eight.value_max();

/// How many bytes an integer takes; as a number, the two bits that say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    One,
    Two,
    Four,
    Eight,
}

impl Width {
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Four, Self::Eight];

    /// The fewest bytes for a value; `None` above [`VALUE_MAX`].
    pub fn of(value: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|width| value <= width.value_max())
    }

    fn of_first_byte(first: u8) -> Self {
        Self::ALL[usize::from(first >> 6)]
    }

    pub const fn bytes(self) -> usize {
        1 << self as usize
    }

    pub const fn value_max(self) -> u64 {
        u64::MAX >> (66 - 8 * self.bytes())
    }
}

/// A value that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is more than an integer of that width holds, {limit}")]
pub struct TooLarge {
    pub found: u64,
    pub limit: u64,
}

/// Appends a value in its fewest bytes.
///
/// # Errors
/// [`TooLarge`] above [`VALUE_MAX`]; then nothing was written.
pub fn append(value: u64, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
    append_in(Width::of(value).unwrap_or(Width::Eight), value, bytes)
}

/// Appends a value in that width, which may be more than it needs.
///
/// # Errors
/// [`TooLarge`] above the width's largest; then nothing was written.
pub fn append_in(width: Width, value: u64, bytes: &mut Vec<u8>) -> Result<(), TooLarge> {
    let word = encoded(width, value)?;
    bytes.extend_from_slice(&word[8 - width.bytes()..]);
    Ok(())
}

/// A value in that width: as many bytes, the last of these.
pub(super) fn encoded(width: Width, value: u64) -> Result<[u8; 8], TooLarge> {
    let limit = width.value_max();
    if value > limit {
        let found = value;
        return Err(TooLarge { found, limit });
    }
    let word = value | (width as u64) << (8 * width.bytes() - 2);
    Ok(word.to_be_bytes())
}

/// Bytes end before a field does; both counted from where the reader began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found_bytes} bytes, of {needed_bytes}")]
pub struct Missing {
    /// `usize::MAX` if a length says more.
    pub needed_bytes: usize,
    pub found_bytes: usize,
}

impl Missing {
    pub(crate) fn of(self, layer: Layer) -> ParseError {
        ParseError::Truncated {
            layer,
            needed_bytes: self.needed_bytes,
            found_bytes: self.found_bytes,
        }
    }
}

/// Reads fields one behind the other. After an error it stands where it stood.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// # Errors
    /// [`Missing`].
    pub fn byte(&mut self) -> Result<u8, Missing> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// # Errors
    /// [`Missing`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Missing> {
        self.bytes(N as u64).map(|found| array_at(found, 0))
    }

    /// As many bytes as a length field says.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn bytes(&mut self, count: u64) -> Result<&'a [u8], Missing> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let end = self.at.saturating_add(count);
        let found = self.bytes.get(self.at..end).ok_or(Missing {
            needed_bytes: end,
            found_bytes: self.bytes.len(),
        })?;
        self.at = end;
        Ok(found)
    }

    /// A length as an integer of variable length, and as many bytes.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn counted(&mut self) -> Result<&'a [u8], Missing> {
        let mut ahead = self.clone();
        let count = ahead.varint()?;
        let found = ahead.bytes(count)?;
        *self = ahead;
        Ok(found)
    }

    /// An integer of variable length; it need not be in its fewest bytes.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn varint(&mut self) -> Result<u64, Missing> {
        let width = Width::of_first_byte(self.clone().byte()?);
        let field = self.bytes(width.bytes() as u64)?;
        let word = field
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte));
        Ok(word & width.value_max())
    }
}
