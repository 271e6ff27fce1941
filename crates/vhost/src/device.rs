//! A device: a virtual function of an engine behind a socket, for one guest at a time.

mod bound;

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crypto::Algorithm;
use engine::{CryptoFunction, FunctionCounters, PIECE_BYTES_MIN};
use policy::{Bucket, Moderation};
use sys::clock::now_ns;
use sys::event::Event;
use sys::readable;
use sys::role::Role;
use wire::virtio_crypto as virtio;

use bound::Files;
pub use bound::{Bound, SocketConfig, log_path};

use crate::backend::{QUEUES_MAX, virtio_config};
use crate::connection::{Connection, ConnectionError};
use crate::counters::{Counters, Refusal};
use crate::limits::{Limits, Made, Pool, per_second};
use crate::log::Logs;
use crate::memory::GuestMemory;
use crate::notifiers::{Notifiers, Threads};
use crate::quarantine::Quarantine;
use crate::queue::Broken;
use crate::session::{RefusedSession, Sessions, Wanted};
use crate::supervisor::{Failure, Supervised, Supervisor};

/// What a device tells who runs it. Nothing in it is secret.
#[derive(Debug)]
pub enum Notice<'a> {
    Connected,
    /// With what ended it, if that was not the front-end.
    Disconnected(Option<&'a ConnectionError>),
    SessionRefused(&'a RefusedSession),
    /// It takes nothing more until it is set up anew.
    QueueBroken {
        queue: usize,
        broken: Broken,
    },
    /// Its memory held its worker up: it is on a worker for such as it.
    Quarantined {
        worker: usize,
    },
    /// It is back among the others.
    Returned,
    /// The device's own thread panicked, and was started again.
    Panicked,
}

/// Who learns of [`Notice`]s, on the device's own thread.
pub type Notices = Arc<dyn Fn(Notice<'_>) + Send + Sync>;

#[derive(Clone, Debug)]
pub struct DeviceConfig {
    pub socket: SocketConfig,
    /// 1 to [`QUEUES_MAX`]: Linux drives one.
    pub queues: usize,
    /// The workers of the engine that serve the queues, in turn.
    pub workers: Vec<usize>,
    /// Workers of the engine for tenants whose memory holds their worker up; without one
    /// such a tenant is cut off.
    pub quarantine: Vec<usize>,
    pub limits: Limits,
    /// Most requests of a queue in flight within the engine.
    pub depth: usize,
    /// Most pieces of the source or destination of a request.
    pub segments_max: usize,
    /// A longer request is cut so that others get their turn.
    pub piece_bytes: Option<usize>,
    pub moderation: Moderation,
    pub allowed: Vec<Algorithm>,
    /// Whether front-ends may ask for the configuration. QEMU does not, and warns of a
    /// device that offers it.
    pub offers_config: bool,
}

/// The policy of a guest's queue for a controller of that one: a guest sleeps, and
/// whether it looks instead is its own affair.
#[must_use]
pub fn moderation(of_controller: Moderation) -> Moderation {
    match of_controller {
        Moderation::Each => Moderation::Each,
        _ => Moderation::Armed,
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("{queues} queues: give 1 to {QUEUES_MAX}")]
    Queues { queues: usize },
    #[error("a device needs at least one worker")]
    Workers,
    #[error("pieces of {bytes} bytes: give a multiple of {PIECE_BYTES_MIN}")]
    Piece { bytes: usize },
    #[error("another program listens at {}; give each device a socket of its own", .0.display())]
    InUse(PathBuf),
    #[error("{} is there, and is no socket; remove it or give another path", .0.display())]
    NoSocket(PathBuf),
    #[error("cannot listen at {}", .path.display())]
    Socket {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot keep the log of requests in flight at {}", .path.display())]
    Log {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot start the device's thread")]
    Thread(#[source] io::Error),
}

/// What counts of a device, since it was made.
#[derive(Clone, Debug)]
pub struct DeviceCounters {
    pub function: FunctionCounters,
    pub sessions: usize,
    pub is_connected: bool,
    pub connections: u64,
    pub refused: Vec<(Refusal, u64)>,
    /// What broke a queue last, and how often that was.
    pub broken: Option<Broken>,
    pub broken_queues: u64,
    /// Notifications that the kernel did not take at first.
    pub repeated_calls: u64,
    /// How often the guest's memory held its worker up, and whether it is on another for
    /// that.
    pub stalls: u64,
    pub is_quarantined: bool,
    /// Mapped memory of the guest, and pages of it that the kernel made for requests.
    pub memory_bytes: u64,
    pub made_bytes: u64,
    /// Panics of the device's own thread.
    pub panics: u64,
}

pub(crate) struct Shared {
    pub(crate) config: DeviceConfig,
    pub(crate) function: CryptoFunction,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) notices: Notices,
    pub(crate) logs: Logs,
    /// One for each queue.
    pub(crate) notifiers: Vec<Arc<Notifiers>>,
    pub(crate) threads: Arc<Threads>,
    pub(crate) made: Arc<Made>,
    pub(crate) memory: Arc<Pool>,
    pub(crate) supervised: Arc<Supervised>,
    /// The device's thread is to look at what others want of it.
    pub(crate) attention: Arc<Event>,
    connections: AtomicU64,
    panics: AtomicU64,
    is_connected: AtomicBool,
    /// The connection, to be cut when the device ends.
    stream: Mutex<Option<UnixStream>>,
    /// Why its connection is to end.
    cut: Mutex<Option<ConnectionError>>,
    guest: Mutex<Weak<GuestMemory>>,
    quarantine: Mutex<Quarantine>,
    /// The worker for it alone; [`AT_HOME`] if it is where it was configured.
    place: AtomicUsize,
}

const AT_HOME: usize = usize::MAX;

/// Threads of notifiers for each queue: those of two, and those that were exchanged and
/// have not ended yet.
const THREADS_A_QUEUE: usize = 16;

impl Shared {
    pub(crate) fn new(
        function: CryptoFunction,
        config: DeviceConfig,
        notices: Notices,
        logs: Logs,
        supervised: &Arc<Supervised>,
    ) -> io::Result<Self> {
        let attention = Arc::new(Event::new()?);
        let notifiers = || Arc::new(Notifiers::new(Arc::clone(&attention)));
        let limits = config.limits;
        let made = Made::new(limits.made_bytes_max, Arc::clone(&supervised.made));
        Ok(Self {
            notifiers: (0..config.queues).map(|_| notifiers()).collect(),
            threads: Threads::new(THREADS_A_QUEUE * config.queues),
            made: Arc::new(made),
            memory: Pool::new(limits.memory_bytes_max),
            supervised: Arc::clone(supervised),
            attention,
            function,
            config,
            sessions: Arc::default(),
            counters: Arc::default(),
            notices,
            logs,
            connections: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            is_connected: AtomicBool::new(false),
            stream: Mutex::default(),
            cut: Mutex::default(),
            guest: Mutex::default(),
            quarantine: Mutex::default(),
            place: AtomicUsize::new(AT_HOME),
        })
    }

    /// Whatever the device's thread reads or writes ends.
    fn hang_up(&self) {
        if let Some(stream) = &*lock(&self.stream) {
            // One that is cut already is.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn note_stream(&self, stream: Option<UnixStream>) {
        *lock(&self.stream) = stream;
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// The worker that serves that queue, now or when it is started next.
    pub(crate) fn worker_of(&self, queue: usize) -> usize {
        match self.place.load(Ordering::Acquire) {
            AT_HOME => self.config.workers[queue % self.config.workers.len()],
            place => place,
        }
    }

    pub(crate) fn is_on(&self, worker: usize) -> bool {
        (0..self.config.queues).any(|queue| self.worker_of(queue) == worker)
    }

    pub(crate) fn is_quarantined(&self) -> bool {
        self.place.load(Ordering::Acquire) != AT_HOME
    }

    /// Ends the connection; the device's thread says why.
    fn cut(&self, why: ConnectionError) {
        lock(&self.cut).get_or_insert(why);
        self.attention.signal();
        self.hang_up();
    }

    /// Why the connection is to end, if others want it to.
    pub(crate) fn take_cut(&self) -> Option<ConnectionError> {
        lock(&self.cut).take()
    }

    pub(crate) fn note_guest(&self, memory: &Arc<GuestMemory>) {
        *lock(&self.guest) = Arc::downgrade(memory);
    }

    /// The supervisor looks after the device.
    pub(crate) fn look(&self, now_ns: u64, is_calm: bool) {
        let guest = lock(&self.guest).upgrade();
        if guest.is_some_and(|memory| memory.is_lost()) {
            self.cut(ConnectionError::MemoryLost);
        }
        if !self.is_connected() {
            self.made.forget(now_ns);
        }
        if is_calm && self.made.is_counting() {
            self.made.end();
        }
        let held_up_ns = self.function.counters().held_up_ns;
        if lock(&self.quarantine).waited(now_ns, held_up_ns) {
            // Without such a worker it stays: it pays for the time.
            self.move_away();
        }
        if lock(&self.quarantine).is_over(now_ns) {
            let place = self.place.swap(AT_HOME, Ordering::AcqRel);
            self.supervised.leave(place);
            self.attention.signal();
        }
    }

    /// Its memory stalls its worker.
    pub(crate) fn stalled(&self, now_ns: u64, lasts: Duration, waits_in: String) {
        if lock(&self.quarantine).stalled(now_ns, lasts) && !self.move_away() {
            self.cut(ConnectionError::Stalls { waits_in });
        }
    }

    /// Gives it a worker for such as it; whether there is one.
    fn move_away(&self) -> bool {
        let Some(place) = self.supervised.place(&self.config.quarantine) else {
            lock(&self.quarantine).stay();
            return false;
        };
        self.place.store(place, Ordering::Release);
        self.attention.signal();
        true
    }

    pub(crate) fn open_session(&self, wanted: &Wanted) -> Result<u64, RefusedSession> {
        self.sessions
            .open(&self.function, &self.config.allowed, wanted)
    }

    pub(crate) fn close_session(&self, id: u64) -> bool {
        self.sessions.close(&self.function, id)
    }

    pub(crate) fn virtio_config(&self) -> virtio::Config {
        virtio_config(self.config.queues, &self.config.allowed)
    }
}

/// A device that listens. Dropping it ends it: what was taken is finished.
pub struct Device {
    shared: Arc<Shared>,
    stop: Arc<Event>,
    thread: Option<JoinHandle<()>>,
    /// Removed when it has ended.
    _files: Files,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.shared.config.socket.path.display())
    }
}

impl Device {
    /// Listens, for one front-end at a time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn start(
        function: CryptoFunction,
        config: DeviceConfig,
        notices: Notices,
        supervisor: &Supervisor,
    ) -> Result<Self, DeviceError> {
        Bound::new(config)?.start(function, notices, supervisor)
    }

    fn serve(
        function: CryptoFunction,
        bound: Bound,
        notices: Notices,
        supervisor: &Supervisor,
    ) -> Result<Self, DeviceError> {
        let Bound {
            config,
            listener,
            logs,
            files,
        } = bound;
        let supervised = supervisor.supervised();
        let shared = Shared::new(function, config, notices, logs, supervised);
        let shared = Arc::new(shared.map_err(DeviceError::Thread)?);
        let stop = Arc::new(Event::new().map_err(DeviceError::Thread)?);
        let own = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("lockgate-vhost".to_owned())
            .spawn(move || {
                sys::role::enter(Role::Control);
                listen_on(&listener, &own.0, &own.1);
            })
            .map_err(DeviceError::Thread)?;
        supervised.add(&shared);
        Ok(Self {
            shared,
            stop,
            thread: Some(thread),
            _files: files,
        })
    }

    pub fn function(&self) -> &CryptoFunction {
        &self.shared.function
    }

    pub fn socket(&self) -> &Path {
        &self.shared.config.socket.path
    }

    /// Ends the device: what was taken is finished, keys are zeroised. What it counted.
    pub fn end(mut self) -> DeviceCounters {
        self.stop();
        self.counters()
    }

    fn stop(&mut self) {
        self.stop.signal();
        // A front-end that sends half a message, or reads no answer, holds it up no more.
        self.shared.hang_up();
        let Some(thread) = self.thread.take() else {
            return;
        };
        let begin = Instant::now();
        while !thread.is_finished() && begin.elapsed() < ENDS_WITHIN {
            std::thread::sleep(PAUSE);
        }
        // To close a front-end's file may mean to wait for its file system. Such a thread
        // is left: it ends with this process, if not before.
        if thread.is_finished() {
            // A panic of its thread has ended the device already.
            let _ = thread.join();
        }
    }

    pub fn counters(&self) -> DeviceCounters {
        let shared = &self.shared;
        DeviceCounters {
            function: shared.function.counters(),
            sessions: shared.sessions.count(),
            is_connected: shared.is_connected.load(Ordering::Relaxed),
            connections: shared.connections.load(Ordering::Relaxed),
            refused: shared.counters.snapshot(),
            broken: shared.counters.broken(),
            broken_queues: shared.counters.broken_queues(),
            repeated_calls: shared.counters.repeated_calls(),
            stalls: lock(&shared.quarantine).count,
            is_quarantined: shared.is_quarantined(),
            memory_bytes: shared.memory.used(),
            made_bytes: shared.made.bytes(),
            panics: shared.panics.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sleeps of the thread that accepts; a stop wakes it.
const LOOK: Duration = Duration::from_secs(3600);

/// After a front-end that cannot be accepted.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a device's thread may take to end: as long as its queues may take, each to
/// finish and to be cancelled.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Panics after which the device's thread is not started again, a minute.
const PANICS_MAX: usize = 8;

/// Serves until it is told to stop. A panic ends the connection, and nothing else.
fn listen_on(listener: &UnixListener, shared: &Arc<Shared>, stop: &Event) {
    let mut panics = Vec::new();
    loop {
        let accepting = AssertUnwindSafe(|| accept(listener, shared, stop));
        if catch_unwind(accepting).is_ok() {
            break;
        }
        shared.panics.fetch_add(1, Ordering::Relaxed);
        shared.is_connected.store(false, Ordering::Relaxed);
        shared.note_stream(None);
        panics.retain(|at: &Instant| at.elapsed() < Duration::from_secs(60));
        panics.push(Instant::now());
        if panics.len() > PANICS_MAX {
            break;
        }
        // What tells of it may be what panicked.
        let telling = AssertUnwindSafe(|| (shared.notices)(Notice::Panicked));
        let _ = catch_unwind(telling);
    }
    if !readable::any(&[stop.as_fd()], Duration::ZERO).unwrap_or(false) {
        let path = shared.config.socket.path.clone();
        shared.supervised.failed(Failure::Device(path));
    }
}

fn accept(listener: &UnixListener, shared: &Arc<Shared>, stop: &Event) {
    let mut connections = Bucket::new(per_second(shared.config.limits.connections_per_s));
    loop {
        // Who connects more often waits, and so do those behind it.
        if let Err(due_ns) = connections.allowance(now_ns()) {
            let wait = Duration::from_nanos(due_ns.saturating_sub(now_ns()));
            let _ = readable::any(&[stop.as_fd()], wait.min(Duration::from_secs(1)));
        }
        let files = [listener.as_fd(), stop.as_fd()];
        let is_stopped = readable::any(&files, LOOK).is_err()
            || readable::any(&[stop.as_fd()], Duration::ZERO).unwrap_or(true);
        if is_stopped {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                connections.spend(now_ns(), 1, 0);
                serve(shared, stream, stop);
            }
            // One that has left again, or no room for another file: that stays so for a
            // while, and to look at once again would keep a CPU busy.
            Err(_) => {
                let _ = readable::any(&[stop.as_fd()], PAUSE);
            }
        }
    }
}

fn serve(shared: &Arc<Shared>, stream: UnixStream, stop: &Event) {
    shared.connections.fetch_add(1, Ordering::Relaxed);
    shared.is_connected.store(true, Ordering::Relaxed);
    // What was to be cut was another.
    shared.take_cut();
    shared.supervised.look();
    (shared.notices)(Notice::Connected);
    let connection = stream.try_clone().and_then(|own| {
        shared.note_stream(Some(own));
        Connection::new(Arc::clone(shared), stream)
    });
    let served = match connection {
        Ok(mut connection) => connection.serve(stop),
        Err(error) => Err(error.into()),
    };
    shared.note_stream(None);
    shared.is_connected.store(false, Ordering::Relaxed);
    (shared.notices)(Notice::Disconnected(served.as_ref().err()));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
