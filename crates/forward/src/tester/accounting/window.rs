//! Which sequences came already. The same table as `bpf/sink.bpf.c` has, so
//! that both decide alike.

/// How far back, in sequences, a second copy is recognised: a thousand times the
/// longest queue of a path (1,024 frames), in 256 KiB.
pub const WINDOW_FRAMES: u64 = 1 << 20;

const WORDS: usize = 1 << 15;
/// A word covers 32 sequences: which ones in its high half, those that came in its
/// low half.
const SHIFT: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    InOrder,
    Reordered,
    Again,
}

/// One bit for each of the last [`WINDOW_FRAMES`] sequences.
#[derive(Debug)]
pub struct Window {
    words: Box<[u64]>,
    next: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    pub fn new() -> Self {
        Self {
            words: vec![0; WORDS].into_boxed_slice(),
            next: 0,
        }
    }

    /// Notes a sequence, at most `wire::SEQUENCE_MAX`, and says what it is.
    pub fn arrive(&mut self, sequence: u64) -> Arrival {
        if self.is_known(sequence) {
            return Arrival::Again;
        }
        if sequence < self.next {
            return Arrival::Reordered;
        }
        self.next = sequence + 1;
        Arrival::InOrder
    }

    /// Whether it came before, as far as the window reaches; records it.
    fn is_known(&mut self, sequence: u64) -> bool {
        let group = sequence >> SHIFT;
        let word = &mut self.words[(group % WORDS as u64) as usize];
        // From 1 on, so that a word of zeroes is older than any. 48 bits of
        // sequence leave 28 of these.
        let age = group / WORDS as u64 + 1;
        let bit = 1 << (sequence % (1 << SHIFT));
        if *word >> 32 < age {
            *word = age << 32;
        }
        let is_known = *word >> 32 == age && *word & bit != 0;
        if *word >> 32 == age {
            *word |= bit;
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, WINDOW_FRAMES, Window};
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The rules again, with a set that forgets nothing: right wherever the
    /// sequences stay within half the window.
    fn agree(sequences: impl IntoIterator<Item = u64>) {
        let (mut seen, mut next, mut window) = (HashSet::new(), 0, Window::new());
        for sequence in sequences {
            let expected = match (seen.insert(sequence), sequence < next) {
                (false, _) => Arrival::Again,
                (true, true) => Arrival::Reordered,
                (true, false) => Arrival::InOrder,
            };
            next = next.max(sequence + 1);
            assert_eq!(window.arrive(sequence), expected, "sequence {sequence}");
        }
    }

    #[test]
    fn what_is_before_the_window_counts_as_reordered() {
        let mut window = Window::new();
        assert_eq!(window.arrive(5), Arrival::InOrder);
        assert_eq!(window.arrive(WINDOW_FRAMES + 5), Arrival::InOrder);
        assert_eq!(window.arrive(5), Arrival::Reordered, "it may be either");
        assert_eq!(
            window.arrive(5),
            Arrival::Reordered,
            "nor does it take the place"
        );
        assert_eq!(window.arrive(WINDOW_FRAMES + 5), Arrival::Again);
        assert_eq!(window.arrive(wire::SEQUENCE_MAX), Arrival::InOrder);
        assert_eq!(window.arrive(wire::SEQUENCE_MAX), Arrival::Again);
    }

    proptest! {
        #![proptest_config(crate::testing::cases())]

        #[test]
        fn steps_of_any_length_either_way(
            start in prop_oneof![Just(0i64), Just(WINDOW_FRAMES as i64 - 50), 0..1i64 << 47],
            steps in prop::collection::vec(
                prop_oneof![-70i64..130, -700i64..700, Just(1i64)], 1..300),
        ) {
            let mut at = start;
            agree(steps.into_iter().map(|step| {
                at = (at + step).max(0);
                at as u64
            }));
        }

        #[test]
        fn any_sequences_within_the_window(
            sequences in prop::collection::vec(0..WINDOW_FRAMES, 0..300),
        ) {
            agree(sequences);
        }
    }
}
