//! Workers that do crypto.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crypto::{Algorithm, Backend, KeyError, KeyMaterial};

use super::function::CryptoFunction;
use super::lane::CryptoLane;
use super::service::CryptoService;
use super::session::Session;
use crate::counters::WorkerCounters;
use crate::function::{FunctionConfig, FunctionError};
use crate::lane::{LaneConfig, LaneError};
use crate::pool::{Engine, StartError, WorkerConfig};

/// Numbers engines and virtual functions, so that a session is only used by
/// the one it is of.
static OWNERS: AtomicU64 = AtomicU64::new(0);

/// A pool of crypto workers over one back-end.
pub struct CryptoEngine {
    engine: Engine<CryptoService>,
    backend: Arc<dyn Backend>,
    number: u64,
}

impl std::fmt::Debug for CryptoEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CryptoEngine({}, {} workers)",
            self.backend.name(),
            self.engine.workers()
        )
    }
}

impl CryptoEngine {
    /// Starts the workers.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(backend: Arc<dyn Backend>, workers: &[WorkerConfig]) -> Result<Self, StartError> {
        let number = OWNERS.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&backend);
        let service = move |worker| CryptoService::new(Arc::clone(&shared), worker);
        let engine = Engine::start(workers, service)?;
        Ok(Self {
            engine,
            backend,
            number,
        })
    }

    /// Sets a key up for every worker.
    ///
    /// # Errors
    /// [`KeyError`] from the back-end.
    pub fn session(
        &self,
        algorithm: Algorithm,
        material: &KeyMaterial,
    ) -> Result<Arc<Session>, KeyError> {
        let workers = self.engine.workers();
        Session::new(&*self.backend, algorithm, material, self.number, workers).map(Arc::new)
    }

    /// Makes a lane to that worker, with a slab of `slab_bytes` as its first
    /// region and up to `segments` segments a source or destination.
    ///
    /// # Errors
    /// [`LaneError`].
    pub fn lane(
        &self,
        worker: usize,
        config: LaneConfig,
        slab_bytes: usize,
        segments: usize,
    ) -> Result<CryptoLane, LaneError> {
        let lane = self.engine.lane(worker, config)?;
        CryptoLane::new(lane, self.number, slab_bytes, segments)
    }

    /// Makes a virtual function of this engine, which is its physical
    /// function.
    ///
    /// # Errors
    /// [`FunctionError`].
    pub fn function(&self, config: FunctionConfig) -> Result<CryptoFunction, FunctionError> {
        let number = OWNERS.fetch_add(1, Ordering::Relaxed);
        let function = self.engine.function(config)?;
        let backend = Arc::clone(&self.backend);
        Ok(CryptoFunction::new(function, backend, number))
    }

    /// The back-end.
    #[must_use]
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.engine.workers()
    }

    /// That worker's counters.
    ///
    /// # Panics
    /// When there is no such worker.
    #[must_use]
    pub fn counters(&self, worker: usize) -> WorkerCounters {
        self.engine.counters(worker)
    }

    /// CPU time that worker has used, or `None` if it has ended.
    ///
    /// # Panics
    /// When there is no such worker.
    #[must_use]
    pub fn cpu_time(&self, worker: usize) -> Option<Duration> {
        self.engine.cpu_time(worker)
    }
}
