//! The parts that read what others write, without the threads around them: for the fuzz
//! targets, and for nobody else.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crypto::{Algorithm, Operation};
use engine::CryptoFunction;
use sys::event::Event;
use sys::memory::{Mapping, sealed};

use crate::chain::{Chain, Piece};
use crate::connection::{self, Connection};
use crate::control::Message;
use crate::device::{Notices, Shared};
use crate::front::{FrontConfig, FrontEnd, FrontError};
use crate::limits::HostLimits;
use crate::log::Logs;
use crate::queue::Queue;
use crate::supervisor::Supervised;
use crate::{ChainError, ConnectionError, DeviceConfig, GeometryError, GuestMemory, MemoryError};
use crate::{RefusedSession, RegionSpec, session};

pub use crate::queue::{Geometry, Wishes};

/// A device without a socket and a thread: it serves streams in its caller's.
pub struct Served {
    shared: Arc<Shared>,
    stop: Event,
}

impl Served {
    /// # Errors
    /// When there is no memory for its log.
    pub fn new(
        function: CryptoFunction,
        config: DeviceConfig,
        notices: Notices,
    ) -> Result<Self, FrontError> {
        let bytes = Logs::bytes(config.queues);
        let log = Mapping::shared(std::os::fd::AsFd::as_fd(&sealed(bytes)?), bytes)?;
        let supervised = Supervised::new(HostLimits::default())?;
        let shared = Shared::new(function, config, notices, Logs::new(log), &supervised)?;
        Ok(Self {
            shared: Arc::new(shared),
            stop: Event::new()?,
        })
    }

    /// Serves one front-end to its end.
    ///
    /// # Errors
    /// [`ConnectionError`], as a device tells it.
    pub fn serve(&self, stream: UnixStream) -> Result<(), ConnectionError> {
        Connection::new(Arc::clone(&self.shared), stream)?.serve(&self.stop)
    }

    pub fn sessions(&self) -> usize {
        self.shared.sessions.count()
    }
}

/// Says one message.
///
/// # Errors
/// [`ConnectionError`].
pub fn say(
    stream: &UnixStream,
    code: u32,
    flags: u32,
    body: Vec<u8>,
    files: Vec<OwnedFd>,
) -> Result<(), ConnectionError> {
    let mut message = Message::new(code, flags, body);
    message.files = files;
    connection::say(stream, message)
}

/// The next message's code, flags and body; `None` at the end of the stream.
///
/// # Errors
/// [`ConnectionError`].
pub fn hear(stream: &UnixStream) -> Result<Option<(u32, u32, Vec<u8>)>, ConnectionError> {
    let message = connection::hear(stream)?;
    Ok(message.map(|one| (one.code, one.flags, one.body.to_vec())))
}

/// A front-end whose back-end is at the other end of that stream.
///
/// # Errors
/// [`FrontError`].
pub fn front(stream: UnixStream, config: FrontConfig) -> Result<FrontEnd, FrontError> {
    FrontEnd::connect_by(stream, config)
}

/// Bytes that lie together: region, offset, how many.
pub type Run = (usize, usize, usize);

/// A queue and the memory that it lies in.
#[derive(Debug)]
pub struct Entries {
    memory: GuestMemory,
    queue: Queue,
    chain: Chain,
}

impl Entries {
    /// # Errors
    /// [`GeometryError`].
    pub fn new(
        memory: &GuestMemory,
        geometry: &Geometry,
        wishes: Wishes,
    ) -> Result<Self, GeometryError> {
        Ok(Self {
            memory: memory.clone(),
            queue: Queue::new(memory, geometry, wishes)?,
            chain: Chain::default(),
        })
    }

    /// Takes the next entry and follows its chain; `None` if there is none.
    pub fn take(&mut self) -> Option<(u16, Result<(), ChainError>)> {
        (self.queue.waiting() > 0)
            .then(|| self.queue.take())
            .flatten()
            .map(|head| (head, self.follow(head)))
    }

    /// Follows the chain that begins there.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn follow(&mut self, head: u16) -> Result<(), ChainError> {
        self.queue.follow(&self.memory, head, &mut self.chain)
    }

    /// What was followed last: bytes to read, and bytes to write.
    pub fn chain(&self) -> [Vec<Run>; 2] {
        let run = |piece: &Piece| (piece.place.region, piece.place.offset, piece.bytes);
        [&self.chain.readable, &self.chain.writable].map(|list| list.iter().map(run).collect())
    }

    /// The first of the bytes to read; whether there are as many.
    pub fn copy_in(&self, begin: usize, into: &mut [u8]) -> bool {
        crate::ring::copy_in(&self.memory, &self.chain.readable, begin, into)
    }

    pub fn is_broken(&self) -> bool {
        self.queue.broken.is_some()
    }

    pub fn give_back(&mut self) {
        self.queue.give_back();
    }

    /// The next entry to take, and the one up to which they are shown as used.
    pub fn indices(&self) -> (u16, u16) {
        (self.queue.next(), self.queue.published())
    }

    pub fn put_used(&mut self, head: u16, bytes: u32) {
        self.queue.put_used(head, bytes);
        self.queue.publish();
    }

    /// Whether the driver wants to be told; it counts as told.
    pub fn tell(&mut self) -> bool {
        let is_awaited = self.queue.is_awaited();
        self.queue.tell();
        is_awaited
    }

    /// Asks for a kick, or for none; whether an entry is there already.
    pub fn arm(&mut self, is_wanted: bool) -> bool {
        if is_wanted {
            return self.queue.arm(1);
        }
        self.queue.disarm();
        false
    }

    pub fn unreaped(&mut self) -> u16 {
        self.queue.unreaped()
    }
}

/// A memory of those regions, all of one file.
///
/// # Errors
/// [`MemoryError`].
pub fn memory(specs: &[RegionSpec], file: &File) -> Result<GuestMemory, MemoryError> {
    let with = |memory: GuestMemory, spec: &RegionSpec| memory.with(*spec, file);
    specs.iter().try_fold(GuestMemory::default(), with)
}

/// Where the guest's `address` lies: region, offset, and how many bytes follow there.
pub fn find(memory: &GuestMemory, address: u64) -> Option<(usize, usize, u64)> {
    let (place, left) = memory.find(address)?;
    Some((place.region, place.offset, left))
}

/// What a session message asks for.
#[derive(Debug)]
pub struct Asked {
    pub algorithms: Vec<Algorithm>,
    pub operation: Option<Operation>,
    pub key: Vec<u8>,
    pub former: Option<u64>,
    pub reply: Vec<u8>,
}

/// Reads a session message, and answers it with that number.
///
/// # Errors
/// [`RefusedSession`].
pub fn session(body: &mut [u8], answer: Option<u64>) -> Result<Asked, RefusedSession> {
    let (layout, wanted) = session::parse(body)?;
    Ok(Asked {
        reply: layout.reply(answer),
        key: wanted.key.expose().to_vec(),
        algorithms: wanted.algorithms,
        operation: wanted.operation,
        former: wanted.former,
    })
}
