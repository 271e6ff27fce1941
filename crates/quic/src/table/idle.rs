//! Connections in the order of their last packets: lists through the entries.

use super::entry::Entry;

pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
pub(super) struct Links {
    pub(super) before: u32,
    pub(super) after: u32,
}

/// From the one idle longest to the one that was active last.
pub(super) struct Order {
    pub(super) oldest: u32,
    newest: u32,
}

impl Order {
    pub(super) const EMPTY: Self = Self {
        oldest: NONE,
        newest: NONE,
    };

    pub(super) fn append(&mut self, entries: &mut [Entry], at: u32) {
        entries[at as usize].links = Links {
            before: self.newest,
            after: NONE,
        };
        match self.newest {
            NONE => self.oldest = at,
            newest => entries[newest as usize].links.after = at,
        }
        self.newest = at;
    }

    pub(super) fn remove(&mut self, entries: &mut [Entry], at: u32) {
        let Links { before, after } = entries[at as usize].links;
        match before {
            NONE => self.oldest = after,
            before => entries[before as usize].links.after = after,
        }
        match after {
            NONE => self.newest = before,
            after => entries[after as usize].links.before = before,
        }
    }
}
