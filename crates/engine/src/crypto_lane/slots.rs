//! What a lane names by number: a handle of what is gone is never another's.

/// Where something is, and how often that place was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Handle {
    pub(super) index: u32,
    generation: u32,
}

impl Handle {
    pub(super) const FIRST: Self = Self {
        index: 0,
        generation: 0,
    };
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    max: usize,
}

impl<T> Slots<T> {
    pub(super) fn new(max: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            max,
        }
    }

    /// `None` when there are as many as there may be.
    pub(super) fn insert(&mut self, value: T) -> Option<Handle> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < self.max => {
                self.slots.push(Slot {
                    generation: 0,
                    value: None,
                });
                u32::try_from(self.slots.len() - 1).ok()?
            }
            None => return None,
        };
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        let generation = slot.generation;
        Some(Handle { index, generation })
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Option<&T> {
        let slot = self.slots.get(handle.index as usize)?;
        let own = slot.value.as_ref();
        own.filter(|_| slot.generation == handle.generation)
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Option<T> {
        self.get(handle)?;
        let slot = &mut self.slots[handle.index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(handle.index);
        slot.value.take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_what_is_gone_leads_nowhere() {
        let mut slots = Slots::new(2);
        let (a, b) = (slots.insert('a').unwrap(), slots.insert('b').unwrap());
        assert_eq!((a, slots.insert('c')), (Handle::FIRST, None));
        assert_eq!((slots.remove(a), slots.remove(a)), (Some('a'), None));
        let c = slots.insert('c').unwrap();
        assert_eq!(c.index, a.index);
        assert_eq!(
            (slots.get(a), slots.get(b), slots.get(c)),
            (None, Some(&'b'), Some(&'c'))
        );
        assert!(slots.iter().eq(&['c', 'b']));
    }
}
