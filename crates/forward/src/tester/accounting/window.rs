//! Which of the last sequences came already (the anti-replay window of
//! RFC 6479, wide enough for every queue on the way).

/// So many sequences back a second copy is still known as one: 64 times the
/// longest queue of a path (1,024 frames), and 8 KiB.
pub const WINDOW: u64 = 65_536;

const WORD_BITS: u64 = u64::BITS as u64;
const WORDS: usize = (WINDOW / WORD_BITS) as usize;

/// What a sequence is, given those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Higher than all before.
    InOrder,
    /// Lower than one before, and new.
    Reordered,
    /// Not new.
    Again,
    /// Too far behind to tell.
    TooOld,
}

/// One bit for each of the last [`WINDOW`] sequences.
#[derive(Debug)]
pub struct Window {
    bits: Box<[u64; WORDS]>,
    /// One above the highest sequence seen; 0 before the first.
    next: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bits: Box::new([0; WORDS]),
            next: 0,
        }
    }

    /// Notes a sequence, at most `wire::SEQUENCE_MAX`, and says what it is.
    pub fn arrive(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.next {
            self.forget(self.next, sequence);
            self.next = sequence + 1;
            self.mark(sequence);
            return Arrival::InOrder;
        }
        if self.next - sequence > WINDOW {
            return Arrival::TooOld;
        }
        if self.mark(sequence) {
            Arrival::Again
        } else {
            Arrival::Reordered
        }
    }

    /// Clears the bits of the sequences from `first` to `last`, whose places
    /// older ones held.
    fn forget(&mut self, first: u64, last: u64) {
        if last - first >= WINDOW {
            self.bits.fill(0);
            return;
        }
        let mut sequence = first;
        while sequence <= last {
            let (word, bit) = place(sequence);
            let in_word = (WORD_BITS - bit).min(last - sequence + 1);
            let mask = (u64::MAX >> (WORD_BITS - in_word)) << bit;
            self.bits[word] &= !mask;
            sequence += in_word;
        }
    }

    /// Sets the sequence's bit; whether it was set before.
    fn mark(&mut self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        let was = self.bits[word] >> bit & 1 == 1;
        self.bits[word] |= 1 << bit;
        was
    }
}

fn place(sequence: u64) -> (usize, u64) {
    let index = sequence % WINDOW;
    ((index / WORD_BITS) as usize, index % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use super::{Arrival, WINDOW, Window};
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The rules again, with a set that forgets nothing.
    fn by_the_book(seen: &mut HashSet<u64>, highest: &mut Option<u64>, sequence: u64) -> Arrival {
        let Some(high) = *highest else {
            seen.insert(sequence);
            *highest = Some(sequence);
            return Arrival::InOrder;
        };
        if sequence > high {
            *highest = Some(sequence);
            seen.insert(sequence);
            return Arrival::InOrder;
        }
        if high - sequence >= WINDOW {
            return Arrival::TooOld;
        }
        if seen.insert(sequence) {
            Arrival::Reordered
        } else {
            Arrival::Again
        }
    }

    fn agree(sequences: impl IntoIterator<Item = u64>) {
        let (mut seen, mut highest, mut window) = (HashSet::new(), None, Window::new());
        for sequence in sequences {
            let expected = by_the_book(&mut seen, &mut highest, sequence);
            assert_eq!(window.arrive(sequence), expected, "sequence {sequence}");
        }
    }

    #[test]
    fn edges_of_the_window() {
        agree([
            WINDOW - 1,
            0,
            0,
            WINDOW,
            0,
            1,
            2 * WINDOW,
            WINDOW,
            WINDOW + 1,
        ]);
        agree([
            WINDOW * 3,
            WINDOW * 2 + 1,
            WINDOW * 2,
            63,
            64,
            u64::from(u32::MAX),
        ]);
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn steps_of_any_length_either_way(
            steps in prop::collection::vec(
                prop_oneof![-70i64..130, -70_000i64..70_000, Just(1i64)], 1..300),
        ) {
            let mut at = 1_000_000i64;
            agree(steps.into_iter().map(|step| {
                at = (at + step).max(0);
                at as u64
            }));
        }

        #[test]
        fn any_sequences(sequences in prop::collection::vec(0..3 * WINDOW, 0..300)) {
            agree(sequences);
        }
    }
}
