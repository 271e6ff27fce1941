//! A session: a key and its algorithm, set up once for each worker.
#![allow(
    unsafe_code,
    reason = "each worker alone uses its own copy of a key: see Session"
)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crypto::{Algorithm, Backend, Key, KeyError, KeyMaterial, Sectors};

use super::vault::Held;
use crate::function::Owned;

/// A key with its algorithm. Contexts of libraries are scratch space too, so
/// each worker has a copy of its own and nothing is locked; all copies are
/// zeroised when the session is dropped, or before, when the virtual function
/// that it belongs to is reset or removed.
pub struct Session {
    algorithm: Algorithm,
    algorithm_number: usize,
    /// It has no key any more, or will soon have none.
    is_ended: AtomicBool,
    /// The engine or virtual function it belongs to: that engine's workers
    /// alone may use the keys.
    owner: u64,
    keys: Box<[Cell]>,
    /// What it holds of its function's limit, until it ends.
    held: Mutex<Option<Held>>,
}

/// One worker's copy; none after the end of the session.
type Cell = UnsafeCell<Option<Box<dyn Key>>>;

// SAFETY: `Key` is `Send` but not `Sync`. `key(worker)` and `end_for(worker)`
// are the only ways to a key, are unsafe, and only worker threads of the
// session's own engine call them, each for its own index, or the thread that ends the
// session for a worker that has ended: no key is ever used by two threads at
// a time.
unsafe impl Sync for Session {}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

impl Session {
    fn new(
        backend: &dyn Backend,
        algorithm: Algorithm,
        material: &KeyMaterial,
        owner: u64,
        workers: usize,
    ) -> Result<Self, KeyError> {
        // All that the back-end makes of it.
        let key = || sys::secret::within(|| backend.key(algorithm, material));
        let keys = (0..workers)
            .map(|_| Ok(UnsafeCell::new(Some(key()?))))
            .collect::<Result<_, _>>()?;
        let same = |other: &Algorithm| *other == algorithm;
        let number = match algorithm {
            Algorithm::Sectors(sectors) => Some(Algorithm::ALL.len() + sectors.cost()),
            Algorithm::Packets(packets) => {
                Some(Algorithm::ALL.len() + Sectors::COSTS + packets as usize)
            }
            _ => Algorithm::ALL.iter().position(same),
        };
        Ok(Self {
            algorithm,
            // One that is not among them has no key either.
            algorithm_number: number.unwrap_or_default(),
            is_ended: AtomicBool::new(false),
            owner,
            keys,
            held: Mutex::new(None),
        })
    }

    #[inline]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    #[inline]
    pub(crate) fn algorithm_number(&self) -> usize {
        self.algorithm_number
    }

    pub(crate) fn owner(&self) -> u64 {
        self.owner
    }

    #[inline]
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// That worker's copy; none after the end of the session.
    ///
    /// # Safety
    /// Only worker `worker` of the session's engine may call this, and it may
    /// not end the session while it holds the key.
    #[inline]
    pub(crate) unsafe fn key(&self, worker: usize) -> Option<&dyn Key> {
        // SAFETY: forwarded from the caller: no other thread touches this cell.
        unsafe { (*self.keys[worker].get()).as_deref() }
    }

    /// From now on no request may name it, and it counts no more.
    fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
        drop(
            self.held
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Drops that worker's copy, which zeroises it.
    ///
    /// # Safety
    /// Only worker `worker` of the session's engine may call this, while it
    /// holds no key; or any thread, once that worker has ended.
    unsafe fn end_for(&self, worker: usize) {
        self.end();
        // SAFETY: forwarded from the caller: no other thread touches this cell.
        unsafe { *self.keys[worker].get() = None };
    }
}

/// The owner of a lane, and the sessions it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) owner: u64,
    pub(super) worker: usize,
    pub(super) takes_public_keys: bool,
}

#[derive(Clone)]
pub(super) struct Issuer {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) number: u64,
    pub(super) is_for_measuring: bool,
    /// Workers that take public keys; `None` when all do.
    pub(super) public_key_workers: Option<Arc<[usize]>>,
}

impl Issuer {
    pub(super) fn seat(&self, worker: usize) -> Seat {
        let those = self.public_key_workers.as_ref();
        Seat {
            owner: self.number,
            worker,
            takes_public_keys: those.is_none_or(|those| those.contains(&worker)),
        }
    }

    pub(super) fn session(
        &self,
        algorithm: Algorithm,
        material: &KeyMaterial,
        workers: usize,
        held: Option<Held>,
    ) -> Result<Arc<Session>, KeyError> {
        if algorithm.is_for_measuring_only() && !self.is_for_measuring {
            return Err(KeyError::ForMeasuringOnly { algorithm });
        }
        let backend = &*self.backend;
        let session = Session::new(backend, algorithm, material, self.number, workers)?;
        Ok(Arc::new(Session {
            held: Mutex::new(held),
            ..session
        }))
    }
}

/// A session that ends with its virtual function.
#[derive(Debug)]
pub(super) struct OwnSession(pub(super) Weak<Session>);

impl Owned for OwnSession {
    fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    fn end(&self) {
        if let Some(session) = self.0.upgrade() {
            session.end();
        }
    }

    fn end_for(&self, worker: usize) {
        if let Some(session) = self.0.upgrade() {
            // SAFETY: a function ends what it owns on the worker itself,
            // between two breaths, or after that worker's end.
            unsafe { session.end_for(worker) };
        }
    }
}
