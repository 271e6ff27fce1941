//! A worker's lanes, each in a slot that stays its own.

use crate::worker_lane::{BoxedLane, WorkerLane};

/// Most lanes of one worker: the slots of a ready set.
pub const LANES_MAX: usize = sys::ready::SLOTS_MAX;

/// In boxes, so that a lane is lent for little.
#[derive(Debug)]
pub(crate) struct Lanes<R> {
    slots: Vec<Option<BoxedLane<R>>>,
    len: usize,
}

impl<R> Lanes<R> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn find(&mut self, slot: u32) -> Option<&mut WorkerLane<R>> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    pub(crate) fn insert(&mut self, lane: BoxedLane<R>) {
        let slot = lane.shared.slot as usize;
        if slot >= self.slots.len() {
            self.slots.resize_with(slot + 1, || None);
        }
        let before = self.slots[slot].replace(lane);
        assert!(before.is_none(), "a slot is given to one lane at a time");
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<BoxedLane<R>> {
        let lane = self.slots.get_mut(slot as usize)?.take();
        self.len -= usize::from(lane.is_some());
        lane
    }

    /// Takes all lanes that are here.
    pub(crate) fn take_all(&mut self) -> Vec<BoxedLane<R>> {
        self.len = 0;
        self.slots.iter_mut().filter_map(Option::take).collect()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut WorkerLane<R>> {
        self.slots.iter_mut().flatten().map(|lane| &mut **lane)
    }
}

impl<R> std::ops::Index<usize> for Lanes<R> {
    type Output = WorkerLane<R>;

    #[inline]
    fn index(&self, slot: usize) -> &WorkerLane<R> {
        self.slots[slot]
            .as_deref()
            .expect("the slot's lane is there")
    }
}

impl<R> std::ops::IndexMut<usize> for Lanes<R> {
    #[inline]
    fn index_mut(&mut self, slot: usize) -> &mut WorkerLane<R> {
        self.slots[slot]
            .as_deref_mut()
            .expect("the slot's lane is there")
    }
}
