//! A session: a key and its algorithm, set up once for each worker.
#![allow(
    unsafe_code,
    reason = "each worker alone uses its own copy of a key: see Session"
)]

use crypto::{Algorithm, Backend, Key, KeyError, KeyMaterial};

/// A key with its algorithm. Contexts of libraries are scratch space too, so
/// each worker has a copy of its own and nothing is locked; all copies are
/// zeroised when the session is dropped.
pub struct Session {
    algorithm: Algorithm,
    /// The engine it belongs to: its workers alone may use the keys.
    engine: u64,
    keys: Box<[Box<dyn Key>]>,
}

// SAFETY: `Key` is `Send` but not `Sync`. `key(worker)` is the only way to a
// key, is unsafe, and only worker threads of the session's own engine call
// it, each for its own index: no key is ever used by two threads at a time.
unsafe impl Sync for Session {}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(
        backend: &dyn Backend,
        algorithm: Algorithm,
        material: &KeyMaterial,
        engine: u64,
        workers: usize,
    ) -> Result<Self, KeyError> {
        let keys = (0..workers)
            .map(|_| backend.key(algorithm, material))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            algorithm,
            engine,
            keys,
        })
    }

    /// Its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(crate) fn engine(&self) -> u64 {
        self.engine
    }

    /// That worker's copy.
    ///
    /// # Safety
    /// Only worker `worker` of the session's engine may call this.
    pub(crate) unsafe fn key(&self, worker: usize) -> &dyn Key {
        &*self.keys[worker]
    }
}
