//! A device: a virtual function of an engine behind a socket, for one guest at a time.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crypto::Algorithm;
use engine::{CryptoFunction, FunctionCounters, PIECE_BYTES_MIN};
use policy::Moderation;
use rustix::fs::{Gid, Mode, Uid};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sys::event::Event;
use sys::readable;
use sys::role::Role;
use wire::virtio_crypto as virtio;

use crate::backend::{QUEUES_MAX, virtio_config};
use crate::connection::{Connection, ConnectionError};
use crate::counters::{Counters, Refusal};
use crate::log::Logs;
use crate::queue::Broken;
use crate::ring::Bell;
use crate::session::{RefusedSession, Sessions, Wanted};

/// What a device tells who runs it. Nothing in it is secret.
#[derive(Debug)]
pub enum Notice<'a> {
    Connected,
    /// With what ended it, if that was not the front-end.
    Disconnected(Option<&'a ConnectionError>),
    SessionRefused(&'a RefusedSession),
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

#[derive(Clone, Debug)]
pub struct SocketConfig {
    pub path: PathBuf,
    pub mode: u32,
    pub owner: Option<u32>,
    pub group: Option<u32>,
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
    /// What broke a queue last.
    pub broken: Option<Broken>,
}

pub(crate) struct Shared {
    pub(crate) config: DeviceConfig,
    pub(crate) function: CryptoFunction,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) notices: Notices,
    pub(crate) logs: Logs,
    /// One for each queue.
    pub(crate) bells: Vec<Arc<Bell>>,
    connections: AtomicU64,
    is_connected: AtomicBool,
    /// The connection, to be cut when the device ends.
    stream: Mutex<Option<UnixStream>>,
}

impl Shared {
    pub(crate) fn new(
        function: CryptoFunction,
        config: DeviceConfig,
        notices: Notices,
        logs: Logs,
    ) -> Self {
        Self {
            bells: (0..config.queues).map(|_| Arc::default()).collect(),
            function,
            config,
            sessions: Arc::default(),
            counters: Arc::default(),
            notices,
            logs,
            connections: AtomicU64::new(0),
            is_connected: AtomicBool::new(false),
            stream: Mutex::default(),
        }
    }

    /// Frees whom a front-end blocked by its notifiers; whether one did, now or before.
    pub(crate) fn free(&self) -> bool {
        // Each of them is to be freed.
        let blocked = self.bells.iter().filter(|bell| bell.free());
        blocked.count() > 0
    }

    /// Whatever the device's thread reads or writes ends.
    fn hang_up(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &*stream {
            // One that is cut already is.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn note_stream(&self, stream: Option<UnixStream>) {
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = stream;
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

/// A device's files, before it has a function: what a program opens with rights that it
/// gives up then. Front-ends that connect wait.
#[derive(Debug)]
pub struct Bound {
    config: DeviceConfig,
    listener: UnixListener,
    logs: Logs,
    files: Files,
}

/// A socket and the log beside it, removed on drop.
#[derive(Debug)]
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        for path in [&self.0, &log_path(&self.0)] {
            // One that somebody else removed is gone.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Bound {
    /// # Errors
    /// [`DeviceError`].
    pub fn new(config: DeviceConfig) -> Result<Self, DeviceError> {
        let queues = config.queues;
        if !(1..=QUEUES_MAX).contains(&queues) {
            return Err(DeviceError::Queues { queues });
        }
        if config.workers.is_empty() {
            return Err(DeviceError::Workers);
        }
        if let Some(bytes) = config.piece_bytes
            && (bytes == 0 || !bytes.is_multiple_of(PIECE_BYTES_MIN))
        {
            return Err(DeviceError::Piece { bytes });
        }
        let listener = listen(&config.socket)?;
        let files = Files(config.socket.path.clone());
        let logs = log_path(&config.socket.path);
        let logs = Logs::open(&logs, queues).map_err(|source| DeviceError::Log {
            path: logs.clone(),
            source,
        })?;
        Ok(Self {
            config,
            listener,
            logs,
            files,
        })
    }

    /// Serves front-ends, one at a time.
    ///
    /// # Errors
    /// [`DeviceError::Thread`].
    pub fn start(self, function: CryptoFunction, notices: Notices) -> Result<Device, DeviceError> {
        Device::serve(function, self, notices)
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
    ) -> Result<Self, DeviceError> {
        Bound::new(config)?.start(function, notices)
    }

    fn serve(
        function: CryptoFunction,
        bound: Bound,
        notices: Notices,
    ) -> Result<Self, DeviceError> {
        let Bound {
            config,
            listener,
            logs,
            files,
        } = bound;
        let shared = Arc::new(Shared::new(function, config, notices, logs));
        let stop = Arc::new(Event::new().map_err(DeviceError::Thread)?);
        let own = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new()
            .name("lockgate-vhost".to_owned())
            .spawn(move || {
                sys::role::enter(Role::Control);
                accept(&listener, &own.0, &own.1);
            })
            .map_err(DeviceError::Thread)?;
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
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() {
                std::thread::sleep(PAUSE);
                self.shared.free();
            }
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
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where a device writes down how far entries were begun, for the one that comes after it.
#[must_use]
pub fn log_path(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".log");
    path.into()
}

/// Sleeps of the thread that accepts; a stop wakes it.
const LOOK: Duration = Duration::from_secs(3600);

/// After a front-end that cannot be accepted.
const PAUSE: Duration = Duration::from_millis(10);

fn accept(listener: &UnixListener, shared: &Arc<Shared>, stop: &Event) {
    loop {
        let files = [listener.as_fd(), stop.as_fd()];
        let is_stopped = readable::any(&files, LOOK).is_err()
            || readable::any(&[stop.as_fd()], Duration::ZERO).unwrap_or(true);
        if is_stopped {
            return;
        }
        match listener.accept() {
            Ok((stream, _)) => serve(shared, stream, stop),
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

/// A socket that only its owner can reach, from its first moment on.
fn listen(config: &SocketConfig) -> Result<UnixListener, DeviceError> {
    let path = &config.path;
    clear(path)?;
    let bound = || -> io::Result<UnixListener> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
        let socket = rustix::net::socket_with(unix, stream, flags, None)?;
        // Before it has a name, so that it never has another mode.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(config.mode))?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        let (owner, group) = (
            config.owner.map(Uid::from_raw),
            config.group.map(Gid::from_raw),
        );
        if owner.is_some() || group.is_some() {
            rustix::fs::chown(path, owner, group)?;
        }
        // Of what the process masks, the owner asked for.
        rustix::fs::chmod(path, Mode::from_raw_mode(config.mode))?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(UnixListener::from(socket))
    };
    bound().map_err(|source| DeviceError::Socket {
        path: path.clone(),
        source,
    })
}

/// Front-ends that wait for one before them to leave.
const BACKLOG: i32 = 16;

/// Removes what a device that is gone has left.
fn clear(path: &Path) -> Result<(), DeviceError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(status) = path.symlink_metadata() else {
        return Ok(());
    };
    if !status.file_type().is_socket() {
        return Err(DeviceError::NoSocket(path.to_owned()));
    }
    if UnixStream::connect(path).is_ok() {
        return Err(DeviceError::InUse(path.to_owned()));
    }
    std::fs::remove_file(path).map_err(|source| DeviceError::Socket {
        path: path.to_owned(),
        source,
    })
}
