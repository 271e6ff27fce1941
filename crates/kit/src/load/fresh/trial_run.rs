//! One trial: sets threads up, lets them run, takes their counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crypto::{Backend, KeyError, RawLoop, Status, Workload};
use engine::{CryptoEngine, LaneConfig, LaneError, StartError, WorkerConfig};
use policy::Policy;
use sys::affinity::{PinError, pin_to};
use sys::clock::{now_ns, thread_cpu};
use trial::Histogram;

use crate::load::fresh::arm::{Arm, Cell, Mode};
use crate::load::fresh::pump::{Phase, Pump, PumpError};
use crate::observe::CpuTimes;
use crate::place::{Cpus, Placement};

/// Warm-up before each trial counts.
pub const WARM_UP: Duration = Duration::from_millis(5);

const WARMING: u8 = 0;
const MEASURING: u8 = 1;
const DONE: u8 = 2;

/// A thread that is not set up by then never will be.
const READY_LIMIT: Duration = Duration::from_secs(10);

/// How long a trial is, and whether it is still wanted.
#[derive(Clone, Copy)]
pub struct Slice<'a> {
    pub length: Duration,
    /// Asked ten times a second; a trial that ends early is of no use.
    pub go_on: &'a dyn Fn() -> bool,
}

impl Slice<'_> {
    /// One that nobody interrupts.
    #[must_use]
    pub fn whole(length: Duration) -> Self {
        Self {
            length,
            go_on: &|| true,
        }
    }

    fn sleep(self) {
        const STEP: Duration = Duration::from_millis(100);
        let end = Instant::now() + self.length;
        while (self.go_on)() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(STEP));
        }
    }
}

/// What one trial gave.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub requests: u64,
    pub requests_per_s: f64,
    pub notifications_per_s: f64,
    pub doorbells_per_s: f64,
    /// Cores that clients kept busy.
    pub client_cpus: f64,
    /// Cores that workers kept busy.
    pub worker_cpus: f64,
    /// Requests/s the open loop sent; 0 in a closed loop.
    pub sent_per_s: f64,
    pub latency: Option<Box<Histogram>>,
    pub times: CpuTimes,
}

/// Why a trial gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("the engine did not start")]
    Start(#[from] StartError),
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("no key")]
    Key(#[from] KeyError),
    #[error("a thread could not be placed")]
    Pin(#[from] PinError),
    #[error(transparent)]
    Pump(#[from] PumpError),
    #[error("the back-end ended a request with {0:?}")]
    Raw(Status),
    #[error("ring refused a request")]
    Ring,
    #[error("a measuring thread panicked")]
    Panic,
    #[error("client {client} of {lanes} got no thread: lower lanes, or raise the limit of threads")]
    Spawn {
        client: usize,
        lanes: usize,
        #[source]
        source: std::io::Error,
    },
    #[error("the measuring threads were not ready within {} s: lower lanes or depths, or stop other programs", READY_LIMIT.as_secs())]
    NotReady,
}

/// How many threads are set up, well or badly. Not a barrier: where one
/// thread never comes, nobody must wait for ever.
#[derive(Default)]
struct Ready(AtomicUsize);

impl Ready {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    fn wait_for(&self, threads: usize) -> Result<(), TrialError> {
        let deadline = Instant::now() + READY_LIMIT;
        while self.0.load(Ordering::Acquire) < threads {
            if Instant::now() >= deadline {
                return Err(TrialError::NotReady);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// A client's counts over the measured part.
struct ClientCount {
    requests: u64,
    seconds: f64,
    notifications: u64,
    doorbells: u64,
    sent: u64,
    cpu: Duration,
    latency: Histogram,
}

/// What of a trial stays the same over its rounds.
pub struct Rig<'a> {
    pub backend: &'a Arc<dyn Backend>,
    pub cell: Cell,
    pub workload: &'a Workload,
    pub cpus: &'a Cpus,
}

impl Rig<'_> {
    /// A trial through lanes, closed or (with a rate) open.
    pub fn lanes(&self, arm: Arm, rate_per_s: f64, slice: Slice<'_>) -> Result<Sample, TrialError> {
        let policy = arm.policy().expect("only arms with a lane come here");
        let engine = self.engine()?;
        let pumps = self.pumps(&engine, policy)?;
        let (phase, ready, lanes) = (Phase::default(), Ready::default(), pumps.len());
        let rate_per_s = rate_per_s / lanes as f64;
        let (counts, watch) = thread::scope(|scope| {
            let mut clients = Vec::new();
            let mut started = Ok(());
            for (index, (pump, &cpu)) in pumps.into_iter().zip(&self.cpus.clients).enumerate() {
                let (phase, ready) = (&phase, &ready);
                let run = move || client(pump, cpu, arm, rate_per_s, phase, ready);
                match thread::Builder::new().spawn_scoped(scope, run) {
                    Ok(client) => clients.push(client),
                    Err(source) => {
                        let client = index + 1;
                        started = Err(TrialError::Spawn {
                            client,
                            lanes,
                            source,
                        });
                        break;
                    }
                }
            }
            let watch = started
                .and_then(|()| ready.wait_for(lanes))
                .map(|()| self.watch(&engine, &phase, slice));
            // Also where nothing was watched: clients that started must end.
            phase.set(DONE);
            let counts: Vec<_> = clients
                .into_iter()
                .map(|client| client.join().unwrap_or(Err(TrialError::Panic)))
                .collect();
            (counts, watch)
        });
        let watch = watch?;
        let counts = counts.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(sum(&counts, &watch, arm))
    }

    fn engine(&self) -> Result<CryptoEngine, TrialError> {
        let is_core_shared = self.cell.placement == Placement::Shared;
        let worker = |&cpu: &usize| WorkerConfig {
            cpu: Some(cpu),
            idle_spin: None,
            is_core_shared,
        };
        let workers: Vec<_> = self.cpus.workers.iter().map(worker).collect();
        Ok(CryptoEngine::start(Arc::clone(self.backend), &workers)?.for_measuring())
    }

    fn pumps(&self, engine: &CryptoEngine, policy: Policy) -> Result<Vec<Pump<'_>>, TrialError> {
        let Cell {
            kind,
            depth,
            lanes,
            placement,
            ..
        } = self.cell;
        let session = engine.session(kind.algorithm, &self.workload.material)?;
        let config = LaneConfig {
            depth,
            moderation: policy.moderation,
            settings: policy.settings,
            is_core_shared: placement == Placement::Shared,
            ..LaneConfig::default()
        };
        (0..lanes)
            .map(|lane| {
                let slab = depth * self.workload.slot.stride;
                let mut lane = engine.lane(lane % engine.workers(), config, slab, 1)?;
                let session = lane
                    .attach(&session)
                    .expect("the session is of this engine");
                Ok(Pump::new(lane, session, self.workload, depth))
            })
            .collect()
    }

    /// Sleeps while the trial runs, and reads the counters at both ends.
    fn watch(&self, engine: &CryptoEngine, phase: &Phase, slice: Slice<'_>) -> Watch {
        let cpu_time = || {
            (0..engine.workers())
                .filter_map(|worker| engine.cpu_time(worker))
                .sum::<Duration>()
        };
        let all = self.cpus.all();
        thread::sleep(WARM_UP);
        let (begin, times, cpu) = (Instant::now(), CpuTimes::now(&all), cpu_time());
        phase.set(MEASURING);
        slice.sleep();
        phase.set(DONE);
        let workers = cpu_time().saturating_sub(cpu);
        Watch {
            seconds: begin.elapsed().as_secs_f64(),
            workers,
            times: CpuTimes::now(&all).since(times),
        }
    }

    /// The back-end's own loop on the worker's CPU.
    pub fn raw(&self, slice: Slice<'_>) -> Result<Sample, TrialError> {
        let slots = self.cell.depth * self.cell.lanes;
        let make = || {
            let mut raw = RawLoop::new(Arc::clone(self.backend), self.workload, slots)?;
            Ok(move || raw.pass().map_err(TrialError::Raw).map(|jobs| jobs as f64))
        };
        alone(self.cpus.workers[0], slice, make)
    }
}

/// A trial of one loop that has a CPU to itself: `make` sets it up in the
/// thread that runs it, and each call of what it makes says how many requests
/// it did.
pub fn alone<W>(
    cpu: usize,
    slice: Slice<'_>,
    make: impl FnOnce() -> Result<W, TrialError> + Send,
) -> Result<Sample, TrialError>
where
    W: FnMut() -> Result<f64, TrialError>,
{
    let (phase, ready) = (Phase::default(), Ready::default());
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let work = pin_to(cpu).map_err(TrialError::from).and_then(|()| make());
            // Before any return: the runner waits for it.
            ready.add();
            let mut work = work?;
            work_until(&mut work, &phase, MEASURING)?;
            let (begin_ns, cpu) = (now_ns(), thread_cpu());
            let requests = work_until(&mut work, &phase, DONE)?;
            Ok((
                requests,
                (now_ns() - begin_ns) as f64 / 1e9,
                thread_cpu() - cpu,
            ))
        });
        // Filling the slots is no part of the warm-up, and may take longer.
        let times = ready.wait_for(1).map(|()| {
            thread::sleep(WARM_UP);
            let times = CpuTimes::now(&[cpu]);
            phase.set(MEASURING);
            slice.sleep();
            CpuTimes::now(&[cpu]).since(times)
        });
        phase.set(DONE);
        let counted = worker.join().unwrap_or(Err(TrialError::Panic));
        let (times, (requests, seconds, cpu)) = (times?, counted?);
        Ok(Sample {
            requests: requests as u64,
            requests_per_s: requests / seconds,
            worker_cpus: cpu.as_secs_f64() / seconds,
            times,
            ..Sample::default()
        })
    })
}

fn work_until<W>(work: &mut W, phase: &Phase, until: u8) -> Result<f64, TrialError>
where
    W: FnMut() -> Result<f64, TrialError>,
{
    let mut requests = 0.0;
    while phase.is_before(until) {
        requests += work()?;
    }
    Ok(requests)
}

/// What was seen from outside.
struct Watch {
    seconds: f64,
    workers: Duration,
    times: CpuTimes,
}

fn client(
    mut pump: Pump<'_>,
    cpu: usize,
    arm: Arm,
    rate_per_s: f64,
    phase: &Phase,
    ready: &Ready,
) -> Result<ClientCount, TrialError> {
    let pinned = pin_to(cpu);
    // Before any return: the runner waits for it.
    ready.add();
    pinned?;
    let warm = WARMING + 1;
    run(&mut pump, arm, rate_per_s, phase, warm)?;
    pump.latency.clear();
    // The clock last: a pause in between would count as the generator's.
    let (cpu, lane, requests, begin_ns) = (
        thread_cpu(),
        pump.lane().counters(),
        pump.completed,
        now_ns(),
    );
    let sent = run(&mut pump, arm, rate_per_s, phase, DONE)?;
    let seconds = (now_ns() - begin_ns) as f64 / 1e9;
    let (cpu, after, requests) = (
        thread_cpu() - cpu,
        pump.lane().counters(),
        pump.completed - requests,
    );
    pump.drain()?;
    Ok(ClientCount {
        requests,
        seconds,
        notifications: after.notifications - lane.notifications,
        doorbells: after.doorbells - lane.doorbells,
        sent,
        cpu,
        latency: pump.latency,
    })
}

fn run(
    pump: &mut Pump<'_>,
    arm: Arm,
    rate_per_s: f64,
    phase: &Phase,
    until: u8,
) -> Result<u64, PumpError> {
    match arm {
        Arm::Lane(mode, _) => pump.closed(mode, phase, until).map(|()| 0),
        Arm::Paced(_) => pump.paced(rate_per_s, phase, until),
        Arm::Raw | Arm::OpenSsl => pump.closed(Mode::Sync, phase, until).map(|()| 0),
    }
}

fn sum(counts: &[ClientCount], watch: &Watch, arm: Arm) -> Sample {
    let per_s = |count: fn(&ClientCount) -> u64| {
        counts
            .iter()
            .map(|one| count(one) as f64 / one.seconds)
            .sum()
    };
    let mut latency = Histogram::new();
    counts.iter().for_each(|one| latency.merge(&one.latency));
    Sample {
        requests: counts.iter().map(|one| one.requests).sum(),
        requests_per_s: per_s(|one| one.requests),
        notifications_per_s: per_s(|one| one.notifications),
        doorbells_per_s: per_s(|one| one.doorbells),
        sent_per_s: if matches!(arm, Arm::Paced(_)) {
            per_s(|one| one.sent)
        } else {
            0.0
        },
        client_cpus: counts
            .iter()
            .map(|one| one.cpu.as_secs_f64() / one.seconds)
            .sum(),
        worker_cpus: watch.workers.as_secs_f64() / watch.seconds,
        latency: Some(Box::new(latency)),
        times: watch.times,
    }
}
