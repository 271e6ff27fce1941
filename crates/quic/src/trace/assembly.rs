//! Bytes that come in any order, put in order.

use std::collections::BTreeMap;

/// What a part that is held takes beside its bytes.
const PART_BYTES: usize = 64;

/// Bytes by offset. What is in order is given on at once; the rest is held, within limits.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    next: u64,
    parts: BTreeMap<u64, Vec<u8>>,
    held_bytes: usize,
}

impl Assembly {
    /// What is held takes so many bytes of memory, about.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Up to there all is given on.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Takes a part, and gives on what is in order. `false` where more than `held_max`
    /// bytes would have to be held: the part is left out then.
    pub(crate) fn take(
        &mut self,
        offset: u64,
        bytes: &[u8],
        held_max: usize,
        mut give: impl FnMut(&[u8]),
    ) -> bool {
        if offset > self.next {
            return self.hold(offset, bytes, held_max);
        }
        self.pass(offset, bytes, &mut give);
        while let Some(entry) = self.parts.first_entry()
            && *entry.key() <= self.next
        {
            let (offset, part) = entry.remove_entry();
            self.held_bytes -= cost(&part);
            self.pass(offset, &part, &mut give);
        }
        true
    }

    /// What of these bytes was not given on.
    fn pass(&mut self, offset: u64, bytes: &[u8], give: &mut impl FnMut(&[u8])) {
        let known = usize::try_from(self.next - offset).unwrap_or(usize::MAX);
        if let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) {
            give(new);
            self.next += new.len() as u64;
        }
    }

    /// A part that comes again is held once, the longest of that offset.
    fn hold(&mut self, offset: u64, bytes: &[u8], held_max: usize) -> bool {
        let there = self.parts.get(&offset);
        if there.is_some_and(|there| bytes.len() <= there.len()) {
            return true;
        }
        let there = there.map_or(0, |there| cost(there));
        let held_bytes = self.held_bytes - there + cost(bytes);
        if held_bytes > held_max {
            return false;
        }
        self.held_bytes = held_bytes;
        self.parts.insert(offset, bytes.to_vec());
        true
    }
}

fn cost(part: &[u8]) -> usize {
    part.len() + PART_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_the_order_the_bytes_come_out_once(
            bytes in proptest::collection::vec(any::<u8>(), 1..300),
            mut parts in proptest::collection::vec((0_usize..300, 0_usize..60), 0..40),
        ) {
            // Whole at last, whatever came before.
            parts.push((0, bytes.len()));
            let (mut assembly, mut got) = (Assembly::default(), Vec::<u8>::new());
            for (begin, length) in parts {
                let begin = begin.min(bytes.len());
                let part = &bytes[begin..(begin + length).min(bytes.len())];
                prop_assert!(assembly.take(begin as u64, part, 1 << 20, |more| got.extend(more)));
                prop_assert_eq!(&got[..], &bytes[..got.len()]);
                prop_assert_eq!(assembly.next(), got.len() as u64);
            }
            prop_assert_eq!(got, bytes);
            prop_assert!(assembly.parts.is_empty() && assembly.held_bytes == 0);
        }
    }

    #[test]
    fn no_more_is_held_than_allowed() {
        let mut assembly = Assembly::default();
        let most = PART_BYTES + 10;
        assert!(assembly.take(10, &[1; 6], most, |_| panic!("nothing is in order")));
        assert!(!assembly.take(20, &[1; 5], most, |_| panic!("nothing is in order")));
        assert!(assembly.take(10, &[1; 10], most, |_| panic!("nothing is in order")));
        let mut given = 0;
        assert!(assembly.take(0, &[0; 10], 10, |more| given += more.len()));
        assert_eq!((given, assembly.next(), assembly.held_bytes), (20, 20, 0));
    }
}
