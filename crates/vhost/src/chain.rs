//! The bytes of a request, as its chain of descriptors names them.

use crate::backend::REQUEST_BYTES_MAX;
use crate::memory::{GuestMemory, Place};
use crate::queue::{ChainError, Descriptor, WRITE};

/// The most that a request touches of a side: its header and the longest text.
const LOOKED_AT_MAX: usize = REQUEST_BYTES_MAX + 4096;

/// Bytes of a chain that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) place: Place,
    pub(crate) bytes: usize,
}

/// A request's bytes in order: those to read, and those to write. Reused, so that none
/// is allocated.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) readable: Vec<Piece>,
    pub(crate) writable: Vec<Piece>,
    pub(crate) descriptors: u32,
    /// It names memory that may not be made.
    pub(crate) is_unwritten: bool,
    /// Both lists in the order of their places.
    sorted: [Vec<Piece>; 2],
    /// Bytes of each side whose pages were asked for.
    looked_at: [usize; 2],
    /// The steps of loops over the guest's lists, for the tests.
    steps: u64,
}

impl Chain {
    pub(crate) fn clear(&mut self) {
        self.readable.clear();
        self.writable.clear();
        self.descriptors = 0;
        self.is_unwritten = false;
        self.looked_at = [0; 2];
    }

    pub(crate) fn add(
        &mut self,
        memory: &GuestMemory,
        descriptor: Descriptor,
    ) -> Result<(), ChainError> {
        let (mut address, mut left) = (descriptor.address, u64::from(descriptor.bytes));
        let outside = ChainError::Outside {
            address,
            bytes: descriptor.bytes,
        };
        let is_write = descriptor.flags & WRITE != 0;
        if !is_write && !self.writable.is_empty() {
            return Err(ChainError::Order);
        }
        let pieces = if is_write {
            &mut self.writable
        } else {
            &mut self.readable
        };
        // Bytes may run on from one region into the next.
        while left > 0 {
            let (place, there) = memory.find(address).ok_or(outside)?;
            let bytes = there.min(left);
            address = address.checked_add(bytes).ok_or(outside)?;
            left -= bytes;
            let bytes = usize::try_from(bytes).expect("at most 2^32");
            // No request touches more of a side, but for the end, where the status goes.
            let looked_at = &mut self.looked_at[usize::from(is_write)];
            let least = bytes.min(LOOKED_AT_MAX.saturating_sub(*looked_at));
            *looked_at += least;
            let end = Place {
                offset: place.offset + bytes - 1,
                ..place
            };
            if !memory.admits(place, least) || !memory.admits(end, 1) {
                self.is_unwritten = true;
            }
            match pieces.last_mut() {
                Some(last) if last.ends_at(place) => last.bytes += bytes,
                _ => pieces.push(Piece { place, bytes }),
            }
        }
        Ok(())
    }

    /// Whether it cannot be done again once it was begun. Sorts its pieces and goes
    /// through both lists once: the guest chose how many there are.
    pub(crate) fn writes_what_it_reads(&mut self) -> bool {
        let sorted = |pieces: &[Piece], into: &mut Vec<Piece>| {
            into.clear();
            into.extend(pieces.iter().filter(|piece| piece.bytes > 0));
            into.sort_unstable_by_key(Piece::begin);
        };
        let [reads, writes] = &mut self.sorted;
        sorted(&self.readable, reads);
        sorted(&self.writable, writes);
        let mut reads = reads.iter().peekable();
        // Pieces of one list may lie over each other: the furthest end so far counts.
        let mut read_to = (0, 0);
        for write in writes.iter() {
            while let Some(read) = reads.next_if(|read| read.begin() < write.end()) {
                read_to = read_to.max(read.end());
                self.steps += 1;
            }
            self.steps += 1;
            if read_to > write.begin() {
                return true;
            }
        }
        false
    }
}

impl Piece {
    fn begin(&self) -> (usize, usize) {
        (self.place.region, self.place.offset)
    }

    /// The end lies in the same region: pieces do not run on from one into the next.
    fn end(&self) -> (usize, usize) {
        (self.place.region, self.place.offset + self.bytes)
    }

    fn ends_at(&self, place: Place) -> bool {
        self.place.region == place.region && self.place.offset + self.bytes == place.offset
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece((region, offset, bytes): (usize, usize, usize)) -> Piece {
        let place = Place { region, offset };
        Piece { place, bytes }
    }

    proptest! {
        /// Beside each piece compared with each; and in as many steps as there are pieces.
        #[test]
        fn what_is_written_and_read_is_found_in_one_go(
            readable in prop::collection::vec((0_usize..2, 0_usize..60, 0_usize..6), 0..24),
            writable in prop::collection::vec((0_usize..2, 0_usize..60, 0_usize..6), 0..24),
        ) {
            let mut chain = Chain {
                readable: readable.iter().copied().map(piece).collect(),
                writable: writable.iter().copied().map(piece).collect(),
                ..Chain::default()
            };
            let overlap = |a: &(usize, usize, usize), b: &(usize, usize, usize)| {
                a.0 == b.0 && a.1.max(b.1) < (a.1 + a.2).min(b.1 + b.2)
            };
            let expected = readable.iter().any(|a| writable.iter().any(|b| overlap(a, b)));
            prop_assert_eq!(chain.writes_what_it_reads(), expected);
            prop_assert!(chain.steps <= (readable.len() + writable.len()) as u64);
        }
    }
}
