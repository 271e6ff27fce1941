//! A tenant at work: its tasks' threads, lanes, and who governs them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use engine::{
    CryptoEngine, CryptoFunction, FunctionConfig, LaneConfig, RequestLimit, Session, Watch,
};
use policy::{Counters, Moderation, Settings, Turn};
use sys::memory::Mapping;

use crate::load::rig::board::{Board, Channel};
use crate::load::rig::client::{Client, memory_bytes};
use crate::load::rig::dial::Dial;
use crate::load::rig::error::RigError;
use crate::load::rig::record::Share;
use crate::load::rig::tenant::{Load, Regime, Tenant};
use crate::place::Cpus;

/// At most this many lanes a task: the one it has and the next.
const LANES_A_TASK: usize = 2;
/// A task that is not parked by then never will be.
const PARK_LIMIT: Duration = Duration::from_secs(15);

/// One tenant.
pub struct Seat {
    tenant: Tenant,
    /// None where it has the engine to itself.
    function: Option<CryptoFunction>,
    dial: Arc<Dial>,
    tasks: Vec<Task>,
    /// One a workload.
    sessions: Vec<Arc<Session>>,
    settings: Settings,
    turn: Option<Turn>,
}

struct Task {
    board: Arc<Board>,
    memory: Arc<Mapping>,
    /// Of its lane; none before the first regime.
    watch: Option<Watch>,
    thread: Option<JoinHandle<()>>,
}

impl Seat {
    /// Starts a tenant's threads, parked.
    pub fn new(
        tenant: &Tenant,
        engine: &CryptoEngine,
        function: Option<CryptoFunction>,
        cpus: &Cpus,
    ) -> Result<Self, RigError> {
        let session = |workload: &Arc<crypto::Workload>| {
            let (algorithm, material) = (workload.kind.algorithm, &workload.material);
            match &function {
                Some(function) => function.session(algorithm, material),
                None => Ok(engine.session(algorithm, material)?),
            }
        };
        let sessions: Result<_, _> = tenant.workloads.iter().map(session).collect();
        let dial = Arc::new(Dial::new(Load::closed(0, 1)));
        let mut own = Self {
            tenant: tenant.clone(),
            dial,
            tasks: Vec::new(),
            sessions: sessions?,
            function,
            settings: Settings::UNLIMITED,
            turn: None,
        };
        for index in 0..tenant.tasks_max {
            let cpu = cpus.clients[index % cpus.clients.len()];
            let task = own.task(index, cpu).map_err(RigError::Task)?;
            own.tasks.push(task);
        }
        Ok(own)
    }

    /// A virtual function for a tenant.
    pub fn function_of(tenant: &Tenant, engine: &CryptoEngine) -> Result<CryptoFunction, RigError> {
        Ok(engine.function(FunctionConfig {
            lanes_max: tenant.tasks_max * LANES_A_TASK,
            request_max: RequestLimit::NONE,
            ..FunctionConfig::default()
        })?)
    }

    fn task(&self, index: usize, cpu: usize) -> io::Result<Task> {
        let memory = Arc::new(Mapping::new(memory_bytes(&self.tenant).max(1))?);
        let board = Arc::new(Board::new());
        let client = Client::new(
            &self.tenant,
            (index, cpu),
            (&self.dial, &board),
            Arc::clone(&memory),
        );
        let thread = thread::Builder::new()
            .name(format!("lockgate-t{index}"))
            .spawn(move || client.run())?;
        Ok(Task {
            board,
            memory,
            watch: None,
            thread: Some(thread),
        })
    }

    /// New lanes under that regime, for the next run.
    pub fn apply(
        &mut self,
        regime: Regime,
        engine: &CryptoEngine,
        is_core_shared: bool,
    ) -> Result<(), RigError> {
        self.settings = regime.settings;
        self.turn = regime.controller.map(Turn::new);
        let config = self.config(regime.moderation, is_core_shared);
        let (function, sessions) = (&self.function, &self.sessions);
        let lanes = regime.lanes.unwrap_or(self.tasks.len());
        for (index, task) in self.tasks.iter_mut().enumerate() {
            if index >= lanes {
                task.watch = None;
                task.board.give(None);
                continue;
            }
            let mut lane = match function {
                Some(function) => function.lane(0, config, 1, 1),
                None => engine.lane(index % engine.workers(), config, 1, 1),
            }?;
            let region = lane
                .register(Arc::clone(&task.memory))
                .expect("a new lane has room for a region");
            let attach = |session| {
                lane.attach(session)
                    .expect("the session is of this lane's engine")
            };
            let sessions = sessions.iter().map(attach).collect();
            task.watch = Some(lane.watch());
            task.board.give(Some(Channel {
                lane,
                sessions,
                region,
            }));
        }
        Ok(())
    }

    /// The virtual function, if it has one.
    pub fn function(&self) -> Option<&CryptoFunction> {
        self.function.as_ref()
    }

    /// What governs its lanes: one for all of a virtual function, else one a lane.
    fn watches(&self) -> Vec<Watch> {
        match &self.function {
            Some(function) => vec![function.watch()],
            None => (self.tasks.iter())
                .filter_map(|task| task.watch.clone())
                .collect(),
        }
    }

    fn govern(&self, settings: Settings) {
        self.watches().iter().for_each(|watch| watch.set(settings));
    }

    fn counters(&self) -> Counters {
        let watches = self.watches().into_iter();
        watches.fold(Counters::default(), |all, watch| {
            all.plus(&watch.counters())
        })
    }

    fn config(&self, moderation: Moderation, is_core_shared: bool) -> LaneConfig {
        LaneConfig {
            depth: self.tenant.depth_max,
            moderation,
            // Lanes of a virtual function have its own.
            settings: match self.function {
                Some(_) => Settings::UNLIMITED,
                None => self.settings,
            },
            is_core_shared,
            ..LaneConfig::default()
        }
    }

    /// Whether a load is within what the tenant was made for.
    pub fn check(&self, load: &Load) -> Result<(), RigError> {
        let Tenant {
            workloads,
            depth_max,
            tasks_max,
        } = &self.tenant;
        let limits = [
            ("workload", load.workload, 0, workloads.len() - 1),
            ("depth", load.depth, 1, *depth_max),
            ("tasks", load.tasks, 0, self.lanes().min(*tasks_max)),
        ];
        let outside = |(what, value, least, most): (&'static str, usize, usize, usize)| {
            (!(least..=most).contains(&value)).then_some(RigError::Load { what, value, most })
        };
        limits.into_iter().find_map(outside).map_or(Ok(()), Err)
    }

    /// Tasks that have a lane.
    fn lanes(&self) -> usize {
        let has_lane = |task: &&Task| task.watch.is_some();
        self.tasks.iter().filter(has_lane).count()
    }

    /// From now on that load, by running tasks.
    pub fn set(&mut self, load: Load) {
        self.dial.set(|orders| {
            orders.load = load;
            orders.is_running = true;
        });
        self.govern(self.settings);
    }

    /// Asks the controller, if it is time; when it is next, ns.
    pub fn tick(&mut self, now_ns: u64) -> Option<u64> {
        let mut turn = self.turn.take()?;
        if let Some(settings) = turn.tick(now_ns, || self.counters()) {
            self.settings = settings;
            self.govern(settings);
        }
        let due_ns = turn.due_ns();
        self.turn = Some(turn);
        Some(due_ns)
    }

    /// Everything so far, as running totals.
    pub fn totals(&self) -> Share {
        let mut totals = Share {
            counters: self.counters(),
            held_alone: self.watches().iter().map(Watch::held_alone).sum(),
            settings: self.settings,
            remark: self
                .turn
                .as_ref()
                .and_then(|turn| turn.controller().remark()),
            ..Share::default()
        };
        for task in &self.tasks {
            let Task { board, watch, .. } = task;
            totals.reaped += board.reaped.load(Ordering::Relaxed);
            totals.submitted += board.submitted.load(Ordering::Relaxed);
            totals.attended += board.attended.load(Ordering::Relaxed);
            totals.doorbells += board.doorbells.load(Ordering::Relaxed);
            totals.client += board.cpu_time();
            totals.latency.add(&board.latency.counts());
            totals
                .task_requests
                .push(watch.as_ref().map_or(0, |watch| watch.counters().requests));
        }
        totals
    }

    /// Parks every task: nothing is in flight then.
    pub fn park(&self) -> Result<(), RigError> {
        let number = self.dial.set(|orders| orders.is_running = false);
        // What is held back would be waited for.
        self.govern(Settings::UNLIMITED);
        self.wait_until_parked(number)
    }

    fn wait_until_parked(&self, number: u64) -> Result<(), RigError> {
        let deadline = Instant::now() + PARK_LIMIT;
        for task in &self.tasks {
            while !task.board.has_parked(number) {
                if Instant::now() >= deadline {
                    return Err(RigError::NotParked);
                }
                thread::sleep(Duration::from_micros(100));
            }
            if let Some(error) = task.board.failure() {
                return Err(RigError::Client(error));
            }
        }
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.govern(Settings::UNLIMITED);
        self.dial.set(|orders| orders.is_ending = true);
        for thread in self.tasks.iter_mut().filter_map(|task| task.thread.take()) {
            // A task that panicked has nothing to tell any more.
            let _ = thread.join();
        }
    }
}
