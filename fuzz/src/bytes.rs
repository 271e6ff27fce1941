//! An input read as a sequence of choices.

/// The rest of an input. What is beyond its end is zero, so that every input
/// means something and a shorter one means less.
#[derive(Clone)]
pub(crate) struct Bytes<'d>(&'d [u8]);

impl<'d> Bytes<'d> {
    pub(crate) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'d [u8] {
        std::mem::take(&mut self.0)
    }

    /// Some of the rest, at most so many: how many it says itself.
    pub(crate) fn rest_of(&mut self, most: usize) -> Vec<u8> {
        let bytes = self.below(most + 1).min(self.0.len());
        let (own, rest) = self.0.split_at(bytes);
        self.0 = rest;
        own.to_vec()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    pub(crate) fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// A number below `limit`, which is at least 1 and at most 65,536.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let choice = if limit <= 256 {
            usize::from(self.byte())
        } else {
            usize::from(self.word())
        };
        choice % limit
    }

    pub(crate) fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}

/// Bytes without a pattern that depend on `seed` alone.
pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = trial::stats::Random::new(seed);
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words
        .take(bytes.div_ceil(8))
        .flatten()
        .take(bytes)
        .collect()
}
