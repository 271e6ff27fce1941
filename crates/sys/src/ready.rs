//! The ready set: which of many rings may hold something, found without
//! looking at each.
//!
//! A bit a slot, in two levels. A *client* that has published into the ring
//! of its slot fences and looks at the slot's bit; if it is clear it sets it,
//! and then the bit of its word in the summary. The *worker* looks at the
//! summary only; for a bit set there it takes the slots of that word that it
//! does not [know](Known) yet. A known slot keeps its bit, so that its client
//! announces nothing; the worker looks at the ring itself. When it no longer
//! wants to, it clears the bit, fences, and looks at the ring once more.
//!
//! As with the [wake index](crate::wake), both fences are sequentially
//! consistent: either the client sees the cleared bit, or the worker sees
//! what was published.

use crate::sync::{AtomicU64, Ordering, Padded, fence};

/// Most slots of a set: two levels of 64-bit words.
pub const SLOTS_MAX: usize = 64 * 64;

/// Shared by any number of clients and one worker.
#[derive(Debug)]
pub struct ReadySet {
    summary: Padded<AtomicU64>,
    words: Box<[Padded<AtomicU64>]>,
}

#[derive(Debug)]
pub struct Known(Box<[u64]>);

fn place(slot: u32) -> (usize, u64) {
    (slot as usize / 64, 1 << (slot % 64))
}

impl ReadySet {
    /// A set of at least `slots` slots.
    ///
    /// # Panics
    /// When there are more than [`SLOTS_MAX`].
    pub fn new(slots: usize) -> Self {
        assert!(
            slots <= SLOTS_MAX,
            "{slots} slots are more than two levels of words have bits for"
        );
        Self {
            summary: Padded(AtomicU64::new(0)),
            words: (0..slots.div_ceil(64))
                .map(|_| Padded(AtomicU64::new(0)))
                .collect(),
        }
    }

    /// Client: there is something in `slot`. The caller has published it and
    /// then [fenced](crate::wake::WakeIndex::fence_after_publish).
    #[inline]
    pub fn announce(&self, slot: u32) {
        let (word, bit) = place(slot);
        if self.words[word].0.load(Ordering::Relaxed) & bit == 0 {
            self.set(word, bit);
        }
    }

    #[cold]
    fn set(&self, word: usize, bit: u64) {
        self.words[word].0.fetch_or(bit, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        self.summary.0.fetch_or(1 << word, Ordering::AcqRel);
        // Before the client's look at the doorbell.
        fence(Ordering::SeqCst);
    }

    /// Worker: whether anything was announced since the last
    /// [`sweep`](Self::sweep).
    #[inline]
    pub fn has_news(&self) -> bool {
        self.summary.0.load(Ordering::Relaxed) != 0
    }

    /// Worker: passes slots that were announced and are not known to `found`; they
    /// are known from now on.
    pub fn sweep(&self, known: &mut Known, mut found: impl FnMut(u32)) {
        let mut summary = self.summary.0.swap(0, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        while summary != 0 {
            let word = summary.trailing_zeros() as usize;
            summary &= summary - 1;
            let mut new = self.words[word].0.load(Ordering::Acquire) & !known.0[word];
            known.0[word] |= new;
            while new != 0 {
                found(word as u32 * 64 + new.trailing_zeros());
                new &= new - 1;
            }
        }
    }

    /// Worker: stops knowing `slots`; their clients announce again. The
    /// caller must look at each of their rings once more after this call,
    /// and [`know`](Known::know) those again that are not empty.
    pub fn retire(&self, known: &mut Known, slots: impl IntoIterator<Item = u32>) {
        let (mut word, mut bits) = (0, 0);
        for slot in slots {
            let (next, bit) = place(slot);
            if next != word {
                self.clear(known, word, bits);
                (word, bits) = (next, 0);
            }
            bits |= bit;
        }
        self.clear(known, word, bits);
        fence(Ordering::SeqCst);
    }

    fn clear(&self, known: &mut Known, word: usize, bits: u64) {
        if bits != 0 {
            known.0[word] &= !bits;
            self.words[word].0.fetch_and(!bits, Ordering::AcqRel);
        }
    }
}

impl Known {
    /// None, of a set of that many slots.
    pub fn none(slots: usize) -> Self {
        Self(vec![0; slots.div_ceil(64)].into_boxed_slice())
    }

    /// From now on the worker looks after `slot` itself.
    pub fn know(&mut self, slot: u32) {
        let (word, bit) = place(slot);
        self.0[word] |= bit;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sweep(set: &ReadySet, known: &mut Known) -> Vec<u32> {
        let mut found = Vec::new();
        set.sweep(known, |slot| found.push(slot));
        found
    }

    #[test]
    fn a_known_slot_is_found_once() {
        let (set, mut known) = (ReadySet::new(200), Known::none(200));
        assert!(!set.has_news());
        for slot in [199, 3, 64, 3] {
            set.announce(slot);
        }
        assert!(set.has_news());
        assert_eq!(sweep(&set, &mut known), [3, 64, 199]);
        set.announce(64);
        assert!(!set.has_news(), "its bit is still set");
        set.announce(65);
        assert_eq!(sweep(&set, &mut known), [65], "64 is known");
    }

    #[test]
    fn a_retired_slot_is_announced_again() {
        let (set, mut known) = (ReadySet::new(SLOTS_MAX), Known::none(SLOTS_MAX));
        let slots = [0, 1, 63, 64, 4095];
        for slot in slots {
            set.announce(slot);
        }
        assert_eq!(sweep(&set, &mut known), slots);
        set.retire(&mut known, [0, 63, 4095]);
        for slot in slots {
            set.announce(slot);
        }
        assert_eq!(sweep(&set, &mut known), [0, 63, 4095]);
        set.retire(&mut known, [1]);
        known.know(1);
        set.announce(1);
        assert!(set.has_news());
        assert!(sweep(&set, &mut known).is_empty(), "known without a bit");
    }
}
