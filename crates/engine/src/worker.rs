//! The worker: inhale, process, exhale.

mod aside;
mod errand;
mod residents;
mod shift;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;

use aside::Aside;
pub(crate) use aside::Returned;
use errand::Errand;
use policy::{Gather, Idle};
use shift::Out;
pub(crate) use shift::{Relieved, Seat, Shift};
use sys::clock::now_ns;
use sys::ready::Known;

use crate::function::{Ending, LANES_MAX, Roster};
use crate::lane::Closed;
use crate::pool::{Command, Control, WorkerConfig};
use crate::resident::Residents;
use crate::service::{BATCH_MAX, Outcomes, Service, cancel};
use crate::worker_lane::{Held, WorkerLane};

/// Longest sleep without a look around; only a safety net, since a client
/// that brings work rings the doorbell.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// For a lane without a notification held back: a time that never comes.
const NOT_LISTED: u64 = u64::MAX;

/// After a batch of several virtual functions that was slow, each batch is of one alone
/// for so many breaths: whose it is shows.
const SOLO_BREATHES: u32 = 1024;

/// How often an idle worker that spins looks at the clock.
const LOOKS_A_CLOCK: u32 = 64;

struct Drain {
    function: u64,
    slots: Vec<u32>,
    _done: Sender<()>,
}

impl Drain {
    fn is_over<R: Copy + Send>(&mut self, roster: &mut Roster<R>) -> bool {
        while let Some(&slot) = self.slots.last() {
            if roster.has_work_of(self.function, slot) {
                return false;
            }
            self.slots.pop();
        }
        true
    }
}

pub(crate) struct Worker<S: Service> {
    config: WorkerConfig,
    control: Arc<Control<S::Request>>,
    roster: Roster<S::Request>,
    gather: Gather,
    idle: Idle,
    /// The worker's errand; none while a member is out with it.
    errand: Option<Box<Errand<S>>>,
    /// The member that is out, and might be relieved.
    out: Option<Out>,
    aside: Vec<Aside<S::Request>>,
    touched: Vec<u32>,
    commands: VecDeque<Command<S::Request>>,
    drains: Vec<Drain>,
    abandoned: Vec<u32>,
    /// Lanes with a notification held back, by the time to look at them: when it is
    /// due, or before.
    held: BinaryHeap<Reverse<(u64, u32)>>,
    known: Known,
    due: Vec<u32>,
    residents: Residents,
    solo_left: u32,
}

impl<S: Service> Worker<S> {
    pub(crate) fn new(service: S, config: WorkerConfig, control: Arc<Control<S::Request>>) -> Self {
        Self {
            config,
            control,
            roster: Roster::new(),
            gather: Gather::default(),
            idle: Idle::default(),
            errand: Some(Box::new(Errand::new(service))),
            out: None,
            aside: Vec::new(),
            touched: Vec::with_capacity(BATCH_MAX),
            commands: VecDeque::new(),
            drains: Vec::new(),
            abandoned: Vec::new(),
            held: BinaryHeap::new(),
            known: Known::none(LANES_MAX),
            due: Vec::new(),
            residents: Residents::default(),
            solo_left: 0,
        }
    }

    fn errand(&mut self) -> &mut Errand<S> {
        self.errand.as_mut().expect("it is here when nobody is out")
    }

    /// Hands every lane back, also after a panic. `close_others` closes lanes that are not
    /// here.
    fn close(&mut self, how: Closed, close_others: impl FnOnce()) {
        // First, so that a client that learns of the end can make no lane. Commands for who
        // is held up are taken until he is back.
        if self.aside.is_empty() {
            self.commands.extend(self.control.end(how));
        }
        close_others();
        self.close_aside(how);
        self.commands.extend(self.control.end(how));
        let slots: Vec<u32> = self.roster.slots().collect();
        for slot in slots {
            self.close_lane(slot, how);
        }
        for command in self.commands.drain(..) {
            if let Command::Lane(lane) = command {
                lane.close(how);
            }
        }
        self.drains.clear();
    }

    fn close_lane(&mut self, slot: u32, how: Closed) {
        if let Some(lane) = self.roster.remove(slot, &self.control.ready) {
            if let Some(home) = &lane.home {
                self.residents.remove(slot, home);
            }
            self.control.free_slot(slot);
            lane.close(how);
        }
    }

    /// Waits a little for more requests where more can be done in the same time, as
    /// [`Gather`] says. Returns how many.
    fn gather(&mut self) -> usize {
        let width = self.errand().service.width();
        if width == 1 {
            return 1;
        }
        let before = self.waiting();
        // On a shared core the client cannot submit while we look.
        let patience = self.gather.begin(before, width);
        if let Some(patience) = patience.filter(|_| !self.config.is_core_shared) {
            let begin_ns = now_ns();
            let (mut after, mut waited_ns) = (before, 0);
            while after < patience.until && waited_ns < patience.limit_ns {
                std::hint::spin_loop();
                after = self.waiting();
                waited_ns = now_ns() - begin_ns;
            }
            self.gather.end(patience, before, after, waited_ns);
        }
        width
    }

    fn waiting(&mut self) -> usize {
        self.roster.waiting(&self.control.ready, BATCH_MAX)
    }

    /// Takes requests flow by flow, each for what its turn is worth. Where `width`
    /// can be done at once it takes that many or a multiple. A remainder would take
    /// as long as a full batch, so it waits for the next breath.
    fn inhale(&mut self, width: usize) -> usize {
        self.roster.find_work(&self.control.ready);
        let room = if width > 1 {
            (self.waiting() / width).max(1) * width
        } else {
            BATCH_MAX
        };
        // With others in one breath, whose memory holds the worker up is not known, and
        // they wait with it: only where they are done in the time of one.
        let alone_from = match (self.solo_left, self.config.stand_ins) {
            (1.., _) => 1,
            (0, 0) => usize::MAX,
            (0, _) => width,
        };
        let errand = self.errand.as_mut().expect("it is here when nobody is out");
        let Errand {
            service, breath, ..
        } = &mut **errand;
        self.roster.inhale(service, breath, room, width, alone_from);
        breath.requests.len()
    }

    fn exhale(&mut self) {
        for index in 0..self.errand().breath.present.len() {
            let slot = self.errand().breath.present[index];
            self.note_held(slot);
            self.rekick(&[slot]);
            let beyond_ns = self.roster.charge(slot);
            self.errand().breath.work_ns += beyond_ns;
        }
        let requests = self.errand().breath.requests.len();
        let tally = &self.control.tally;
        tally.batches.add(1);
        tally.requests.add(requests as u64);
        let looks = std::mem::take(&mut self.roster.looks);
        if looks > 0 {
            tally.looks.add(looks);
        }
    }

    fn note_held(&mut self, slot: u32) {
        let lane = &mut self.roster.lanes[slot as usize];
        if let Some(Held { due_ns, .. }) = lane.held
            && due_ns < lane.listed_ns
        {
            lane.listed_ns = due_ns;
            self.held.push(Reverse((due_ns, slot)));
        }
    }

    /// Which notifications are due that were held back.
    fn find_due(&mut self) {
        let now_ns = now_ns();
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        while let Some(&Reverse((due_ns, slot))) = self.held.peek()
            && due_ns <= now_ns
        {
            self.held.pop();
            let Some(lane) = self.roster.lanes.find(slot) else {
                continue;
            };
            if lane.listed_ns == due_ns {
                lane.listed_ns = NOT_LISTED;
            }
            match lane.held {
                Some(held) if held.due_ns <= now_ns => due.push(slot),
                // Held back anew since, for longer.
                _ => self.note_held(slot),
            }
        }
        self.due = due;
    }

    /// Lists again what [`Self::find_due`] found.
    fn list_due(&mut self) {
        for slot in std::mem::take(&mut self.due) {
            if self.roster.lanes.find(slot).is_some() {
                self.note_held(slot);
            }
        }
    }

    fn reconsider_held(&mut self, slot: u32) {
        let lane = &mut self.roster.lanes[slot as usize];
        if let Some(held) = &mut lane.held {
            held.due_ns = 0;
            self.note_held(slot);
        }
    }

    /// How long nothing needs to be done unless a client rings.
    fn idle_time(&self) -> Duration {
        let held_ns = self.held.peek().map(|Reverse((due_ns, _))| *due_ns);
        let due_ns = held_ns.into_iter().chain(self.roster.due_ns()).min();
        due_ns.map_or(SLEEP_MAX, |due_ns| {
            Duration::from_nanos(due_ns.saturating_sub(now_ns())).min(SLEEP_MAX)
        })
    }

    fn sleep(&mut self, idle_ns: u64) {
        self.control.tally.sleeps.add(1);
        let begin_ns = now_ns();
        self.control.sleep(self.idle_time(), &mut self.residents);
        let rung_ns = self.control.rung_ns();
        self.idle.slept(idle_ns, begin_ns, rung_ns, now_ns());
    }

    /// The time to look for work before a sleep.
    fn spin(&self) -> Duration {
        match self.config.idle_spin {
            Some(fixed) => fixed,
            None if self.config.is_core_shared => Duration::ZERO,
            None => Duration::from_nanos(self.idle.spin_ns()),
        }
    }

    #[inline]
    fn has_calls(&self) -> bool {
        let is_calm = self.abandoned.is_empty()
            && self.drains.is_empty()
            && self.residents.leaving.is_empty();
        !is_calm || self.control.is_called()
    }

    /// Carries out commands, and looks after lanes whose clients left or whose
    /// settings changed; `true` means stop.
    fn answer_calls(&mut self) -> bool {
        self.control.heed_call();
        if self.config.stand_ins > 0 {
            self.take_back();
        }
        self.obey_commands();
        let attention = &self.control.attention;
        let mut slots = std::mem::take(&mut self.due);
        slots.clear();
        attention.sweep(&mut self.known, |slot| slots.push(slot));
        // So that a call after the look is not lost.
        attention.retire(&mut self.known, slots.iter().copied());
        for &slot in &slots {
            if self.roster.lanes.find(slot).is_some() {
                self.attend(slot);
            }
        }
        self.due = slots;
        self.bury();
        self.see_off();
        let (roster, aside) = (&mut self.roster, &self.aside);
        self.drains.retain_mut(|drain| {
            let is_aside = aside.iter().any(|one| one.function == drain.function);
            is_aside || !drain.is_over(roster)
        });
        let is_stopping = self.control.is_stopping();
        if is_stopping {
            // Lanes made after the look and before the stop are finished, too.
            self.obey_commands();
        }
        is_stopping
    }

    /// One by one, so that a panic in one leaves the others to be closed.
    fn obey_commands(&mut self) {
        self.commands.extend(self.control.take_commands());
        while let Some(command) = self.commands.pop_front() {
            if let Some(command) = self.defer(command) {
                self.obey(command);
            }
        }
    }

    fn obey(&mut self, command: Command<S::Request>) {
        match command {
            Command::Lane(mut lane) => {
                let slot = lane.shared.slot;
                let is_late = lane.function.as_ref().is_some_and(|own| own.is_removed());
                let home = lane.home.as_ref();
                let is_settled = home.is_none_or(|home| {
                    let own = self.control.event();
                    self.residents.add(slot, home, own).is_ok()
                });
                if !is_settled {
                    // It never came to live here.
                    lane.home = None;
                }
                self.roster.add(lane);
                if is_late || !is_settled {
                    self.close_lane(slot, Closed::Removed);
                } else {
                    // What was said of it when it was not here yet.
                    self.attend(slot);
                }
            }
            Command::Reconsider(function) => {
                self.roster.reconsider(function);
                // It may take again what its residents left outside.
                let slots: Vec<u32> = self.roster.of_flow(function).collect();
                self.rekick(&slots);
            }
            Command::Drain(function, done) => {
                let slots = self.roster.members(function);
                for &slot in &slots {
                    // What its client did not show with a kick.
                    self.roster.rouse_one(slot);
                }
                self.drains.push(Drain {
                    function,
                    slots,
                    _done: done,
                });
            }
            Command::End(ending) => self.end_function(ending),
            Command::EndOne(worker, one) => one.end_for(worker),
            Command::Evict(eviction) => self.evict(eviction),
        }
    }

    /// Resets or removes a virtual function; dropping `ending` reports that.
    fn end_function(&mut self, ending: Ending) {
        let slots = self.roster.members(ending.function);
        self.drains
            .retain(|drain| drain.function != ending.function);
        if ending.is_removed {
            for slot in slots {
                self.cancel(&[slot]);
                self.close_lane(slot, Closed::Removed);
            }
        } else {
            self.cancel(&slots);
        }
        drop(ending);
    }

    fn cancel(&mut self, slots: &[u32]) {
        let width = self.errand().service.width();
        for &slot in slots {
            let lane = &mut self.roster.lanes[slot as usize];
            let errand = self.errand.as_mut().expect("it is here when nobody is out");
            cancel(&mut errand.service, lane);
            if lane.staged > 0 {
                self.touched.push(slot);
            }
        }
        let mut outcomes = Outcomes {
            lanes: &mut self.roster.lanes,
            origins: &mut [],
            touched: &mut self.touched,
        };
        outcomes.settle(slots, width);
        for &slot in slots {
            self.note_held(slot);
        }
        self.rekick(slots);
    }

    fn attend(&mut self, slot: u32) {
        self.reconsider_held(slot);
        let is_gone = is_gone(&self.roster.lanes[slot as usize]);
        if is_gone && !self.abandoned.contains(&slot) {
            // What it still holds is processed first.
            self.roster.rouse_one(slot);
            self.abandoned.push(slot);
        }
    }

    fn bury(&mut self) {
        let mut index = 0;
        while let Some(&slot) = self.abandoned.get(index) {
            if let Some(lane) = self.roster.lanes.find(slot)
                && is_gone(lane)
            {
                if lane.has_work() {
                    index += 1;
                    continue;
                }
                let lane = self.roster.remove(slot, &self.control.ready);
                let mut lane = lane.expect("it was found");
                lane.leave_function();
                self.control.free_slot(slot);
            }
            self.abandoned.swap_remove(index);
        }
    }

    /// The index up to which each lane is to be finished.
    fn goals(&mut self) -> Vec<(u32, u32)> {
        self.roster.rouse();
        let goal = |lane: &mut WorkerLane<S::Request>| {
            let waiting = u32::try_from(lane.requests.len_now()).expect("at most DEPTH_MAX");
            let goal = lane.requests.index().wrapping_add(waiting);
            (lane.shared.slot, goal)
        };
        self.roster.lanes.iter_mut().map(goal).collect()
    }
}

fn is_gone<R>(lane: &WorkerLane<R>) -> bool {
    lane.shared.is_client_gone.load(Ordering::Acquire)
}
