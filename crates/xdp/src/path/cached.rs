//! A router that keeps the answers of the kernel's tables:
//! `bpf/cached.bpf.c`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_getres};

use crate::attached::{Entry, Path};
use crate::counters::Counters;
use crate::object::{LoadError, Map, Object, source};

use super::ports::{Ports, RouterError, RouterOptions, RouterPort};

/// How long an answer is used after the last sign that somebody listens for
/// changes: less than the 100 ms within which a change must show, as who listens
/// takes some time between its look and its sign.
pub const LEASE: Duration = Duration::from_millis(80);

/// As [`super::Fib`], with a cache of 262,144 answers, by addresses, type of
/// service and port.
///
/// The cache is used only as long as somebody who listens for changes of routes,
/// rules, neighbours, links and addresses says so, with [`CacheControl`]: before
/// the first [`CacheControl::renew`], and [`LEASE`] after the last, every frame
/// asks the kernel's tables.
pub struct FibCached {
    object: Arc<Object>,
    counters: Map,
    ports: Ports,
    control: CacheControl,
}

/// Tells a cache what happens; for the thread that listens.
#[derive(Clone)]
pub struct CacheControl {
    object: Arc<Object>,
    generation: Arc<Mutex<Generation>>,
}

struct Generation {
    map: Map,
    now: u32,
    lease_ticks: u64,
}

impl FibCached {
    /// Loads it for these ports, in whose network namespace the calling thread
    /// must be.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn load(ports: &[RouterPort], options: RouterOptions) -> Result<Self, RouterError> {
        let object = Arc::new(Object::load(&source!("cached"), |_| Ok(()))?);
        let control = CacheControl::new(Arc::clone(&object))?;
        control.invalidate()?;
        Ok(Self {
            ports: Ports::new(&object, ports, options)?,
            counters: object.map("counters")?,
            object,
            control,
        })
    }

    /// For whoever listens for changes.
    #[must_use]
    pub fn control(&self) -> CacheControl {
        self.control.clone()
    }

    /// As [`super::Fib::update`]. What was kept is forgotten.
    ///
    /// # Errors
    /// [`RouterError`].
    pub fn update(&self, ports: &[RouterPort], options: RouterOptions) -> Result<(), RouterError> {
        self.ports.write(ports, options)?;
        Ok(self.control.invalidate()?)
    }

    /// What it counted.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn counters(&self) -> Result<Counters, LoadError> {
        Counters::read([&self.counters])
    }
}

impl CacheControl {
    pub(super) fn new(object: Arc<Object>) -> Result<Self, LoadError> {
        let generation = Generation {
            map: object.map(".data.generation")?,
            now: 0,
            lease_ticks: ticks(LEASE),
        };
        Ok(Self {
            object,
            generation: Arc::new(Mutex::new(generation)),
        })
    }

    /// Something changed: nothing that is kept may be used. To be called before
    /// the next [`Self::renew`].
    ///
    /// # Errors
    /// [`LoadError`]; then do not renew.
    pub fn invalidate(&self) -> Result<(), LoadError> {
        let mut generation = self
            .generation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        generation.now = generation.now.checked_add(1).unwrap_or(1);
        let mut value = generation.now.to_ne_bytes().to_vec();
        value.extend([0; 4]);
        value.extend(generation.lease_ticks.to_ne_bytes());
        generation.map.write(0, &value)
    }

    /// Whoever calls this has seen every change until now. To be called at
    /// least three times in [`LEASE`].
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn renew(&self) -> Result<(), LoadError> {
        self.object.run("renew")
    }
}

/// A time in ticks of the kernel's clock, rounded down so that a lease is not
/// longer than it says: it counts from within a tick, and one has passed when
/// the count is equal.
fn ticks(time: Duration) -> u64 {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = u64::try_from(tick.tv_nsec).unwrap_or(0).max(1);
    (u64::try_from(time.as_nanos()).unwrap_or(0) / tick_ns).saturating_sub(1)
}

impl Path for FibCached {
    fn entries(&self) -> Vec<Entry<'_>> {
        let entry = |ifindex: &u32| Entry {
            ifindex: *ifindex,
            program: self.object.program("cached"),
        };
        self.ports.carriers().iter().map(entry).collect()
    }
}
