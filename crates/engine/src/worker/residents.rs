//! The worker and the clients that live with it.

use std::sync::Arc;
use std::time::Duration;

use sys::clock::ticks;

use super::Worker;
use crate::lane::Closed;
use crate::resident::{Eviction, Stay};
use crate::service::Service;
use crate::worker_lane::Held;

impl<S: Service> Worker<S> {
    /// Has the residents take in what came; whether that was anything.
    pub(super) fn take_in(&mut self) -> bool {
        if self.residents.is_empty() {
            return false;
        }
        if self.residents.is_due() {
            self.residents.wait(Duration::ZERO);
        }
        self.welcome_kicked();
        let mut is_any = false;
        let mut index = 0;
        while let Some(&slot) = self.residents.looked.get(index) {
            let lane = &mut self.roster.lanes[slot as usize];
            let home = lane.home.as_mut().expect("it is a resident's");
            let standpoint = &self.control.standpoint;
            standpoint.enter(lane.host);
            let begin_ticks = ticks();
            let intake = home.inhale();
            let beyond_ns = self.pace.beyond_ns(begin_ticks, intake.work_ns, standpoint);
            standpoint.leave();
            let work_ns = intake.work_ns.saturating_add(beyond_ns);
            lane.surcharge_ns = lane.surcharge_ns.saturating_add(work_ns);
            if intake.is_some {
                is_any = true;
                self.roster.rouse_one(slot);
            } else if home.stay == Stay::Armed {
                self.residents.armed += 1;
                self.residents.looked.swap_remove(index);
                continue;
            }
            index += 1;
        }
        is_any
    }

    /// Those who kicked are looked at again.
    fn welcome_kicked(&mut self) {
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

    /// Before a sleep: every resident's client is asked to kick; whether one has
    /// something already.
    pub(super) fn arm_residents(&mut self) -> bool {
        let mut is_any = false;
        let roster = &mut self.roster;
        self.residents.looked.retain(|&slot| {
            let lane = &mut roster.lanes[slot as usize];
            let home = lane.home.as_mut().expect("it is a resident's");
            let is_soon = |held: Held| held.due_ns <= home.resident.expected_ns();
            if lane.held.is_some_and(is_soon) {
                is_any |= home.resident.arm_late();
                // Whether it kicks or not, it is looked at when the time has come.
                return true;
            }
            let has_work = home.resident.arm();
            is_any |= has_work;
            if !has_work {
                home.stay = Stay::Armed;
                self.residents.armed += 1;
            }
            has_work
        });
        is_any
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
