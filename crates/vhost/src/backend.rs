//! What a front-end sets up: memory, queues, features. One for each connection.
//!
//! A queue runs from the moment when all of it is known. QEMU does not enable the queues
//! of a crypto device, so one that was not disabled is enabled.

mod messages;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{CryptoRequest, EvictError, LaneConfig, LaneError, Order, Tenancy};
use sys::memory::{Mapping, ShareError};
use vhost_user::vhost_user::Error;
use vhost_user::vhost_user::message::VhostUserInflight;
use wire::virtio_crypto as virtio;

use crate::device::Shared;
use crate::limits::Held;
use crate::log::Logs;
use crate::memory::{GuestMemory, MemoryError};
use crate::notifiers::{Notifier, Notifiers};
use crate::queue::{Geometry, GeometryError, Queue, Wishes};
use crate::ring::{Parts, Ring, SMALL_BYTES};

/// Most queues of a device.
pub const QUEUES_MAX: usize = 8;

const EVENT_INDEX: u64 = 1 << 29;
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;

/// How long a queue that stops may take to finish what was taken, and to be cancelled.
const DRAIN: Duration = Duration::from_secs(1);

/// How long a queue that may not be started yet is tried again.
const STARTS_WITHIN: Duration = Duration::from_secs(2);

/// Why a front-end's wish is not met; the connection ends.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("queue {index} does not exist: this device has {queues}")]
    Queue { index: u32, queues: usize },
    #[error("the guest's memory is refused")]
    Memory(#[from] MemoryError),
    #[error("a queue is refused")]
    Geometry(#[from] GeometryError),
    #[error(
        "features {wrong:#x} are not offered, or the device is to be used without VIRTIO_F_VERSION_1"
    )]
    Features { wrong: u64 },
    #[error("queue {index} has no kick: this device does not poll without one")]
    NoKick { index: u32 },
    #[error(
        "the file given as a queue's notifier is neither an eventfd nor a pipe; as a kick it must be an eventfd"
    )]
    NoEvent,
    #[error(
        "{limit} threads wait for notifiers of this front-end to take what they are told; read them, or take eventfds where io_uring is allowed"
    )]
    Notifiers { limit: usize },
    #[error("the log of requests in flight is refused")]
    Log(#[from] ShareError),
    #[error("the log of requests in flight has {bytes} bytes: {needed} are needed")]
    LogBytes { bytes: u64, needed: usize },
    #[error("this device does not migrate: its state is with its worker")]
    Migration,
    #[error("{0} is not offered")]
    NotOffered(&'static str),
    #[error("a queue's lane cannot be made")]
    Lane(#[from] LaneError),
    #[error("a queue does not end")]
    Evict(#[from] EvictError),
    #[error("a descriptor cannot be set up")]
    Io(#[from] io::Error),
}

struct Line {
    size: u16,
    /// Descriptors, used, available.
    addresses: Option<(u64, u64, u64)>,
    kick: Option<OwnedFd>,
    notifiers: Arc<Notifiers>,
    is_disabled: bool,
    running: Option<Tenancy<CryptoRequest, Ring>>,
    /// Where it runs.
    worker: usize,
    /// Since when it may not be started yet.
    due: Option<Instant>,
}

impl Line {
    fn new(notifiers: &Arc<Notifiers>) -> Self {
        Self {
            size: 0,
            addresses: None,
            kick: None,
            notifiers: Arc::clone(notifiers),
            is_disabled: false,
            running: None,
            worker: 0,
            due: None,
        }
    }
}

pub(crate) struct BackEnd {
    shared: Arc<Shared>,
    memory: Arc<GuestMemory>,
    /// What is mapped counts against the limits.
    held: Held,
    features: u64,
    lines: Vec<Line>,
    /// What the front-end keeps; else the device's own file.
    logs: Option<Logs>,
    /// Why the last request failed.
    pub(crate) problem: Option<SetupError>,
}

impl BackEnd {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            lines: shared.notifiers.iter().map(Line::new).collect(),
            held: Held::new(
                Arc::clone(&shared.memory),
                Arc::clone(&shared.supervised.memory),
            ),
            shared,
            memory: Arc::default(),
            features: 0,
            logs: None,
            problem: None,
        }
    }

    /// Keeps the cause, and says to the library that there is one.
    fn note<T>(&mut self, result: Result<T, SetupError>) -> vhost_user::vhost_user::Result<T> {
        result.map_err(|error| {
            self.problem = Some(error);
            Error::BackendInternalError
        })
    }

    fn line(&mut self, index: u32) -> Result<&mut Line, SetupError> {
        let queues = self.lines.len();
        let line = usize::try_from(index)
            .ok()
            .and_then(|at| self.lines.get_mut(at));
        line.ok_or(SetupError::Queue { index, queues })
    }

    fn wishes(&self) -> Wishes {
        if self.features & VERSION_1 == 0 {
            // QEMU: it does not say.
            Wishes::Unknown
        } else if self.features & EVENT_INDEX != 0 {
            Wishes::EventIndex
        } else {
            Wishes::Flag
        }
    }

    /// A front-end that changes its memory more often than queues may be started waits
    /// for that: see [`go_on`](Self::go_on).
    fn start_if_ready(&mut self, index: usize) -> Result<(), SetupError> {
        let started = self.try_start(index);
        let due = &mut self.lines[index].due;
        match started {
            Err(SetupError::Lane(LaneError::TooOften { .. }))
                if due.is_none_or(|due| due.elapsed() < STARTS_WITHIN) =>
            {
                due.get_or_insert_with(Instant::now);
                Ok(())
            }
            other => {
                *due = None;
                other
            }
        }
    }

    /// Tries again what may not be started yet; whether something still may not.
    pub(crate) fn go_on(&mut self) -> Result<bool, SetupError> {
        for index in 0..self.lines.len() {
            if self.lines[index].due.is_some() {
                self.start_if_ready(index)?;
            }
        }
        Ok(self.lines.iter().any(|line| line.due.is_some()))
    }

    /// Moves queues to where the device's place is now; the worker that they have come to,
    /// if they have moved.
    pub(crate) fn settle(&mut self) -> Result<Option<usize>, SetupError> {
        let mut moved = None;
        for index in 0..self.lines.len() {
            let (line, place) = (&self.lines[index], self.shared.worker_of(index));
            if line.running.is_some() && line.worker != place {
                self.stop(index)?;
                self.start_if_ready(index)?;
                moved = Some(place);
            }
        }
        Ok(moved)
    }

    fn try_start(&mut self, index: usize) -> Result<(), SetupError> {
        let wishes = self.wishes();
        let line = &mut self.lines[index];
        let (Some((descriptors, used, available)), Some(kick)) = (line.addresses, &line.kick)
        else {
            return Ok(());
        };
        if line.is_disabled || line.running.is_some() || self.memory.regions.is_empty() {
            return Ok(());
        }
        let geometry = Geometry {
            size: line.size,
            descriptors,
            available,
            used,
        };
        let mut queue = Queue::new(&self.memory, &geometry, wishes)?;
        let log = self.logs.as_ref().unwrap_or(&self.shared.logs).of(index);
        let identity = Queue::identity(&self.memory, &geometry);
        let begun = log.begun(identity);
        let doubtful_until = begun
            .filter(|begun| begun.wrapping_sub(queue.next()) <= queue.waiting())
            .filter(|begun| *begun != queue.next());
        log.begin(identity, doubtful_until.unwrap_or(queue.next()));
        let parts = Parts {
            memory: Arc::clone(&self.memory),
            queue,
            kick: kick.try_clone()?,
            notifiers: Arc::clone(&line.notifiers),
            sessions: Arc::clone(&self.shared.sessions),
            counters: Arc::clone(&self.shared.counters),
            doubtful_until,
            log,
        };
        let config = &self.shared.config;
        let depth = config.depth.min(usize::from(line.size)).max(1);
        let lane = LaneConfig {
            depth,
            moderation: config.moderation,
            // Pieces of several requests go through wide kernels together; the ring
            // puts their ends in order.
            order: Order::Any,
            piece_bytes: config.piece_bytes,
            ..LaneConfig::default()
        };
        let slab = depth.next_power_of_two() * 2 * SMALL_BYTES;
        let worker = self.shared.worker_of(index);
        let segments = config.segments_max;
        let ring = |lane| Ring::new(lane, parts);
        let function = &self.shared.function;
        line.running = Some(function.settle(worker, lane, slab, segments, ring)?);
        line.worker = worker;
        Ok(())
    }

    fn start_all(&mut self) -> Result<(), SetupError> {
        (0..self.lines.len()).try_for_each(|index| self.start_if_ready(index))
    }

    fn notifier(&self, file: Option<File>) -> Result<Option<Notifier>, SetupError> {
        let threads = &self.shared.threads;
        file.map(|file| Notifier::new(file.into(), threads))
            .transpose()
    }

    /// Ends a queue: what was taken is finished, or failed if that takes too long. Where
    /// it would go on.
    fn stop(&mut self, index: usize) -> Result<Option<u16>, SetupError> {
        let Some(mut running) = self.lines[index].running.take() else {
            return Ok(None);
        };
        let ring = match running.evict(false, DRAIN) {
            Err(EvictError::TimedOut(_)) => running.evict(true, DRAIN),
            other => other,
        };
        let mut ring = ring?;
        // It left nothing half done.
        ring.end_log();
        Ok(Some(ring.base()))
    }

    fn stop_all(&mut self) -> Result<(), SetupError> {
        (0..self.lines.len()).try_for_each(|index| self.stop(index).map(|_| ()))
    }

    /// The memory becomes what `make` makes of it, of `bytes`.
    fn change_memory(
        &mut self,
        bytes: u64,
        make: impl FnOnce(&GuestMemory) -> Result<GuestMemory, MemoryError>,
    ) -> Result<(), SetupError> {
        // What was taken is finished with the memory that it was taken from.
        self.stop_all()?;
        let held = self.held.set(bytes);
        held.map_err(|exhausted| MemoryError::Limit {
            bytes,
            limit: exhausted.limit,
        })?;
        self.memory = Arc::new(GuestMemory {
            made: Some(Arc::clone(&self.shared.made)),
            ..make(&self.memory)?
        });
        // Its addresses may have been another's.
        self.shared.made.there().forget();
        self.shared.note_guest(&self.memory);
        self.start_all()
    }

    /// A line that is changed: stopped, and started again if it can be.
    fn change(&mut self, index: u32, change: impl FnOnce(&mut Line)) -> Result<(), SetupError> {
        change(self.line(index)?);
        let index = index as usize;
        self.stop(index)?;
        self.start_if_ready(index)
    }

    fn keep_log(&mut self, inflight: &VhostUserInflight, file: &File) -> Result<(), SetupError> {
        let bytes = inflight.mmap_size;
        let needed = Logs::bytes(self.lines.len());
        if bytes < needed as u64 {
            return Err(SetupError::LogBytes { bytes, needed });
        }
        let mapping = Mapping::shared_at(file.as_fd(), inflight.mmap_offset, needed)?;
        self.logs = Some(Logs::new(mapping));
        Ok(())
    }
}

/// The front-end is gone, perhaps to come again: what was taken is finished; keys are
/// zeroised.
impl Drop for BackEnd {
    fn drop(&mut self) {
        for index in 0..self.lines.len() {
            // One that does not come back ends with what it holds, later.
            let _ = self.stop(index);
        }
        for line in &self.lines {
            line.notifiers.set_call(None);
            line.notifiers.set_error(None);
            line.notifiers.mend();
        }
        self.shared.sessions.clear(&self.shared.function);
    }
}

/// The configuration that a front-end may ask for.
pub(crate) fn virtio_config(queues: usize, allowed: &[crypto::Algorithm]) -> virtio::Config {
    use crypto::Algorithm as A;
    let has = |algorithms: &[A]| algorithms.iter().any(|one| allowed.contains(one));
    let bit = |is_there: bool, number: u32| u32::from(is_there) << number;
    let ciphers = bit(
        has(&[A::Aes128Cbc, A::Aes192Cbc, A::Aes256Cbc]),
        virtio::CIPHER_AES_CBC,
    );
    let hashes = bit(has(&[A::Sha1]), virtio::HASH_SHA1)
        | bit(has(&[A::Sha256]), virtio::HASH_SHA256)
        | bit(has(&[A::Sha384]), virtio::HASH_SHA384)
        | bit(has(&[A::Sha512]), virtio::HASH_SHA512);
    let macs = bit(has(&[A::HmacSha256]), virtio::MAC_HMAC_SHA256);
    let is_rsa = allowed.iter().any(|one| matches!(one, A::Rsa(..)));
    let akciphers = bit(is_rsa, virtio::AKCIPHER_RSA);
    virtio::Config {
        is_ready: true,
        queues: u32::try_from(queues).expect("at most QUEUES_MAX"),
        services: bit(ciphers > 0, virtio::SERVICE_CIPHER)
            | bit(hashes > 0, virtio::SERVICE_HASH)
            | bit(macs > 0, virtio::SERVICE_MAC)
            | bit(is_rsa, virtio::SERVICE_AKCIPHER),
        ciphers,
        hashes,
        macs,
        akciphers,
        cipher_key_bytes_max: 32,
        auth_key_bytes_max: 512,
        bytes_max: REQUEST_BYTES_MAX as u64,
    }
}

/// Largest content of a request.
pub const REQUEST_BYTES_MAX: usize = 1 << 20;
