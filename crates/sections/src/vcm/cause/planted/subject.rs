//! A planted fault as a subject of the diagnosis.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{Engine, LaneConfig, LaneError, StartError, WorkerConfig};
use policy::Moderation;

use crate::vcm::cause::planted::client::{Client, ClientError, Done, generate};
use crate::vcm::cause::planted::device::{Common, Device};
use crate::vcm::cause::planted::plant::Plant;
use crate::vcm::cause::setting::{Reading, Setting};
use crate::vcm::cause::subject::{Subject, SubjectError};
use kit::load::rig::Cores;
use kit::place::Placement;

/// Block sizes of its load.
pub(in super::super) const SIZES: usize = 4;
const SIZES_BYTES: [usize; SIZES] = [1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// A planted fault on this host's cores; usually on one shared core, where
/// what each side spends is spent by both.
#[derive(Debug)]
pub(in super::super) struct Planted {
    plant: Plant,
    shared: Cores,
    /// None on one CPU.
    split: Option<Cores>,
}

impl Planted {
    /// On these CPUs, of which there is at least one.
    pub(in super::super) fn new(plant: Plant, cpus: &[usize]) -> Self {
        Self {
            plant,
            shared: Cores::of(cpus, Placement::Shared).expect("one CPU is enough to share"),
            split: Cores::of(cpus, Placement::Split),
        }
    }

    fn trial(&self, setting: &Setting, length: Duration) -> Result<Reading, Failure> {
        let cores = match setting.placement {
            Placement::Shared => self.shared,
            Placement::Split => self.split.ok_or(Failure::OneCpu)?,
        };
        let common = Arc::new(Common::default());
        let worker = WorkerConfig {
            cpu: Some(cores.worker),
            idle_spin: Some(Duration::ZERO),
            is_core_shared: cores.is_shared(),
        };
        let (plant, both) = (self.plant, Arc::clone(&common));
        let engine = Engine::start(&[worker], move |_| Device {
            plant,
            common: Arc::clone(&both),
        })?;
        let config = LaneConfig {
            depth: setting.depth,
            moderation: setting.moderation(Moderation::Each),
            is_core_shared: cores.is_shared(),
            ..LaneConfig::default()
        };
        let client = Client {
            plant,
            bytes: setting.block_bytes,
            depth: setting.depth,
            lane: engine.lane(0, config)?,
            common,
        };
        let before = engine.cpu_time(0).unwrap_or_default();
        let done = on_own_thread(move || client.run(cores.client, length))??;
        let worker = engine
            .cpu_time(0)
            .unwrap_or_default()
            .saturating_sub(before);
        // On a shared core that never idles the time that counts is what the
        // two used of it, so that other programs do not.
        let is_busy = cores.is_shared() && plant.distance_ns(setting.block_bytes).is_none();
        let time = if is_busy {
            done.elapsed.min(done.cpu + worker)
        } else {
            done.elapsed
        };
        Ok(reading(setting, &done, worker, time))
    }
}

fn reading(setting: &Setting, done: &Done, worker: Duration, time: Duration) -> Reading {
    let seconds = time.as_secs_f64().max(1e-9);
    let bytes = done.requests as f64 * setting.block_bytes as f64;
    Reading {
        mb_per_s: bytes / seconds / 1e6,
        requests: done.requests,
        notifications: done.notifications as f64 / (done.requests.max(1)) as f64,
        client_cpus: done.cpu.as_secs_f64() / seconds,
        worker_cpus: worker.as_secs_f64() / seconds,
        in_flight: done.in_flight,
        ..Reading::default()
    }
}

/// The caller's thread keeps its own CPUs.
fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let thread = thread::Builder::new()
        .name("lockgate-plant".to_owned())
        .spawn(work)?;
    Ok(thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Why a trial gave nothing.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("split placement needs two CPUs; allow more (taskset, cpuset)")]
    OneCpu,
    #[error("the worker did not start")]
    Start(#[from] StartError),
    #[error("no lane")]
    Lane(#[from] LaneError),
    #[error("the client got no thread; raise the limit")]
    Thread(#[from] io::Error),
    #[error("the client failed")]
    Client(#[from] ClientError),
}

impl Subject for Planted {
    fn name(&self) -> String {
        format!("planted: {}", self.plant.what())
    }

    fn sizes_bytes(&self) -> &[usize] {
        &SIZES_BYTES
    }

    fn depth(&self, block_bytes: usize) -> usize {
        self.plant.depth(block_bytes)
    }

    fn placement(&self) -> Placement {
        Placement::Shared
    }

    fn can_move(&self) -> bool {
        self.split.is_some()
    }

    fn moderation(&self) -> Moderation {
        Moderation::Each
    }

    fn run(&mut self, setting: &Setting, length: Duration) -> Result<Reading, SubjectError> {
        let failed = SubjectError::of(setting);
        self.trial(setting, length)
            .map_err(|failure| failed(failure.into()))
    }

    fn generate(&mut self, setting: &Setting, length: Duration) -> Result<f64, SubjectError> {
        let failed = SubjectError::of(setting);
        let (plant, bytes) = (self.plant, setting.block_bytes);
        let (requests, took) = on_own_thread(move || generate(plant, bytes, length))
            .map_err(|error| failed(error.into()))?;
        Ok(requests as f64 * bytes as f64 / took.as_secs_f64().max(1e-9) / 1e6)
    }
}
