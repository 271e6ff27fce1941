//! Bytes that nobody may see.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

/// Zeroised on drop; shown as its length. On the heap, so that a table that grows moves
/// the address and leaves no copy.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// In a time that depends on the lengths alone.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(other.0.iter());
        let mut difference = pairs.fold(0, |difference, (a, b)| difference | (a ^ b));
        let is_same = self.0.len() == other.0.len() && difference == 0;
        difference.zeroize();
        is_same
    }
}

impl From<Zeroizing<Vec<u8>>> for Secret {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "Secret({} bytes)", self.0.len())
    }
}
