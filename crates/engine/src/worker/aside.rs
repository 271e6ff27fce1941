//! Virtual functions whose memory holds somebody up: set aside until he is back.

use std::sync::Arc;

use super::shift::Homes;
use super::{SLEEP_MAX, Worker};
use crate::lane::{Closed, Shared};
use crate::pool::Command;
use crate::resident::{Eviction, Stay};
use crate::service::Service;
use crate::worker_lane::BoxedLane;

/// One of them. Nothing of it is processed meanwhile: whoever is held up has some of its
/// lanes, and uses its keys.
pub(super) struct Aside<R> {
    pub(super) function: u64,
    lanes: Vec<BoxedLane<R>>,
    lent: Vec<Arc<Shared<R>>>,
    homes: Homes,
    /// The commands for it that came meanwhile.
    commands: Vec<Command<R>>,
}

/// The lanes that a member brings back who was held up.
#[derive(Debug)]
pub(crate) struct Returned<R> {
    pub(crate) function: u64,
    /// The lanes; none where the visit ended by a panic.
    pub(crate) lanes: Vec<BoxedLane<R>>,
}

impl<R> Aside<R> {
    fn has(&self, eviction: &Eviction<R>) -> bool {
        let own = self.lanes.iter().map(|lane| &lane.shared);
        own.chain(&self.lent)
            .any(|shared| Arc::ptr_eq(shared, &eviction.shared))
    }
}

impl<S: Service> Worker<S> {
    /// Some of its lanes are lent; `homes` of these are residents'.
    pub(super) fn set_aside(&mut self, function: u64, homes: Homes) {
        let (lanes, lent) = self.roster.set_aside(function, &self.control.ready);
        for lane in &lanes {
            if let Some(home) = &lane.home {
                self.residents.set_aside(lane.shared.slot, home.stay);
            }
        }
        for shared in &lent {
            self.residents.set_aside(shared.slot, Stay::Looked);
        }
        self.residents.armed -= homes.armed;
        self.aside.push(Aside {
            function,
            lanes,
            lent,
            homes,
            commands: Vec::new(),
        });
    }

    /// Keeps a command for a function that is set aside; any other comes back.
    pub(super) fn defer(&mut self, command: Command<S::Request>) -> Option<Command<S::Request>> {
        let of = |function: u64| {
            let all = self.aside.iter();
            all.clone().position(|one| one.function == function)
        };
        let at = match &command {
            Command::Lane(lane) => lane.function.as_ref().and_then(|own| of(own.id)),
            Command::Drain(function, _) => of(*function),
            Command::End(ending) => of(ending.function),
            // Whose it is it does not say. What ends a little later harms nobody.
            Command::EndOne(..) => (!self.aside.is_empty()).then_some(0),
            Command::Evict(eviction) => self.aside.iter().position(|one| one.has(eviction)),
            Command::Reconsider(_) => None,
        };
        let Some(at) = at else {
            return Some(command);
        };
        self.aside[at].commands.push(command);
        None
    }

    pub(super) fn take_back(&mut self) {
        for returned in self.control.take_returned() {
            let aside = self.rejoin(returned);
            for lane in aside.lanes {
                self.settle_again(lane);
            }
            self.commands.extend(aside.commands);
        }
    }

    fn rejoin(&mut self, returned: Returned<S::Request>) -> Aside<S::Request> {
        let Returned { function, lanes } = returned;
        let mut all = self.aside.iter();
        let at = all.position(|one| one.function == function);
        let mut aside = self
            .aside
            .swap_remove(at.expect("who is out is relieved once"));
        // With a panic they are gone.
        if lanes.is_empty() {
            self.residents.forget(aside.homes.count);
            for shared in &aside.lent {
                self.control.free_slot(shared.slot);
            }
        }
        aside.lanes.extend(lanes);
        aside
    }

    /// Waits for somebody who is held up.
    pub(super) fn await_return(&mut self) {
        self.control.arm_doorbell();
        if self.control.is_called() {
            self.control.disarm_doorbell();
        } else {
            self.control.sleep(SLEEP_MAX, &mut self.residents);
        }
    }

    /// Ends them with the worker. Keys in use are there until their user is back.
    pub(super) fn close_aside(&mut self, how: Closed) {
        while !self.aside.is_empty() {
            self.control.heed_call();
            for returned in self.control.take_returned() {
                let aside = self.rejoin(returned);
                aside.lanes.into_iter().for_each(|lane| lane.close(how));
                self.commands.extend(aside.commands);
            }
            if !self.aside.is_empty() {
                self.await_return();
            }
        }
    }

    fn settle_again(&mut self, mut lane: BoxedLane<S::Request>) {
        let slot = lane.shared.slot;
        lane.listed_ns = super::NOT_LISTED;
        if let Some(home) = &mut lane.home {
            match home.stay {
                Stay::Leaving => self.residents.leaving.push(slot),
                Stay::Looked | Stay::Armed => {
                    home.stay = Stay::Looked;
                    self.residents.looked.push(slot);
                }
            }
        }
        self.roster.add(lane);
        self.roster.charge(slot);
        self.note_held(slot);
        // What was said of it meanwhile.
        self.attend(slot);
    }
}
