//! The worker and the clients that live with it.

use std::sync::Arc;

use super::Worker;
use crate::lane::Closed;
use crate::resident::{Eviction, Stay};
use crate::service::Service;

impl<S: Service> Worker<S> {
    /// Those who kicked are looked at again.
    pub(super) fn welcome_kicked(&mut self) {
        while let Some(slot) = self.residents.kicked.pop() {
            let lane = self.roster.lanes.find(slot);
            if let Some(home) = lane.and_then(|lane| lane.home.as_mut())
                && home.stay == Stay::Armed
            {
                home.stay = Stay::Looked;
                self.residents.armed -= 1;
                self.residents.looked.push(slot);
            }
        }
    }

    /// Has a resident take in nothing more. Where it is gone, its owner learns so by
    /// the end of `eviction`.
    pub(super) fn evict(&mut self, eviction: Eviction<S::Request>) {
        let slot = eviction.shared.slot;
        let lane = self.roster.lanes.find(slot);
        let lane = lane.filter(|lane| Arc::ptr_eq(&lane.shared, &eviction.shared));
        let Some(home) = lane.and_then(|lane| lane.home.as_mut()) else {
            return;
        };
        match home.stay {
            Stay::Looked => self.residents.looked.retain(|other| *other != slot),
            Stay::Armed => self.residents.armed -= 1,
            Stay::Leaving => {}
        }
        if home.stay != Stay::Leaving {
            self.residents.leaving.push(slot);
        }
        let is_cancelling = eviction.is_cancelling;
        home.leave(eviction);
        if is_cancelling {
            self.cancel(&[slot]);
        }
    }

    /// Gives residents back that have nothing in flight any more.
    pub(super) fn see_off(&mut self) {
        let mut index = 0;
        while let Some(&slot) = self.residents.leaving.get(index) {
            let lane = &mut self.roster.lanes[slot as usize];
            if lane.has_work() || lane.in_hand > 0 {
                index += 1;
                continue;
            }
            let lane = self.roster.remove(slot, &self.control.ready);
            let mut lane = lane.expect("it was found");
            let home = lane.home.take().expect("it is a resident's");
            self.residents.remove(slot, &home);
            self.control.free_slot(slot);
            lane.close(Closed::Removed);
            home.hand_back();
        }
    }

    /// There is room again for what residents left outside.
    pub(super) fn rekick(&mut self, slots: &[u32]) {
        if !self.residents.is_empty() {
            self.residents.kicked.extend_from_slice(slots);
        }
    }
}
