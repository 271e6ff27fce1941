//! The thread on duty: it has the worker, and lays it down where a tenant's memory might
//! hold it up.
//!
//! ```text
//!  member 0   ──▶ breath ──▶ out to a tenant ─ ─ ─ held up ─ ─ ─ ─ ─▶ back: a stand-in now
//!                              │ lays the worker down
//!  member 1   stands by ·······┴─▶ sets that tenant aside ──▶ breath ──▶ takes it back
//! ```
//!
//! A page that waits in the kernel cannot be broken off. So whoever goes out takes along
//! what he needs, and nothing else; after some milliseconds another goes on with the rest.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use sys::clock::{now_ns, ticks};
use sys::wake::WakeIndex;

use super::aside::Returned;
use super::errand::Errand;
use super::{LOOKS_A_CLOCK, SOLO_BREATHES, Worker};
use crate::lane::Closed;
use crate::pool::Control;
use crate::relief::{Ask, Relief};
use crate::resident::Stay;
use crate::service::{Service, wake};
use crate::standpoint::{Host, Pace, Standpoint};
use crate::worker_lane::{BoxedLane, Held, WorkerLane};

/// A worker, and who has it.
pub(crate) struct Seat<S: Service> {
    worker: Mutex<Worker<S>>,
    on_duty: AtomicUsize,
    control: Arc<Control<S::Request>>,
    /// For those who take over from somebody who has the worker's own.
    errands: Mutex<Vec<Box<Errand<S>>>>,
}

/// Somebody is out.
pub(super) struct Out {
    member: usize,
    visit: u64,
    function: u64,
    homes: Homes,
}

/// Counts the residents' lanes among those that a member takes along.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Homes {
    pub(super) count: usize,
    pub(super) armed: usize,
}

impl Homes {
    fn and<R>(self, lane: &WorkerLane<R>) -> Self {
        let stay = lane.home.as_ref().map(|home| home.stay);
        Self {
            count: self.count + usize::from(stay.is_some()),
            armed: self.armed + usize::from(stay == Some(Stay::Armed)),
        }
    }
}

/// The worker is another's by now.
#[derive(Debug)]
pub(crate) struct Relieved;

/// The lanes that a member takes along.
trait Luggage<S: Service> {
    fn homes(&self) -> Homes;
    fn give_up(self, seat: &Seat<S>) -> Vec<BoxedLane<S::Request>>;
}

impl<S: Service> Luggage<S> for BoxedLane<S::Request> {
    fn homes(&self) -> Homes {
        Homes::default().and(self)
    }

    fn give_up(self, _: &Seat<S>) -> Vec<Self> {
        vec![self]
    }
}

impl<S: Service> Luggage<S> for Box<Errand<S>> {
    fn homes(&self) -> Homes {
        let present = self.breath.present.iter();
        present.fold(Homes::default(), |homes, slot| homes.and(self.lane(*slot)))
    }

    fn give_up(mut self, seat: &Seat<S>) -> Vec<BoxedLane<S::Request>> {
        let lanes = Errand::give_up(&mut self);
        lock(&seat.errands).push(self);
        lanes
    }
}

/// Lanes that are out when somebody panics are kept, to be closed once whoever learns of
/// it can make no other.
struct Carried<'s, S: Service, L: Luggage<S>> {
    luggage: Option<L>,
    seat: &'s Seat<S>,
    fallen: &'s mut Vec<BoxedLane<S::Request>>,
}

impl<S: Service, L: Luggage<S>> Drop for Carried<'_, S, L> {
    fn drop(&mut self) {
        if let Some(luggage) = self.luggage.take() {
            self.fallen.extend(luggage.give_up(self.seat));
        }
    }
}

impl<S: Service> Seat<S> {
    pub(crate) fn new(worker: Worker<S>, control: Arc<Control<S::Request>>) -> Self {
        Self {
            worker: Mutex::new(worker),
            on_duty: AtomicUsize::new(0),
            control,
            errands: Mutex::default(),
        }
    }

    pub(crate) fn relief(&self) -> &Relief {
        &self.control.relief
    }

    /// Adds a member that stands by.
    pub(crate) fn add(&self, service: S) {
        lock(&self.errands).push(Box::new(Errand::new(service)));
    }

    /// The worker again, unless it is another's by now.
    fn come_back(&self, member: usize) -> Option<MutexGuard<'_, Worker<S>>> {
        while self.on_duty.load(Ordering::Acquire) == member {
            match self.worker.try_lock() {
                Ok(worker) => return self.is_his(member).then_some(worker),
                Err(TryLockError::Poisoned(worker)) => {
                    return self.is_his(member).then_some(worker.into_inner());
                }
                // Somebody looks whether to take over.
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
        None
    }

    fn is_his(&self, member: usize) -> bool {
        self.on_duty.load(Ordering::Acquire) == member
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Shift<'s, S: Service> {
    seat: &'s Seat<S>,
    member: usize,
    /// The worker; none while out.
    worker: Option<MutexGuard<'s, Worker<S>>>,
    pace: Pace,
    function: Option<u64>,
    may_be_relieved: bool,
    /// What was out at a panic.
    fallen: Vec<BoxedLane<S::Request>>,
}

impl<'s, S: Service> Shift<'s, S> {
    pub(crate) fn begin(seat: &'s Seat<S>, member: usize) -> Self {
        let worker = lock(&seat.worker);
        Self {
            seat,
            member,
            may_be_relieved: worker.config.stand_ins > 0,
            worker: Some(worker),
            pace: Pace::new(),
            function: None,
            fallen: Vec::new(),
        }
    }

    /// Takes over from one who is out still.
    pub(crate) fn relieve(seat: &'s Seat<S>, member: usize, ask: Ask) -> Option<Self> {
        let mut worker = lock(&seat.worker);
        let is_meant = |out: &mut Out| (out.member, out.visit) == (ask.member, ask.visit);
        let out = worker.out.take_if(is_meant)?;
        if worker.errand.is_none() {
            worker.errand = lock(&seat.errands).pop();
        }
        seat.on_duty.store(member, Ordering::Release);
        worker.set_aside(out.function, out.homes);
        // Whom he was about to tell.
        worker.list_due();
        // And what he was told, and saw to in part: that the worker is to stop, say.
        seat.control.call();
        Some(Self {
            seat,
            member,
            may_be_relieved: true,
            worker: Some(worker),
            pace: Pace::new(),
            function: None,
            fallen: Vec::new(),
        })
    }

    fn worker(&mut self) -> &mut Worker<S> {
        self.worker.as_mut().expect("it is here when nobody is out")
    }

    pub(crate) fn run(&mut self) -> Result<(), Relieved> {
        loop {
            if self.worker().has_calls() {
                if self.worker().answer_calls() {
                    return self.finish();
                }
                self.pace.begin_anew(now_ns());
            }
            let done = self.breathe()?;
            self.release()?;
            if done == 0 {
                self.rest()?;
            }
        }
    }

    /// At the end of all. After a panic: whether the worker was his; if not, only whoever
    /// he was out for has lost something.
    pub(crate) fn close(mut self, how: Closed) -> bool {
        if self.worker.is_none() {
            // A panic has ended the visit: he is not to be relieved of it.
            self.seat.control.standpoint(self.member).leave();
            self.worker = self.seat.come_back(self.member);
            if let Some(worker) = &mut self.worker {
                worker.out = None;
            }
        }
        let fallen = self.fallen.drain(..);
        let close_fallen = || fallen.for_each(|lane| lane.close(Closed::WorkerFailed));
        match (&mut self.worker, self.function) {
            (Some(worker), _) => worker.close(how, close_fallen),
            (None, Some(function)) => {
                close_fallen();
                let lanes = Vec::new();
                self.seat.control.give_back(Returned { function, lanes });
            }
            (None, None) => {}
        }
        self.worker.is_some()
    }

    /// Does what goes to the memory of `host`.
    #[inline]
    fn out<L: Luggage<S>>(
        &mut self,
        host: Host,
        luggage: L,
        act: impl FnOnce(&mut L, &mut Pace, &Standpoint),
    ) -> Result<L, Relieved> {
        let seat = self.seat;
        let standpoint = seat.control.standpoint(self.member);
        standpoint.enter(host);
        let function = host.one().filter(|_| self.may_be_relieved);
        if let Some(function) = function {
            self.worker().out = Some(Out {
                member: self.member,
                visit: standpoint.visits(),
                function,
                homes: luggage.homes(),
            });
            self.function = Some(function);
            self.worker = None;
        }
        let luggage = Some(luggage);
        let mut carried = Carried {
            luggage,
            seat,
            fallen: &mut self.fallen,
        };
        act(
            carried.luggage.as_mut().expect("it is taken below"),
            &mut self.pace,
            standpoint,
        );
        let luggage = carried.luggage.take().expect("it was carried");
        standpoint.leave();
        let Some(function) = function else {
            return Ok(luggage);
        };
        if let Some(mut worker) = seat.come_back(self.member) {
            worker.out = None;
            self.worker = Some(worker);
            return Ok(luggage);
        }
        let lanes = luggage.give_up(seat);
        seat.control.give_back(Returned { function, lanes });
        Err(Relieved)
    }

    /// Goes out with one lane.
    fn visit<T>(
        &mut self,
        slot: u32,
        act: impl FnOnce(&mut WorkerLane<S::Request>, &mut Pace, &Standpoint) -> T,
    ) -> Result<T, Relieved> {
        let lane = self.worker().roster.lanes.remove(slot);
        let lane = lane.expect("whoever is visited is here");
        let mut done = None;
        let lane = self.out(lane.host, lane, |lane, pace, standpoint| {
            done = Some(act(lane, pace, standpoint));
        })?;
        self.worker().roster.lanes.insert(lane);
        Ok(done.expect("it was there"))
    }

    fn breathe(&mut self) -> Result<usize, Relieved> {
        let width = self.worker().gather();
        let worker = self.worker();
        let is_charged = worker.roster.charges();
        let is_priced = is_charged && worker.errand().service.wants_time();
        let inhaled_ns = if is_priced { now_ns() } else { 0 };
        worker.errand().breath.clear();
        self.take_in()?;
        let worker = self.worker();
        let count = worker.inhale(width);
        if count == 0 {
            return Ok(0);
        }
        let is_timed = width > 1 && worker.gather.wants_time();
        let begin_ns = if is_timed { now_ns() } else { 0 };
        let mut errand = worker.errand.take().expect("it is here when nobody is out");
        let host = errand.set_out(&mut worker.roster);
        let mut errand = self.out(host, errand, |errand, pace, standpoint| {
            errand.run(host, is_charged, pace, standpoint);
        })?;
        let worker = self.worker();
        errand.come_back(&mut worker.roster);
        worker.solo_left = match std::mem::take(&mut errand.is_slow_of_many) {
            true => SOLO_BREATHES,
            false => worker.solo_left.saturating_sub(1),
        };
        worker.errand = Some(errand);
        worker.exhale();
        if is_timed {
            worker.gather.worked(now_ns() - begin_ns);
        }
        if is_priced {
            let elapsed_ns = now_ns() - inhaled_ns;
            let Errand {
                service, breath, ..
            } = worker.errand();
            service.breathed(count, breath.work_ns, elapsed_ns);
        }
        Ok(count)
    }

    /// Has the residents take in what came; whether that was anything.
    fn take_in(&mut self) -> Result<bool, Relieved> {
        let worker = self.worker();
        if worker.residents.is_empty() {
            return Ok(false);
        }
        if worker.residents.is_due() {
            worker.residents.wait(Duration::ZERO);
        }
        worker.welcome_kicked();
        let mut is_any = false;
        let mut index = 0;
        while let Some(&slot) = self.worker().residents.looked.get(index) {
            if self.worker().roster.is_held(slot) {
                index += 1;
                continue;
            }
            let (is_some, is_armed) = self.visit(slot, |lane, pace, standpoint| {
                let home = lane.home.as_mut().expect("it is a resident's");
                let begin_ticks = ticks();
                let intake = home.inhale();
                let is_armed = home.stay == Stay::Armed;
                let beyond = pace.beyond(begin_ticks, intake.work_ns, standpoint);
                // To look in vain costs next to nothing, unless it is held up.
                if intake.is_some || beyond.is_slow {
                    lane.owe(intake.work_ns);
                    lane.went_beyond(beyond);
                }
                (intake.is_some, is_armed)
            })?;
            let worker = self.worker();
            if is_some {
                is_any = true;
                worker.roster.rouse_one(slot);
            } else if is_armed {
                worker.residents.armed += 1;
                worker.residents.looked.swap_remove(index);
                continue;
            }
            index += 1;
        }
        Ok(is_any)
    }

    /// Before a sleep: every resident's client is asked to kick; whether one has
    /// something already.
    fn arm_residents(&mut self) -> Result<bool, Relieved> {
        let mut is_any = false;
        let mut index = 0;
        while let Some(&slot) = self.worker().residents.looked.get(index) {
            let (has_work, is_looked_at) = self.visit(slot, |lane, _, _| {
                let home = lane.home.as_mut().expect("it is a resident's");
                let is_soon = |held: Held| held.due_ns <= home.resident.expected_ns();
                if lane.held.is_some_and(is_soon) {
                    // Whether it kicks or not, it is looked at when the time has come.
                    return (home.resident.arm_late(), true);
                }
                let has_work = home.resident.arm();
                if !has_work {
                    home.stay = Stay::Armed;
                }
                (has_work, has_work)
            })?;
            is_any |= has_work;
            if is_looked_at {
                index += 1;
            } else {
                let residents = &mut self.worker().residents;
                residents.armed += 1;
                residents.looked.swap_remove(index);
            }
        }
        Ok(is_any)
    }

    fn release(&mut self) -> Result<(), Relieved> {
        let worker = self.worker();
        if worker.held.is_empty() {
            return Ok(());
        }
        worker.find_due();
        if worker.due.is_empty() {
            return Ok(());
        }
        let width = worker.errand().service.width();
        WakeIndex::fence_after_publish();
        let mut index = 0;
        while let Some(&slot) = self.worker().due.get(index) {
            self.visit(slot, |lane, _, _| wake(lane, width))?;
            self.worker().note_held(slot);
            index += 1;
        }
        Ok(())
    }

    /// Nothing to do: spins a little if it is to, then sleeps if every lane
    /// allows it.
    fn rest(&mut self) -> Result<(), Relieved> {
        let idle_ns = now_ns();
        if self.spin(idle_ns)? {
            return Ok(());
        }
        let worker = self.worker();
        if worker.roster.has_restless() {
            if worker.config.is_core_shared {
                std::thread::yield_now();
            }
            return Ok(());
        }
        worker.control.arm_doorbell();
        if self.has_work()? || self.arm_residents()? {
            self.worker().control.disarm_doorbell();
        } else {
            self.pace.sleeps(idle_ns);
            self.worker().sleep(idle_ns);
        }
        Ok(())
    }

    /// Looks for work, since `idle_ns`; whether some came.
    fn spin(&mut self, idle_ns: u64) -> Result<bool, Relieved> {
        let worker = self.worker();
        let spin = worker.spin();
        if spin.is_zero() {
            return Ok(false);
        }
        let deadline_ns = idle_ns + spin.min(worker.idle_time()).as_nanos() as u64;
        for look in 1u32.. {
            if self.has_work()? {
                return Ok(true);
            }
            std::hint::spin_loop();
            if look.is_multiple_of(LOOKS_A_CLOCK) && now_ns() >= deadline_ns {
                break;
            }
        }
        Ok(false)
    }

    fn has_work(&mut self) -> Result<bool, Relieved> {
        if self.worker().control.is_called() || self.take_in()? {
            return Ok(true);
        }
        let worker = self.worker();
        Ok(worker.roster.has_work(&worker.control.ready))
    }

    /// The last breaths: everything submitted before the stop, and no more,
    /// so that a client which keeps submitting cannot keep the worker alive.
    fn finish(&mut self) -> Result<(), Relieved> {
        loop {
            let mut goals = self.worker().goals();
            while !goals.is_empty() {
                self.breathe()?;
                let lanes = &mut self.worker().roster.lanes;
                goals.retain(|&(slot, goal)| {
                    let lane = &lanes[slot as usize];
                    let left = goal.wrapping_sub(lane.requests.index()) as i32;
                    !lane.carried.is_empty() || left > 0
                });
            }
            let worker = self.worker();
            if worker.aside.is_empty() {
                return Ok(());
            }
            worker.await_return();
            worker.answer_calls();
        }
    }
}
