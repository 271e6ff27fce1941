//! What is let go of while requests in flight may still point into it.

use crate::lane::Owner;

/// A value that is dropped when these requests have ended.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) owner: Owner,
    tickets: Box<[u64]>,
    pub(crate) count: usize,
}

impl Leaving {
    pub(crate) fn new(owner: Owner, depth: usize) -> Self {
        Self {
            owner,
            tickets: vec![0; depth.div_ceil(64)].into(),
            count: 0,
        }
    }

    pub(crate) fn add(&mut self, ticket: u32) {
        self.tickets[ticket as usize / 64] |= 1 << (ticket % 64);
        self.count += 1;
    }

    pub(crate) fn remove(&mut self, ticket: u32) {
        let (word, bit) = (&mut self.tickets[ticket as usize / 64], 1 << (ticket % 64));
        self.count -= usize::from(*word & bit != 0);
        *word &= !bit;
    }
}
