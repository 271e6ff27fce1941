//! Workers that do crypto.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crypto::{Algorithm, Backend, KeyError, KeyMaterial};

use super::function::CryptoFunction;
use super::lane::CryptoLane;
use super::service::CryptoService;
use super::session::{Issuer, Session};
use super::states::States;
use super::vault::Vault;
use crate::counters::WorkerCounters;
use crate::function::{FunctionConfig, FunctionError, RequestLimit};
use crate::lane::{LaneConfig, LaneError};
use crate::pool::{Engine, StartError, WorkerConfig};
use crate::standpoint::Overseer;

/// Numbers engines and virtual functions, so that a session is only used by
/// the one it is of.
static OWNERS: AtomicU64 = AtomicU64::new(0);

pub struct CryptoEngine {
    engine: Engine<CryptoService>,
    issuer: Issuer,
    panics: Arc<[AtomicU64]>,
}

impl std::fmt::Debug for CryptoEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "CryptoEngine({}, {} workers)",
            self.issuer.backend.name(),
            self.engine.workers()
        )
    }
}

impl CryptoEngine {
    pub fn start(backend: Arc<dyn Backend>, workers: &[WorkerConfig]) -> Result<Self, StartError> {
        let number = OWNERS.fetch_add(1, Ordering::Relaxed);
        let panics: Arc<[AtomicU64]> = workers.iter().map(|_| AtomicU64::new(0)).collect();
        let states: Vec<Arc<Mutex<States>>> = workers.iter().map(|_| Arc::default()).collect();
        let shared = (Arc::clone(&backend), Arc::clone(&panics));
        let service = move |worker: usize| {
            let (backend, panics) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
            CryptoService::new(backend, worker, panics, Arc::clone(&states[worker]))
        };
        let engine = Engine::start(workers, service)?;
        Ok(Self {
            engine,
            issuer: Issuer {
                backend,
                number,
                is_for_measuring: false,
                public_key_workers: None,
            },
            panics,
        })
    }

    /// From now on sessions of this engine, and of virtual functions made later, may
    /// have keys that protect nothing: see [`Algorithm::is_for_measuring_only`].
    #[must_use]
    pub fn for_measuring(mut self) -> Self {
        self.issuer.is_for_measuring = true;
        self
    }

    /// From now on lanes to other workers than these, its own and those of virtual
    /// functions made hereafter, take no sessions with public keys.
    ///
    /// A request with a public key is done in one go, and keeps tenants that share its worker
    /// waiting: tens of microseconds for ECDSA and X25519, and milliseconds to sign or
    /// decrypt with RSA of 4096 bits or to derive with FFDH. So give tenants whose small
    /// requests must not wait workers that these are not allowed on.
    #[must_use]
    pub fn with_public_keys_on(mut self, workers: &[usize]) -> Self {
        self.issuer.public_key_workers = Some(workers.into());
        self
    }

    /// Sets a key up for every worker.
    ///
    /// # Errors
    /// [`KeyError`] from the back-end; [`KeyError::ForMeasuringOnly`].
    pub fn session(
        &self,
        algorithm: Algorithm,
        material: &KeyMaterial,
    ) -> Result<Arc<Session>, KeyError> {
        self.issuer
            .session(algorithm, material, self.engine.workers(), None)
    }

    /// Makes a lane to that worker, with a slab of `slab_bytes` as its first
    /// region and up to `segments` segments a source or destination.
    pub fn lane(
        &self,
        worker: usize,
        config: LaneConfig,
        slab_bytes: usize,
        segments: usize,
    ) -> Result<CryptoLane, LaneError> {
        let lane = self.engine.lane(worker, config)?;
        let limit = RequestLimit::NONE;
        CryptoLane::new(lane, self.issuer.seat(worker), slab_bytes, segments, limit)
    }

    pub fn function(&self, config: FunctionConfig) -> Result<CryptoFunction, FunctionError> {
        let number = OWNERS.fetch_add(1, Ordering::Relaxed);
        let function = self.engine.function(config)?;
        Ok(CryptoFunction {
            function,
            issuer: Issuer {
                number,
                ..self.issuer.clone()
            },
            request_max: config.request_max,
            vault: Vault::new(config.keys_max),
        })
    }

    /// Who looks after the workers.
    pub fn overseer(&self) -> Overseer {
        self.engine.overseer()
    }

    pub fn backend(&self) -> &dyn Backend {
        &*self.issuer.backend
    }

    pub fn workers(&self) -> usize {
        self.engine.workers()
    }

    /// That worker's counters.
    ///
    /// # Panics
    /// When there is no such worker.
    pub fn counters(&self, worker: usize) -> WorkerCounters {
        WorkerCounters {
            panics: self.panics[worker].load(Ordering::Relaxed),
            ..self.engine.counters(worker)
        }
    }

    /// CPU time that worker has used, or `None` if it has ended.
    ///
    /// # Panics
    /// When there is no such worker.
    pub fn cpu_time(&self, worker: usize) -> Option<Duration> {
        self.engine.cpu_time(worker)
    }
}
