//! Which lanes have work, and which of them is next: what keeps the cost of
//! a breath with those that have something to do, however many there are.

mod dues;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use policy::{Schedule, Visit};
use sys::clock::ticks;
use sys::ready::{Known, ReadySet};

use super::breath::{Breath, Purse, take_from};
use super::lanes::{LANES_MAX, Lanes};
use super::shared::Function;
use crate::lane::Shared;
use crate::service::{BATCH_MAX, Service};
use crate::worker_lane::{BoxedLane, Place};

/// Most requests of one lane in a breath: enough for the widest multi-buffer
/// code, and few enough that the next ones arrive while these are processed.
pub(crate) const SHARE_MAX: usize = 32;

/// Most lanes without work that are looked at all the same, so that a client
/// that comes back soon need not announce itself.
const LINGERING_MAX: usize = 16;

/// A ring's index is prefetched this many looks ahead: its cache line is with the
/// client.
const LOOKS_AHEAD: usize = 8;

/// Work after which a breath of several flows ends, ns: the wait of a request that
/// arrives just after it began.
const BREATH_NS: u64 = 64_000;

/// The same where one flow alone has work.
const ALONE_NS: u64 = 32_000;

/// The lanes that share one turn: those of a virtual function, or one that
/// belongs to none.
#[derive(Debug)]
struct Flow<R> {
    queue: VecDeque<u32>,
    lanes: usize,
    function: Option<Arc<Function<R>>>,
    breath: u64,
    is_throttled: bool,
    /// It pays in time for what it took: until then it takes nothing in, either.
    is_held: bool,
    /// When something of it was taken last.
    served_ticks: u64,
}

/// The facts of a lane that are known while it is lent, too.
#[derive(Debug)]
struct Facts<R> {
    flow: u32,
    shared: Arc<Shared<R>>,
    function: Option<Arc<Function<R>>>,
}

impl<R> Facts<R> {
    fn is_restless(&self) -> bool {
        !self.shared.config.moderation.worker_sleeps()
    }
}

#[derive(Debug)]
pub(crate) struct Roster<R> {
    pub(crate) lanes: Lanes<R>,
    /// The lanes' facts, by slot.
    facts: Vec<Option<Facts<R>>>,
    flows: Vec<Option<Box<Flow<R>>>>,
    schedule: Schedule,
    known: Known,
    lingering: Vec<u32>,
    /// Flows whose quota is used up, by the time when they may go on.
    throttled: BinaryHeap<Reverse<(u64, u32)>>,
    /// The lane, if it is the only one and has no quota to keep.
    lone: Option<u32>,
    owned: usize,
    restless: usize,
    breath: u64,
    ignores_quotas: bool,
    pub(crate) looks: u64,
    scratch: Vec<u32>,
}

impl<R: Copy + Send> Roster<R> {
    pub(crate) fn new() -> Self {
        Self {
            lanes: Lanes::new(),
            facts: Vec::new(),
            flows: Vec::new(),
            schedule: Schedule::default(),
            known: Known::none(LANES_MAX),
            lingering: Vec::new(),
            throttled: BinaryHeap::new(),
            lone: None,
            owned: 0,
            restless: 0,
            breath: 0,
            ignores_quotas: false,
            looks: 0,
            scratch: Vec::new(),
        }
    }

    pub(crate) fn slots(&mut self) -> impl Iterator<Item = u32> {
        self.lanes.iter_mut().map(|lane| lane.shared.slot)
    }

    pub(crate) fn members(&mut self, function: u64) -> Vec<u32> {
        let own = self.lanes.iter_mut();
        own.filter(|lane| lane.is_of(function))
            .map(|lane| lane.shared.slot)
            .collect()
    }

    /// The lanes that share that turn.
    pub(crate) fn of_flow(&mut self, number: u32) -> impl Iterator<Item = u32> {
        let own = self.lanes.iter_mut();
        own.filter(move |lane| lane.flow_number() == number)
            .map(|lane| lane.shared.slot)
    }

    pub(crate) fn has_work_of(&mut self, function: u64, slot: u32) -> bool {
        let lane = self.lanes.find(slot);
        lane.is_some_and(|lane| lane.is_of(function) && lane.has_work())
    }

    pub(crate) fn charges(&self) -> bool {
        self.owned > 0
    }

    pub(crate) fn has_restless(&self) -> bool {
        self.restless > 0
    }

    pub(crate) fn add(&mut self, lane: BoxedLane<R>) {
        let (slot, number) = (lane.shared.slot, lane.flow_number());
        let function = lane.function.clone();
        if self.flows.len() <= number as usize {
            self.flows.resize_with(number as usize + 1, || None);
        }
        let weight = function.as_ref().map_or(1, |function| function.weight());
        let schedule = &mut self.schedule;
        let flow = self.flows[number as usize].get_or_insert_with(|| {
            schedule.set(number, weight);
            if let Some(function) = &function {
                schedule.owe(number, function.take_debt());
            }
            Box::new(Flow {
                queue: VecDeque::new(),
                lanes: 0,
                function,
                breath: 0,
                is_throttled: false,
                is_held: false,
                served_ticks: 0,
            })
        });
        flow.lanes += 1;
        self.owned += usize::from(lane.function.is_some());
        flow.queue.reserve(flow.lanes);
        let facts = Facts {
            flow: number,
            shared: Arc::clone(&lane.shared),
            function: lane.function.clone(),
        };
        self.restless += usize::from(facts.is_restless());
        if self.facts.len() <= slot as usize {
            self.facts.resize_with(slot as usize + 1, || None);
        }
        self.facts[slot as usize] = Some(facts);
        self.lanes.insert(lane);
        // What it may hold already was not announced here.
        self.known.know(slot);
        self.linger(slot);
        self.lingering.reserve(self.lanes.len());
        self.scratch.reserve(self.lanes.len());
        self.throttled.reserve(self.lanes.len());
        self.look_for_lone();
    }

    pub(crate) fn remove(&mut self, slot: u32, ready: &ReadySet) -> Option<BoxedLane<R>> {
        let lane = self.lanes.remove(slot)?;
        self.strike(slot, ready);
        Some(lane)
    }

    /// Takes all lanes of a virtual function away: those that are here, and who those are
    /// that are lent.
    pub(crate) fn set_aside(
        &mut self,
        function: u64,
        ready: &ReadySet,
    ) -> (Vec<BoxedLane<R>>, Vec<Arc<Shared<R>>>) {
        let of_it = |facts: &Facts<R>| {
            let owner = facts.function.as_ref();
            owner.is_some_and(|owner| owner.id == function)
        };
        let own: Vec<_> = {
            let own = self.facts.iter().flatten().filter(|facts| of_it(facts));
            own.map(|facts| Arc::clone(&facts.shared)).collect()
        };
        let (mut here, mut lent) = (Vec::new(), Vec::new());
        for shared in own {
            match self.lanes.remove(shared.slot) {
                Some(lane) => here.push(lane),
                None => lent.push(Arc::clone(&shared)),
            }
            self.strike(shared.slot, ready);
        }
        (here, lent)
    }

    /// A lane that is not here has no turn any more.
    fn strike(&mut self, slot: u32, ready: &ReadySet) {
        let facts = self.facts[slot as usize].take();
        let facts = facts.expect("a lane has facts as long as it is on the roster");
        let number = facts.flow;
        self.lingering.retain(|other| *other != slot);
        ready.retire(&mut self.known, [slot]);
        self.owned -= usize::from(facts.function.is_some());
        self.restless -= usize::from(facts.is_restless());
        let flow = self.flows[number as usize].as_mut();
        let flow = flow.expect("a lane's flow is there as long as the lane");
        flow.queue.retain(|other| *other != slot);
        flow.lanes -= 1;
        if flow.lanes == 0 {
            self.flows[number as usize] = None;
            // Else a worker of one plain lane would never come to look at them, and
            // never sleep for them.
            self.throttled
                .retain(|Reverse((_, other))| *other != number);
            let debt_ns = self.schedule.remove(number);
            if let Some(function) = &facts.function {
                function.leave_debt(debt_ns);
            }
        }
        self.look_for_lone();
    }

    pub(crate) fn reconsider(&mut self, number: u32) {
        let Some(flow) = self.flow(number) else {
            return;
        };
        let Some(weight) = flow.function.as_ref().map(|function| function.weight()) else {
            return;
        };
        self.schedule.set(number, weight);
        self.unthrottle(number);
        self.look_for_lone();
    }

    fn flow(&mut self, number: u32) -> Option<&mut Flow<R>> {
        self.flows.get_mut(number as usize)?.as_deref_mut()
    }

    fn look_for_lone(&mut self) {
        let is_one = self.lanes.len() == 1;
        self.lone = self
            .lanes
            .iter_mut()
            .find(|lane| is_one && lane.function.is_none())
            .map(|lane| lane.shared.slot);
    }

    fn linger(&mut self, slot: u32) {
        self.lanes[slot as usize].place = Place::Lingering;
        self.lingering.push(slot);
    }

    fn enqueue(&mut self, slot: u32) {
        let lane = &mut self.lanes[slot as usize];
        lane.place = Place::Queued;
        // By the time of its turn it is here.
        lane.requests.anticipate_next();
        let number = lane.flow_number();
        let flow = self.flows[number as usize]
            .as_mut()
            .expect("a lane's flow is there as long as the lane");
        flow.queue.push_back(slot);
        if !flow.is_throttled {
            self.schedule.wake(number);
        }
    }

    /// Looks which lanes have got work since the last time.
    pub(crate) fn find_work(&mut self, ready: &ReadySet) {
        if self.lone.is_some() {
            return;
        }
        if ready.has_news() {
            self.sweep(ready);
        }
        self.look_at_lingering(ready);
        if !self.throttled.is_empty() {
            self.look_at_throttled();
        }
    }

    fn sweep(&mut self, ready: &ReadySet) {
        let mut found = std::mem::take(&mut self.scratch);
        found.clear();
        ready.sweep(&mut self.known, |slot| found.push(slot));
        for &slot in &found {
            match self.lanes.find(slot).map(|lane| lane.place) {
                Some(Place::Away) => self.enqueue(slot),
                Some(_) => {}
                // The client of a lane that is gone.
                None => ready.retire(&mut self.known, [slot]),
            }
        }
        self.scratch = found;
    }

    fn look_at_lingering(&mut self, ready: &ReadySet) {
        let mut kept = 0;
        for index in 0..self.lingering.len() {
            let slot = self.lingering[index];
            if let Some(&ahead) = self.lingering.get(index + LOOKS_AHEAD) {
                self.lanes[ahead as usize].requests.anticipate();
            }
            self.looks += 1;
            if self.lanes[slot as usize].has_work() {
                self.enqueue(slot);
            } else {
                self.lingering[kept] = slot;
                kept += 1;
            }
        }
        self.lingering.truncate(kept);
        if kept > LINGERING_MAX {
            self.retire(ready, kept - LINGERING_MAX / 2);
        }
    }

    /// From now on the clients of the first `count` lingering lanes announce
    /// themselves.
    fn retire(&mut self, ready: &ReadySet, count: usize) {
        ready.retire(&mut self.known, self.lingering[..count].iter().copied());
        for index in 0..count {
            let slot = self.lingering[index];
            self.looks += 1;
            if self.lanes[slot as usize].has_work() {
                self.known.know(slot);
                self.enqueue(slot);
            } else {
                self.lanes[slot as usize].place = Place::Away;
            }
        }
        self.lingering.drain(..count);
    }

    pub(crate) fn has_work(&mut self, ready: &ReadySet) -> bool {
        if let Some(slot) = self.lone {
            return self.lanes[slot as usize].has_work();
        }
        let lanes = &mut self.lanes;
        self.schedule.active() > 0
            || ready.has_news()
            || self
                .lingering
                .iter()
                .any(|slot| lanes[*slot as usize].has_work())
    }

    /// Requests that the next breath could take, up to `enough`.
    pub(crate) fn waiting(&mut self, ready: &ReadySet, enough: usize) -> usize {
        if let Some(slot) = self.lone {
            return self.lanes[slot as usize].waiting(SHARE_MAX);
        }
        self.find_work(ready);
        let mut count = 0;
        for number in self.schedule.ring() {
            let flow = self.flows[number as usize].as_ref();
            for &slot in flow.iter().flat_map(|flow| &flow.queue) {
                count += self.lanes[slot as usize].waiting(SHARE_MAX);
                if count >= enough {
                    return enough;
                }
            }
        }
        count
    }

    /// Takes requests of one flow after the other, each once and for what its
    /// turn is worth, until there are `room` or enough for a breath. Another flow follows
    /// only on fewer than `alone_from` requests: where that is 1, what the breath takes is
    /// known to be one flow's.
    pub(crate) fn inhale<S: Service<Request = R>>(
        &mut self,
        service: &mut S,
        into: &mut Breath<R>,
        room: usize,
        width: usize,
        alone_from: usize,
    ) {
        if let Some(slot) = self.lone {
            let lane = &mut self.lanes[slot as usize];
            take_from(service, lane, into, SHARE_MAX.min(room), |_, _, _, _| true);
            return;
        }
        self.breath += 1;
        // Where many are done in the time of one, credit alone would part
        // those that can keep each other company.
        let least = width.div_ceil(self.schedule.active().clamp(1, width));
        let share = (BATCH_MAX / self.schedule.active().max(1)).clamp(1, SHARE_MAX);
        let mut work_ns = 0;
        while (work_ns < BREATH_NS || into.requests.len() < width)
            && into.requests.len() < room
            && into.requests.len() < alone_from
            && let Some(visit) = self.schedule.begin()
        {
            let flow = self.flows[visit.flow as usize].as_mut();
            let flow = flow.expect("a flow is in the schedule as long as it is");
            if flow.breath == self.breath {
                self.schedule.put_back(visit);
                break;
            }
            flow.breath = self.breath;
            if self.owned == 0 {
                self.serve_plain(service, into, room, share, visit);
                continue;
            }
            let spent_ns = self.serve(service, into, room, least, visit);
            work_ns = u64::saturating_add(work_ns, spent_ns);
        }
    }

    /// One visit where there are no virtual functions: all lanes are equal,
    /// and share by requests; nothing is priced.
    fn serve_plain<S: Service<Request = R>>(
        &mut self,
        service: &mut S,
        into: &mut Breath<R>,
        room: usize,
        share: usize,
        visit: Visit,
    ) {
        let flow = self.flows[visit.flow as usize].as_mut();
        let flow = flow.expect("a flow is in the schedule as long as it is");
        // Its only one.
        if let Some(&slot) = flow.queue.front() {
            let lane = &mut self.lanes[slot as usize];
            let most = share.min(room - into.requests.len());
            self.looks += 1;
            take_from(service, lane, into, most, |_, _, _, _| true);
            if !lane.has_more() {
                flow.queue.pop_front();
                lane.place = Place::Lingering;
                self.lingering.push(slot);
            }
        }
        let has_more = !flow.queue.is_empty();
        self.schedule.end(visit, visit.credit_ns, 0, has_more);
    }

    fn serve<S: Service<Request = R>>(
        &mut self,
        service: &mut S,
        into: &mut Breath<R>,
        room: usize,
        least: usize,
        visit: Visit,
    ) -> u64 {
        let flow = self.flows[visit.flow as usize].as_mut();
        let flow = flow.expect("a flow is in the schedule as long as it is");
        if flow.is_held {
            self.schedule.leave(visit);
            return 0;
        }
        let mut purse = Purse::new(least, room - into.requests.len(), visit.credit_ns);
        if visit.is_alone {
            purse.credit_ns = purse.credit_ns.max(ALONE_NS);
        }
        let limited = flow.function.as_deref();
        let limited = limited.filter(|function| function.is_limited() && !self.ignores_quotas);
        if let Some(function) = limited {
            match function.allowance() {
                Ok(allowance) => purse.allowance = allowance,
                Err(due_ns) => {
                    flow.is_throttled = true;
                    self.schedule.leave(visit);
                    self.throttled.push(Reverse((due_ns, visit.flow)));
                    return 0;
                }
            }
        }
        for _ in 0..flow.queue.len() {
            let slot = flow.queue.pop_front().expect("as many as were counted");
            let lane = &mut self.lanes[slot as usize];
            let most = SHARE_MAX.min(purse.most - purse.taken);
            self.looks += 1;
            take_from(
                service,
                lane,
                into,
                most,
                |service, request, bytes, has_more| {
                    purse.pay(service.work_ns(request), bytes, has_more)
                },
            );
            if lane.has_more() {
                flow.queue.push_back(slot);
            } else {
                lane.place = Place::Lingering;
                self.lingering.push(slot);
            }
            if !purse.is_open() {
                break;
            }
        }
        if purse.taken > 0 {
            flow.served_ticks = ticks();
        }
        if let Some(function) = limited {
            function.spend(purse.requests, purse.bytes);
        }
        if let Some(function) = &flow.function {
            function.worked(purse.spent_ns);
        }
        let has_more = !flow.queue.is_empty();
        self.schedule
            .end(visit, purse.spent_ns, purse.last_ns, has_more);
        into.work_ns = into.work_ns.saturating_add(purse.spent_ns);
        purse.spent_ns
    }

    /// From now on every lane is looked at and no quota holds: the engine is about to
    /// end.
    pub(crate) fn rouse(&mut self) {
        self.ignores_quotas = true;
        self.throttled.clear();
        let slots: Vec<u32> = self.slots().collect();
        for slot in slots {
            self.rouse_one(slot);
            let number = self.lanes[slot as usize].flow_number();
            self.unthrottle(number);
        }
    }

    /// The lane's client will not announce what it still left.
    pub(crate) fn rouse_one(&mut self, slot: u32) {
        if self.lanes[slot as usize].place == Place::Away {
            self.known.know(slot);
            self.enqueue(slot);
        }
    }
}
