//! One thread that looks after all devices and their workers, and that no tenant can hold
//! up: it neither reads nor writes a tenant's descriptor.
//!
//! It looks whether a worker is held up by a tenant's memory, and gives that tenant a
//! worker of its own; whether memory was taken away, and cuts its owner off; whether pages
//! are made on a tenant's behalf; and whether a thread has ended that should not have.

use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::{Overseer, Trouble};
use sys::clock::now_ns;
use sys::event::Event;
use sys::role::Role;

use crate::device::Shared;
use crate::limits::{HostLimits, Pool};

/// Between two looks while a worker is at a tenant's memory, while a front-end is
/// connected, and while there is none.
const BUSY: Duration = Duration::from_millis(3);
const IDLE: Duration = Duration::from_millis(25);
const ALONE: Duration = Duration::from_millis(500);

/// Faults of a worker between two looks that are more than chance.
const FAULTS: u64 = 64;

/// After so long without faults of its worker a device is counted no more, ns.
const CALM_NS: u64 = 1_000_000_000;

/// What ended that should not have. What it served is not served any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("worker {worker} has ended by a panic: its functions are not served any more")]
    Worker { worker: usize },
    #[error("the thread of the device at {} has ended by itself", .0.display())]
    Device(PathBuf),
    #[error("the supervisor has ended by a panic")]
    Supervisor,
}

/// What devices share with their supervisor.
#[derive(Debug)]
pub(crate) struct Supervised {
    devices: Mutex<Vec<Weak<Shared>>>,
    failure: Mutex<Option<Failure>>,
    pub(crate) memory: Arc<Pool>,
    pub(crate) made: Arc<Pool>,
    /// Tenants on each worker of the quarantine.
    places: Mutex<Vec<usize>>,
    wake: Event,
    is_over: AtomicBool,
}

impl Supervised {
    pub(crate) fn new(limits: HostLimits) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            devices: Mutex::default(),
            failure: Mutex::default(),
            memory: Pool::new(limits.memory_bytes_max),
            made: Pool::new(limits.made_bytes_max),
            places: Mutex::default(),
            wake: Event::new()?,
            is_over: AtomicBool::new(false),
        }))
    }

    pub(crate) fn add(&self, device: &Arc<Shared>) {
        let mut devices = lock(&self.devices);
        devices.retain(|one| one.strong_count() > 0);
        devices.push(Arc::downgrade(device));
        drop(devices);
        self.wake.signal();
    }

    /// A front-end has come.
    pub(crate) fn look(&self) {
        self.wake.signal();
    }

    /// The worker of these that has the fewest tenants; it has one more now.
    pub(crate) fn place(&self, workers: &[usize]) -> Option<usize> {
        let mut places = lock(&self.places);
        let most = workers.iter().max()?;
        if places.len() <= *most {
            places.resize(most + 1, 0);
        }
        let place = workers
            .iter()
            .copied()
            .min_by_key(|worker| places[*worker])?;
        places[place] += 1;
        Some(place)
    }

    pub(crate) fn leave(&self, place: usize) {
        if let Some(tenants) = lock(&self.places).get_mut(place) {
            *tenants = tenants.saturating_sub(1);
        }
    }

    pub(crate) fn failed(&self, failure: Failure) {
        lock(&self.failure).get_or_insert(failure);
    }
}

/// Ends with the last of its owners; devices that it looked after go on unattended.
#[derive(Debug)]
pub struct Supervisor {
    supervised: Arc<Supervised>,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    /// # Errors
    /// No thread, or no eventfd.
    pub fn start(overseer: Overseer, limits: HostLimits) -> io::Result<Self> {
        let supervised = Supervised::new(limits)?;
        let own = Arc::clone(&supervised);
        let thread = std::thread::Builder::new()
            .name("lockgate-watch".to_owned())
            .spawn(move || {
                sys::role::enter(Role::Control);
                let run = AssertUnwindSafe(|| run(&own, overseer));
                if catch_unwind(run).is_err() {
                    own.failed(Failure::Supervisor);
                }
            })?;
        sys::fault::tell(Some(supervised.wake.as_fd()));
        Ok(Self {
            supervised,
            thread: Some(thread),
        })
    }

    pub(crate) fn supervised(&self) -> &Arc<Supervised> {
        &self.supervised
    }

    /// What ended first that should not have: whoever runs it ends, too, and says so.
    pub fn failure(&self) -> Option<Failure> {
        lock(&self.supervised.failure).clone()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.supervised.is_over.store(true, Ordering::Release);
        self.supervised.wake.signal();
        if let Some(thread) = self.thread.take() {
            // A panic of its thread is its failure, which its owner was told of.
            let _ = thread.join();
        }
        sys::fault::tell(None);
    }
}

fn run(supervised: &Supervised, mut overseer: Overseer) {
    let mut faulted_ns = Vec::new();
    while !supervised.is_over.load(Ordering::Acquire) {
        let devices: Vec<_> = {
            let devices = lock(&supervised.devices);
            devices.iter().filter_map(Weak::upgrade).collect()
        };
        let now_ns = now_ns();
        overseer.look(now_ns, |trouble| {
            meet(supervised, &devices, trouble, now_ns, &mut faulted_ns);
        });
        for device in &devices {
            let worker = device.worker_of(0);
            let calm_ns = faulted_ns.get(worker).map_or(u64::MAX, |at| now_ns - at);
            device.look(now_ns, calm_ns > CALM_NS);
        }
        let is_any = devices.iter().any(|device| device.is_connected());
        let pause = match (is_any, overseer.is_any_out()) {
            (true, true) => BUSY,
            (true, false) => IDLE,
            (false, _) => ALONE,
        };
        drop(devices);
        supervised.wake.wait(pause);
    }
}

fn meet(
    supervised: &Supervised,
    devices: &[Arc<Shared>],
    trouble: Trouble,
    now_ns: u64,
    faulted_ns: &mut Vec<u64>,
) {
    match trouble {
        Trouble::Ended { worker } => supervised.failed(Failure::Worker { worker }),
        // Of several it is not known whose memory that is; the worker finds out.
        Trouble::Stalled { function: None, .. } => {}
        Trouble::Stalled {
            function: Some(id),
            lasts,
            waits_in,
            ..
        } => {
            if let Some(device) = devices.iter().find(|device| device.function.id() == id) {
                device.stalled(now_ns, lasts, waits_in);
            }
        }
        Trouble::Faulted { worker, count } => {
            if count < FAULTS {
                return;
            }
            if faulted_ns.len() <= worker {
                faulted_ns.resize(worker + 1, 0);
            }
            faulted_ns[worker] = now_ns;
            let is_there = |device: &&Arc<Shared>| device.is_on(worker);
            for device in devices.iter().filter(is_there) {
                device.made.begin();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
