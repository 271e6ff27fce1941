//! How fast the client alone is: only the time that it spends on making
//! requests and taking completions counts, not what passes until they are done.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crypto::{Backend, KeyError, Workload};
use engine::{
    CallError, CryptoEngine, CryptoLane, LaneConfig, LaneError, RegionId, StartError, WaitError,
    WorkerConfig,
};
use sys::affinity::{PinError, pin_to};
use sys::clock::thread_cpu;
use sys::memory::{Mapping, OutOfBounds};

use kit::load::rig::Cores;
use kit::load::slots::Slots;

/// No wait is longer.
const STUCK: Duration = Duration::from_secs(10);

/// Why the client alone gave no rate.
#[derive(Debug, thiserror::Error)]
pub(super) enum GeneratorError {
    #[error("it could not be placed")]
    Pin(#[from] PinError),
    #[error("the engine did not start")]
    Start(#[from] StartError),
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("no key")]
    Key(#[from] KeyError),
    #[error("no thread or memory; raise the limits")]
    Resources(#[from] io::Error),
    #[error("a slot lies outside its memory")]
    Slot(#[from] OutOfBounds),
    #[error("the lane refused a request")]
    Call(#[from] CallError),
    #[error("the lane gave no completion")]
    Wait(#[from] WaitError),
}

/// Requests/s of a client that keeps `depth` in flight, if nothing else took
/// time; measured for about `length` on the cores of the load.
pub(super) fn rate(
    backend: &Arc<dyn Backend>,
    workload: &Arc<Workload>,
    (depth, cores): (usize, Cores),
    length: Duration,
) -> Result<f64, GeneratorError> {
    let (backend, workload) = (Arc::clone(backend), Arc::clone(workload));
    // The caller's thread keeps its own CPUs.
    let thread = thread::Builder::new()
        .name("lockgate-alone".to_owned())
        .spawn(move || alone(&backend, &workload, (depth, cores), length))?;
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn alone(
    backend: &Arc<dyn Backend>,
    workload: &Workload,
    (depth, cores): (usize, Cores),
    length: Duration,
) -> Result<f64, GeneratorError> {
    let worker = WorkerConfig {
        cpu: Some(cores.worker),
        idle_spin: Some(Duration::ZERO),
        is_core_shared: cores.is_shared(),
    };
    let engine = CryptoEngine::start(Arc::clone(backend), &[worker])?.for_measuring();
    // A worker started later could run nowhere else.
    pin_to(cores.client)?;
    let session = engine.session(workload.kind.algorithm, &workload.material)?;
    let config = LaneConfig {
        depth,
        is_core_shared: cores.is_shared(),
        ..LaneConfig::default()
    };
    let mut lane = engine.lane(0, config, 1, 1)?;
    let memory = Arc::new(Mapping::new((workload.slot.stride * depth).max(1))?);
    let mut written = Ok(());
    let slots = |region| Slots {
        workload,
        region,
        base: 0,
    };
    slots(RegionId::SLAB).write(depth, |offset, bytes| {
        written = written.and(memory.write(offset, bytes));
    });
    written?;
    let region = lane.register(memory)?;
    let session = lane.attach(&session)?;
    let (begin, mut spent, mut requests) = (Instant::now(), Duration::ZERO, 0_u64);
    while requests == 0 || begin.elapsed() < length {
        let before = thread_cpu();
        for slot in 0..depth {
            slots(region).enqueue(&mut lane, session, slot, requests + slot as u64)?;
        }
        spent += thread_cpu() - before;
        await_all(&mut lane)?;
        let before = thread_cpu();
        requests += lane.reap(usize::MAX, |_| {}) as u64;
        spent += thread_cpu() - before;
    }
    Ok(requests as f64 / spent.as_secs_f64().max(1e-9))
}

fn await_all(lane: &mut CryptoLane) -> Result<(), WaitError> {
    while lane.wait(lane.in_flight(), STUCK)? < lane.in_flight() {}
    Ok(())
}
