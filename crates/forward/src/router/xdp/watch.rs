//! Follows what changes in a router's namespace, so that a program never
//! forwards by what was true more than 100 ms ago.
//!
//! The kernel tells of a change before the call that made it returns. The thread
//! here is woken, looks at what the router is now, and has the cache forgotten.
//! Should it not run in time, or fail, the cache ends by itself: it is used for
//! no longer than [`xdp::path::LEASE`] after the last sign that every change was
//! seen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::monitor::{Event, Monitor, MonitorError, Topic};
use sys::clock::CpuClock;
use xdp::LoadError;
use xdp::path::RouterError as ProgramError;

use super::describe::{Describer, Description, is_special};
use crate::topology::{NetworkError, Topology};

/// How often the cache is told that somebody listens: several times in a lease,
/// so that one late wake-up does no harm.
const RENEW_EVERY: Duration = Duration::from_millis(15);

/// A look that is so old vouches for nothing: the thread was interrupted between
/// looking and saying so. With the lease, of 80 ms, a change is seen within 85.
const LOOK_AGE_MAX: Duration = Duration::from_millis(5);

/// Why changes are no longer followed.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// They cannot be heard.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// The router cannot be looked at.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The program cannot be told what the router is now.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program's cache cannot be told.
    #[error(transparent)]
    Cache(#[from] LoadError),
}

/// A program that follows changes.
pub trait Follower: Send + 'static {
    /// The router is now so.
    fn describe(&self, description: &Description) -> Result<(), ProgramError>;

    /// Something changed: nothing that is remembered may be used.
    fn forget(&self) -> Result<(), LoadError>;

    /// Every change until now was told.
    fn vouch(&self) -> Result<(), LoadError>;
}

/// A thread that follows. It ends when this is dropped.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    clock: Mutex<Option<CpuClock>>,
    ended: Mutex<Option<WatchError>>,
}

/// Listens from before the router is looked at first.
pub struct Listening {
    monitor: Monitor,
    describer: Describer,
    has_special_route: bool,
    last: Description,
}

impl Listening {
    /// Begins to listen, then looks.
    pub fn begin(topology: &Topology) -> Result<Self, WatchError> {
        let monitor = Monitor::open(topology.router(), &Topic::ALL)?;
        let mut describer = Describer::of(topology)?;
        let has_special_route = describer.special_routes_in_tables()?;
        let last = describer.describe(has_special_route)?;
        Ok(Self {
            monitor,
            describer,
            has_special_route,
            last,
        })
    }

    /// What the router is.
    pub fn description(&self) -> &Description {
        &self.last
    }

    /// Follows on a thread of its own.
    pub fn follow(self, follower: impl Follower) -> std::io::Result<Watch> {
        let shared = Arc::new(Shared::default());
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lockgate-watch".to_owned())
            .spawn(move || inside.run(self, &follower))?;
        Ok(Watch {
            shared,
            thread: Some(thread),
        })
    }

    /// One look, and what follows from it.
    fn step(&mut self, follower: &impl Follower) -> Result<(), WatchError> {
        let mut events = self.monitor.wait(RENEW_EVERY)?;
        let looked = Instant::now();
        events.extend(self.monitor.wait(Duration::ZERO)?);
        if !events.is_empty() {
            self.note(&events)?;
            if self.changed(&events)? {
                follower.describe(&self.last)?;
            }
            follower.forget()?;
        }
        if looked.elapsed() < LOOK_AGE_MAX {
            follower.vouch()?;
        }
        Ok(())
    }

    /// A special route, once seen, is assumed to stay: a cache too few costs
    /// time only.
    fn note(&mut self, events: &[Event]) -> Result<(), WatchError> {
        let lost = events.contains(&Event::Lost);
        self.has_special_route |= events.iter().any(|event| match event {
            Event::Route { route, removed } => !removed && is_special(route),
            _ => false,
        });
        if lost && !self.has_special_route {
            self.has_special_route = self.describer.special_routes_in_tables()?;
        }
        Ok(())
    }

    /// Looks again, unless only routes and neighbours changed, which come by
    /// the thousand.
    fn changed(&mut self, events: &[Event]) -> Result<bool, WatchError> {
        let is_of_tables =
            |event: &Event| matches!(event, Event::Neighbour { .. } | Event::Route { .. });
        let hops_known = self.last.options.no_cache || !self.has_special_route;
        if events.iter().all(is_of_tables) && hops_known {
            return Ok(false);
        }
        let now = self.describer.describe(self.has_special_route)?;
        let changed = now != self.last;
        self.last = now;
        Ok(changed)
    }
}

impl Shared {
    fn run(&self, mut listening: Listening, follower: &impl Follower) {
        *lock(&self.clock) = Some(CpuClock::of_this_thread());
        // Seldom and short, and others wait for it. Without the right to it, it
        // is only slower.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
        while !self.stop.load(Ordering::Relaxed) {
            if let Err(error) = listening.step(follower) {
                *lock(&self.ended) = Some(error);
                return;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// CPU time of the thread, ns.
    pub fn cpu_ns(&self) -> u64 {
        let clock = *lock(&self.shared.clock);
        let time = clock.and_then(CpuClock::read).unwrap_or_default();
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Why it ended, if it did; told once.
    pub fn ended(&self) -> Option<WatchError> {
        lock(&self.shared.ended).take()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Within one renewal.
            let _ = thread.join();
        }
    }
}
