//! The engine: worker threads, and how one reaches them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sys::affinity::{PinError, pin_to};
use sys::clock::{CpuClock, make_timers_exact, now_ns};
use sys::event::Event;
use sys::ready::ReadySet;
use sys::role::Role;
use sys::schedule::be_nice;
use sys::wake::WakeIndex;

use crate::client::Lane;
use crate::counters::{WorkerCounters, WorkerTally};
use crate::function::{
    Ending, Function, FunctionConfig, FunctionError, LANES_MAX, Numbers, Owned, VirtualFunction,
};
use crate::lane::{Closed, LaneConfig, LaneError, lane};
use crate::relief::Relief;
use crate::resident::{Eviction, Home, Residents};
use crate::service::Service;
use crate::standpoint::{Overseer, Standpoint};
use crate::worker::{Relieved, Returned, Seat, Shift, Worker};
use crate::worker_lane::WorkerLane;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerConfig {
    /// The CPU it is pinned to; `None` leaves it to the scheduler.
    pub cpu: Option<usize>,
    /// How long it looks for work before it sleeps; `None`: as long as it
    /// learns that this pays ([`policy::Idle`]), and not at all where clients
    /// share its core.
    pub idle_spin: Option<Duration>,
    /// Whether clients share its core: a worker that may not sleep (`spin`)
    /// then gives the core up between looks.
    pub is_core_shared: bool,
    /// How far it yields its CPU to other threads (nice value, 0 to 19).
    pub nice: i32,
    /// Threads that stand by to go on where the memory of a virtual function holds the
    /// worker up, at most [`STAND_INS_MAX`]; an [`Overseer`] sends them.
    pub stand_ins: usize,
}

/// More tenants than that hold nobody up at a time, but the worker.
pub const STAND_INS_MAX: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("an engine needs at least one worker")]
    NoWorkers,
    #[error("worker {worker} cannot run where it should")]
    Pin {
        worker: usize,
        #[source]
        source: PinError,
    },
    #[error("the service of worker {worker} panicked while it was made")]
    Service { worker: usize },
    #[error("cannot start worker {worker}; raise the limits of threads and open files")]
    Resources {
        worker: usize,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug)]
pub(crate) enum Command<R> {
    Lane(Box<WorkerLane<R>>),
    Reconsider(u32),
    /// Tells the receiver, by being dropped, that the virtual function with this id
    /// has no requests left.
    Drain(u64, Sender<()>),
    End(Ending),
    /// Of that worker's number.
    EndOne(usize, Arc<dyn Owned>),
    Evict(Eviction<R>),
}

#[derive(Debug, Default)]
struct Slots {
    free: Vec<u32>,
    used: u32,
}

impl Slots {
    fn take(&mut self) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        let slot = self.used;
        if slot as usize >= LANES_MAX {
            return None;
        }
        self.used += 1;
        Some(slot)
    }
}

#[derive(Debug)]
pub(crate) struct Control<R> {
    doorbell: WakeIndex,
    event: Event,
    is_called: AtomicBool,
    is_stopping: AtomicBool,
    pub(crate) ready: ReadySet,
    pub(crate) attention: ReadySet,
    /// Commands that the worker has not seen yet, or how it ended. A lock, used only
    /// when a lane is made or a virtual function changes.
    commands: Mutex<Result<Vec<Command<R>>, Closed>>,
    slots: Mutex<Slots>,
    pub(crate) tally: WorkerTally,
    /// The crew's standpoints, one a member.
    standpoints: Box<[Standpoint]>,
    cpu_clocks: Box<[OnceLock<CpuClock>]>,
    pub(crate) relief: Relief,
    /// The lanes that members bring back who were held up.
    returned: Mutex<Vec<Returned<R>>>,
    rung_ns: AtomicU64,
}

impl<R> Control<R> {
    fn new(stand_ins: usize) -> io::Result<Self> {
        Ok(Self {
            doorbell: WakeIndex::default(),
            event: Event::new()?,
            is_called: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            ready: ReadySet::new(LANES_MAX),
            attention: ReadySet::new(LANES_MAX),
            commands: Mutex::new(Ok(Vec::new())),
            slots: Mutex::default(),
            tally: WorkerTally::default(),
            standpoints: (0..=stand_ins).map(|_| Standpoint::default()).collect(),
            cpu_clocks: (0..=stand_ins).map(|_| OnceLock::new()).collect(),
            relief: Relief::default(),
            returned: Mutex::default(),
            rung_ns: AtomicU64::new(0),
        })
    }

    /// Client: something is in the lane's ring. Wakes the worker if it sleeps, and
    /// returns whether it did.
    pub(crate) fn ring_doorbell(&self, slot: u32) -> bool {
        WakeIndex::fence_after_publish();
        self.ready.announce(slot);
        self.wake()
    }

    fn wake(&self) -> bool {
        let must_ring = self.doorbell.claim(0, true);
        if must_ring {
            self.rung_ns.store(now_ns(), Ordering::Relaxed);
            self.event.signal();
        }
        must_ring
    }

    pub(crate) fn call(&self) {
        // A swap, so that of two callers the worker sees what both wrote.
        self.is_called.swap(true, Ordering::AcqRel);
        WakeIndex::fence_after_publish();
        self.wake();
    }

    pub(crate) fn call_for(&self, slot: u32) {
        WakeIndex::fence_after_publish();
        self.attention.announce(slot);
        self.call();
    }

    /// The virtual function has another weight or quota. A worker that has ended need
    /// not know.
    pub(crate) fn reconsider(&self, function: u32) {
        let _ = self.send(Command::Reconsider(function));
    }

    pub(crate) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::Acquire)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    pub(crate) fn arm_doorbell(&self) {
        self.doorbell.arm(0);
    }

    pub(crate) fn rung_ns(&self) -> u64 {
        self.rung_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn disarm_doorbell(&self) {
        self.doorbell.disarm();
    }

    pub(crate) fn sleep(&self, at_most: Duration, residents: &mut Residents) {
        if residents.is_empty() {
            self.event.wait(at_most);
        } else {
            // Each signal of its own event is seen once, and need not be read.
            residents.wait(at_most);
        }
        self.doorbell.disarm();
    }

    pub(crate) fn standpoint(&self, member: usize) -> &Standpoint {
        &self.standpoints[member]
    }

    pub(crate) fn standpoints(&self) -> &[Standpoint] {
        &self.standpoints
    }

    fn returned(&self) -> MutexGuard<'_, Vec<Returned<R>>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what a member took along who was held up.
    pub(crate) fn give_back(&self, returned: Returned<R>) {
        self.returned().push(returned);
        self.call();
    }

    pub(crate) fn take_returned(&self) -> Vec<Returned<R>> {
        std::mem::take(&mut *self.returned())
    }

    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// CPU time that the worker's crew has used, or `None` if it has ended.
    fn cpu_time(&self) -> Option<Duration> {
        let clocks = self.cpu_clocks.iter().filter_map(OnceLock::get);
        clocks
            .filter_map(|clock| clock.read())
            .reduce(|all, one| all + one)
    }

    /// CPU time that the worker has used, ns; 0 when it has ended.
    pub(crate) fn busy_ns(&self) -> u64 {
        let time = self.cpu_time();
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Resets or removes a virtual function. After the worker's end no lanes are
    /// left, but what was set up for that worker is.
    pub(crate) fn end_function(&self, ending: Ending) {
        let mut commands = self.commands();
        match commands.as_mut() {
            Ok(commands) => commands.push(Command::End(ending)),
            Err(_) => return,
        }
        drop(commands);
        self.call();
    }

    fn commands(&self) -> MutexGuard<'_, Result<Vec<Command<R>>, Closed>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn free_slot(&self, slot: u32) {
        self.slots().free.push(slot);
    }

    /// Before the worker looks at anything that it may be called for, so that a call after
    /// the look is not lost.
    pub(crate) fn heed_call(&self) {
        // A swap, so that it sees what the callers wrote before they called.
        self.is_called.swap(false, Ordering::AcqRel);
    }

    pub(crate) fn take_commands(&self) -> Vec<Command<R>> {
        self.commands()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Worker: takes no more commands, and returns those not seen yet.
    pub(crate) fn end(&self, how: Closed) -> Vec<Command<R>> {
        std::mem::replace(&mut *self.commands(), Err(how)).unwrap_or_default()
    }

    /// Whether it ended by a panic.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&*self.commands(), Err(Closed::WorkerFailed))
    }

    pub(crate) fn send(&self, command: Command<R>) -> Result<(), Closed> {
        self.commands()
            .as_mut()
            .map_err(|closed| *closed)?
            .push(command);
        self.call();
        Ok(())
    }
}

impl<R: Copy + Send> Control<R> {
    /// Makes a lane to this worker, which is number `worker`.
    pub(crate) fn open(
        self: &Arc<Self>,
        worker: usize,
        config: LaneConfig,
        function: Option<&Arc<Function<R>>>,
    ) -> Result<Lane<R>, LaneError> {
        self.open_with(worker, config, function, |client| Ok((client, None)))
    }

    /// The same; `settle` may make of the client's end one that lives on the worker.
    pub(crate) fn open_with<T>(
        self: &Arc<Self>,
        worker: usize,
        config: LaneConfig,
        function: Option<&Arc<Function<R>>>,
        settle: impl FnOnce(Lane<R>) -> Result<(T, Option<Home>), LaneError>,
    ) -> Result<T, LaneError> {
        let slot = self.slots().take().ok_or(LaneError::TooMany { worker })?;
        let ends = lane(config, Arc::clone(self), slot, function.cloned());
        let (client, mut end) = ends.inspect_err(|_| self.free_slot(slot))?;
        let settled = settle(client).inspect_err(|_| self.free_slot(slot))?;
        end.home = settled.1;
        if let Some(function) = function {
            function.enrol(worker, &end.shared);
        }
        let mut commands = self.commands();
        match commands.as_mut() {
            Ok(commands) => commands.push(Command::Lane(Box::new(end))),
            Err(closed) => {
                let closed = *closed;
                if let Some(function) = end.function.take() {
                    function.dismiss(&end.shared);
                }
                self.free_slot(slot);
                return Err(LaneError::WorkerEnded { worker, closed });
            }
        }
        drop(commands);
        self.call();
        Ok(settled.0)
    }
}

#[derive(Debug)]
struct Handle<R> {
    control: Arc<Control<R>>,
    threads: Vec<JoinHandle<()>>,
}

/// A pool of workers with one kind of service. Dropping it shuts it down:
/// what was submitted before is finished, and every lane is closed.
#[derive(Debug)]
pub struct Engine<S: Service> {
    workers: Vec<Handle<S::Request>>,
    numbers: Arc<Numbers>,
}

impl<S: Service> Engine<S> {
    /// Starts one worker for each configuration. Each worker makes its own
    /// service on its own CPU, so that its memory is near.
    ///
    /// # Errors
    /// [`StartError`]; workers started before are shut down again.
    pub fn start(
        configs: &[WorkerConfig],
        service: impl Fn(usize) -> S + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        if configs.is_empty() {
            return Err(StartError::NoWorkers);
        }
        let service: Arc<dyn Fn(usize) -> S + Send + Sync> = Arc::new(service);
        let mut engine = Self {
            workers: Vec::with_capacity(configs.len()),
            numbers: Arc::default(),
        };
        for (worker, &config) in configs.iter().enumerate() {
            let crew = Crew {
                worker,
                config,
                service: Arc::clone(&service),
            };
            crew.start(&mut engine.workers)?;
        }
        Ok(engine)
    }

    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    pub fn lane(&self, worker: usize, config: LaneConfig) -> Result<Lane<S::Request>, LaneError> {
        self.control(worker)?.open(worker, config, None)
    }

    fn control(&self, worker: usize) -> Result<&Arc<Control<S::Request>>, LaneError> {
        let workers = self.workers.len();
        let handle = self.workers.get(worker);
        handle
            .map(|handle| &handle.control)
            .ok_or(LaneError::Worker { worker, workers })
    }

    pub fn function(
        &self,
        config: FunctionConfig,
    ) -> Result<VirtualFunction<S::Request>, FunctionError> {
        config.check()?;
        let function = Function::new(self.numbers.take()?, &config);
        let controls = self.workers.iter();
        let controls = controls.map(|worker| Arc::clone(&worker.control)).collect();
        Ok(VirtualFunction::new(function, controls))
    }

    /// That worker's counters.
    ///
    /// # Panics
    /// When there is no such worker.
    pub fn counters(&self, worker: usize) -> WorkerCounters {
        let tally = &self.workers[worker].control.tally;
        WorkerCounters {
            batches: tally.batches.value(),
            requests: tally.requests.value(),
            sleeps: tally.sleeps.value(),
            looks: tally.looks.value(),
            panics: 0,
        }
    }

    /// CPU time that worker has used, or `None` if it has ended.
    ///
    /// # Panics
    /// When there is no such worker.
    pub fn cpu_time(&self, worker: usize) -> Option<Duration> {
        self.workers[worker].control.cpu_time()
    }

    /// Who looks after the workers.
    pub fn overseer(&self) -> Overseer {
        let controls = self.workers.iter();
        Overseer::new(controls.map(|worker| Arc::clone(&worker.control)))
    }

    pub fn shutdown(self) {}
}

impl<S: Service> Drop for Engine<S> {
    fn drop(&mut self) {
        for worker in &self.workers {
            worker.control.is_stopping.store(true, Ordering::Release);
            worker.control.call();
        }
        for worker in &mut self.workers {
            // One that is dropped by its own worker (in a task's waker, say)
            // cannot wait for it: the worker ends by itself.
            let own = std::thread::current().id();
            let threads = worker.threads.drain(..);
            for thread in threads.filter(|thread| thread.thread().id() != own) {
                // A panic was reported to the lanes' clients already.
                let _ = thread.join();
            }
        }
    }
}

/// The threads of one worker.
struct Crew<S> {
    worker: usize,
    config: WorkerConfig,
    service: Arc<dyn Fn(usize) -> S + Send + Sync>,
}

impl<S: Service> Crew<S> {
    fn start(&self, workers: &mut Vec<Handle<S::Request>>) -> Result<(), StartError> {
        let stand_ins = self.config.stand_ins.min(STAND_INS_MAX);
        let control = Control::new(stand_ins).map_err(|source| self.resources(source))?;
        let control = Arc::new(control);
        let config = self.config;
        let own = Arc::clone(&control);
        let (thread, seat) = self.member(0, Arc::clone(&control), move |service| {
            Arc::new(Seat::new(
                Worker::new(service, config, Arc::clone(&own)),
                own,
            ))
        })?;
        // From here on whoever drops it ends it.
        workers.push(Handle {
            control: Arc::clone(&control),
            threads: vec![thread],
        });
        let threads = &mut workers.last_mut().expect("it was added").threads;
        for member in 1..=stand_ins {
            let seat = Arc::clone(&seat);
            let (thread, _) = self.member(member, Arc::clone(&control), move |service| {
                seat.add(service);
                seat
            })?;
            threads.push(thread);
        }
        Ok(())
    }

    fn resources(&self, source: io::Error) -> StartError {
        let worker = self.worker;
        StartError::Resources { worker, source }
    }

    /// A thread that is where it should be, has a service, and serves.
    fn member(
        &self,
        member: usize,
        control: Arc<Control<S::Request>>,
        sit_down: impl FnOnce(S) -> Arc<Seat<S>> + Send + 'static,
    ) -> Result<(JoinHandle<()>, Arc<Seat<S>>), StartError> {
        let (worker, config) = (self.worker, self.config);
        let service = Arc::clone(&self.service);
        let name = match member {
            0 => format!("lockgate-w{worker}"),
            _ => format!("lockgate-w{worker}s{member}"),
        };
        let (report, ready) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            if let Err(error) = config.cpu.map_or(Ok(()), pin_to) {
                let _ = report.send(Err(error));
                return;
            }
            make_timers_exact();
            if config.nice > 0 {
                // One that yields less does its work as well.
                let _ = be_nice(config.nice);
            }
            control.standpoints[member].begin();
            let _ = control.cpu_clocks[member].set(CpuClock::of_this_thread());
            // Before the report: an engine that has started has services.
            let seat = sit_down(service(worker));
            sys::role::enter(Role::Worker);
            let _ = report.send(Ok(Arc::clone(&seat)));
            serve(&seat, member);
        });
        let thread = thread.map_err(|source| self.resources(source))?;
        // Nothing comes from a thread that panicked on its way.
        let seated = ready.recv().map_err(|_| StartError::Service { worker })?;
        let seat = seated.map_err(|source| StartError::Pin { worker, source })?;
        Ok((thread, seat))
    }
}

/// What a member of the crew does to the worker's end: it is on duty, or stands by. A
/// panic of the service ends this worker only; its clients see their lanes closed.
fn serve<S: Service>(seat: &Seat<S>, member: usize) {
    let relief = seat.relief();
    let mut shift = (member == 0).then(|| Shift::begin(seat, member));
    loop {
        let on_duty = shift.take().or_else(|| {
            let ask = relief.wait()?;
            Shift::relieve(seat, member, ask)
        });
        let Some(mut on_duty) = on_duty else {
            if relief.is_over() {
                return;
            }
            continue;
        };
        let end = catch_unwind(AssertUnwindSafe(|| on_duty.run()));
        let how = match end {
            Ok(Err(Relieved)) => continue,
            Ok(Ok(())) => Closed::Shutdown,
            Err(_) => Closed::WorkerFailed,
        };
        if on_duty.close(how) {
            relief.end();
            return;
        }
    }
}
