//! A front-end that plays a guest: it drives, loads and tests a crypto back-end without a
//! virtual machine.
//!
//! [`FrontEnd`] is QEMU's part: messages, memory, sessions. [`Driver`] is the guest's: a
//! split queue, requests and interrupts.

mod attack;
mod checked;
mod driver;
mod hostile;
mod load;

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sys::event::Event;
use sys::memory::{Mapping, ShareError, sealed, unsealed};
use wire::virtio_crypto::{CONFIG_BYTES, Config};
use zeroize::Zeroizing;

pub use attack::{Attack, Turns};
pub use checked::{CheckedLoad, expected, pattern};
pub use driver::{Done, Driver, DriverError, Interrupts, Request};
pub use hostile::{Hostile, Hostility};
pub use load::{Load, LoadConfig, LoadCounts, LoadError, takes};

use crate::connection::{CLOSE_SESSION, CREATE_SESSION, ConnectionError, hear, say};
use crate::control::{Message, REPLY};
use crate::session::{LAYOUT_7, LAYOUT_8, Layout};

const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_VRING_BASE: u32 = 11;
const SET_VRING_KICK: u32 = 12;
const SET_VRING_CALL: u32 = 13;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;
const GET_CONFIG: u32 = 24;
const GET_INFLIGHT_FD: u32 = 31;
const SET_INFLIGHT_FD: u32 = 32;

const PROTOCOL_FEATURES: u64 = 1 << 30;
const VIRTIO_FEATURES: u64 = 1 << 28 | 1 << 29 | 1 << 32;

const PROTOCOL_MQ: u64 = 1;
const PROTOCOL_CRYPTO: u64 = 1 << 7;
const PROTOCOL_CONFIG: u64 = 1 << 9;
const PROTOCOL_INFLIGHT: u64 = 1 << 12;

/// Where the guest's memory begins, and the gap between two regions of it, so that an
/// address is never an offset by chance, nor an address of one region nearly one of
/// another.
const GUEST_BEGIN: u64 = 1 << 20;
const GUEST_GAP: u64 = 0x0134_5678_9a00_0000;
/// What the front-end says its own addresses are.
const USER_BEGIN: u64 = 0x7000_0000_0000;

/// Longest wait for a reply.
const REPLY_WITHIN: Duration = Duration::from_secs(20);

/// As whom the front-end speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// QEMU up to 7.2, and from 8.0 on: no feature of the driver's is told, and no queue
    /// enabled.
    Qemu7,
    Qemu8,
    /// All that the specification asks for.
    Strict,
}

#[derive(Clone, Copy, Debug)]
pub struct FrontConfig {
    pub manner: Manner,
    pub queues: usize,
    pub queue_size: u16,
    /// Bytes for the caller's data, beside what the queues take.
    pub data_bytes: usize,
    /// Into how many regions the memory is cut.
    pub regions: usize,
    pub interrupts: Interrupts,
    /// Whether it keeps the back-end's log of requests in flight.
    pub keeps_log: bool,
    /// Whether its memory cannot be shortened. QEMU's can, unless it is told otherwise;
    /// that of cloud-hypervisor and of user-mode Linux, too.
    pub is_sealed: bool,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self {
            manner: Manner::Qemu8,
            queues: 1,
            queue_size: 256,
            data_bytes: 1 << 20,
            regions: 1,
            interrupts: Interrupts::EventIndex,
            keeps_log: false,
            is_sealed: true,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error("cannot reach the back-end")]
    Connect(#[source] io::Error),
    #[error("the back-end hung up")]
    HungUp,
    #[error("the back-end answered message {asked} by message {got} of {bytes} bytes")]
    Reply { asked: u32, got: u32, bytes: usize },
    #[error("the back-end does not answer message {code} within {REPLY_WITHIN:?}")]
    Silent { code: u32 },
    #[error("the back-end offers no crypto sessions: it is no crypto device")]
    NoCrypto,
    #[error("the back-end refuses the session")]
    Session,
    #[error("the connection fails")]
    Connection(#[from] ConnectionError),
    #[error("no memory to share")]
    Memory(#[from] io::Error),
    #[error("the memory cannot be mapped")]
    Share(#[from] ShareError),
}

/// A session to ask for, as numbers of virtio.
#[derive(Debug)]
pub enum SessionSpec<'k> {
    Cipher {
        encrypts: bool,
        key: &'k [u8],
    },
    Hash {
        algorithm: u32,
    },
    Mac {
        algorithm: u32,
        key: &'k [u8],
    },
    /// A public key in DER as PKCS#1 has it.
    Rsa {
        key: &'k [u8],
    },
}

/// The guest's memory, shared with the back-end.
#[derive(Debug)]
pub struct SharedMemory {
    pub(crate) mapping: Mapping,
    file: OwnedFd,
    region_bytes: usize,
    regions: usize,
}

impl SharedMemory {
    fn new(bytes: usize, regions: usize, is_sealed: bool) -> Result<Self, FrontError> {
        const HUGE: usize = 1 << 16;
        let region_bytes = bytes.div_ceil(regions).next_multiple_of(HUGE);
        let bytes = region_bytes * regions;
        let file = if is_sealed {
            sealed(bytes)?
        } else {
            unsealed(bytes)?
        };
        let mapping = Mapping::shared(file.as_fd(), bytes)?;
        Ok(Self {
            mapping,
            file,
            region_bytes,
            regions,
        })
    }

    /// The address of its mapping in this process.
    ///
    /// # Panics
    /// Never: every mapping has a beginning.
    pub fn address(&self) -> usize {
        let address = self.mapping.address(0, 0);
        address.expect("every mapping has a beginning").addr()
    }

    /// What front-ends share it by: for those that take it away again.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// As the guest addresses it.
    pub fn guest(&self, offset: usize) -> u64 {
        let region = offset / self.region_bytes;
        GUEST_BEGIN + offset as u64 + region as u64 * GUEST_GAP
    }

    /// Bytes from there to the end of its region.
    pub(crate) fn left(&self, offset: usize) -> usize {
        self.region_bytes - offset % self.region_bytes
    }

    fn user(offset: usize) -> u64 {
        USER_BEGIN + offset as u64
    }

    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let read = self.mapping.read(offset, into);
        read.expect("the caller knows how large the memory is");
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let written = self.mapping.write(offset, bytes);
        written.expect("the caller knows how large the memory is");
    }
}

/// QEMU's part.
#[derive(Debug)]
pub struct FrontEnd {
    stream: UnixStream,
    config: FrontConfig,
    memory: Arc<SharedMemory>,
    data_at: usize,
    log: Option<(Vec<u8>, OwnedFd)>,
    has_config: bool,
}

impl FrontEnd {
    /// Connects and hands over the memory. Queues are started by
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn connect(socket: &Path, config: FrontConfig) -> Result<Self, FrontError> {
        Self::connect_by(reach(socket)?, config)
    }

    /// The same, to a back-end that is at the other end of that stream.
    pub(crate) fn connect_by(stream: UnixStream, config: FrontConfig) -> Result<Self, FrontError> {
        let queue_bytes = driver::bytes(config.queue_size);
        let data_at = queue_bytes * config.queues;
        let bytes = data_at + config.data_bytes;
        let memory = SharedMemory::new(bytes, config.regions, config.is_sealed)?;
        Self::connect_with(stream, config, Arc::new(memory), None)
    }

    fn connect_with(
        stream: UnixStream,
        config: FrontConfig,
        memory: Arc<SharedMemory>,
        log: Option<(Vec<u8>, OwnedFd)>,
    ) -> Result<Self, FrontError> {
        let mut front = Self {
            stream,
            data_at: driver::bytes(config.queue_size) * config.queues,
            config,
            memory,
            log,
            has_config: false,
        };
        front.negotiate()?;
        front.hand_memory_over()?;
        if config.keeps_log {
            front.exchange_log()?;
        }
        Ok(front)
    }

    /// Connects anew, to a back-end that may be another process, with the same memory,
    /// queues as they stand, and the log of the one before. Sessions are gone with
    /// that one.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn reconnect(self, socket: &Path) -> Result<Self, FrontError> {
        let Self {
            stream,
            config,
            memory,
            log,
            ..
        } = self;
        // A device serves one at a time.
        drop(stream);
        Self::connect_with(reach(socket)?, config, memory, log)
    }

    fn negotiate(&mut self) -> Result<(), FrontError> {
        let features = self.ask_number(GET_FEATURES)?;
        self.tell(SET_OWNER, &[])?;
        let protocol = self.ask_number(GET_PROTOCOL_FEATURES)?;
        if protocol & PROTOCOL_CRYPTO == 0 {
            return Err(FrontError::NoCrypto);
        }
        self.has_config = protocol & PROTOCOL_CONFIG != 0;
        let wanted = PROTOCOL_MQ | PROTOCOL_CRYPTO | PROTOCOL_CONFIG | PROTOCOL_INFLIGHT;
        self.tell(SET_PROTOCOL_FEATURES, &(protocol & wanted).to_le_bytes())?;
        let acked = match self.config.manner {
            Manner::Strict => features & (VIRTIO_FEATURES | PROTOCOL_FEATURES),
            _ => PROTOCOL_FEATURES,
        };
        let mut acked = acked;
        if self.config.interrupts != Interrupts::EventIndex {
            acked &= !(1 << 29);
        }
        self.tell(SET_FEATURES, &acked.to_le_bytes())
    }

    /// The memory again, cut otherwise: what was in flight is in flight.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn hand_memory_over(&mut self) -> Result<(), FrontError> {
        let memory = &self.memory;
        let mut body = Vec::new();
        body.extend((memory.regions as u32).to_le_bytes());
        body.extend([0; size_of::<u32>()]);
        let mut files = Vec::new();
        for region in 0..memory.regions {
            let offset = region * memory.region_bytes;
            let fields = [
                memory.guest(offset),
                memory.region_bytes as u64,
                SharedMemory::user(offset),
                offset as u64,
            ];
            body.extend(fields.map(u64::to_le_bytes).as_flattened());
            files.push(memory.file.try_clone()?);
        }
        self.send(SET_MEM_TABLE, body, files)
    }

    fn exchange_log(&mut self) -> Result<(), FrontError> {
        let queues = self.config.queues as u16;
        if let Some((body, file)) = &self.log {
            let (body, file) = (body.clone(), file.try_clone()?);
            return self.send(SET_INFLIGHT_FD, body, vec![file]);
        }
        let mut body = vec![0; 16];
        body.extend(queues.to_le_bytes());
        body.extend(self.config.queue_size.to_le_bytes());
        body.extend([0; 4]);
        let mut reply = self.ask(GET_INFLIGHT_FD, body)?;
        let file = reply.files.pop().ok_or(FrontError::Reply {
            asked: GET_INFLIGHT_FD,
            got: reply.code,
            bytes: reply.body.len(),
        })?;
        let body = reply.body.to_vec();
        self.log = Some((body.clone(), file.try_clone()?));
        self.send(SET_INFLIGHT_FD, body, vec![file])
    }

    /// What the device itself says that it offers; `None` where it cannot be asked.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn device_config(&mut self) -> Result<Option<Config>, FrontError> {
        if !self.has_config {
            return Ok(None);
        }
        let mut body = Vec::new();
        body.extend(
            [0, CONFIG_BYTES as u32, 0]
                .map(u32::to_le_bytes)
                .as_flattened(),
        );
        body.extend([0; CONFIG_BYTES]);
        let reply = self.ask(GET_CONFIG, body)?;
        let config = reply.body.get(12..).and_then(<[u8]>::first_chunk);
        let wrong = FrontError::Reply {
            asked: GET_CONFIG,
            got: reply.code,
            bytes: reply.body.len(),
        };
        config.map(Config::parse).map(Some).ok_or(wrong)
    }

    /// # Errors
    /// [`FrontError::Session`] if the back-end refuses it.
    pub fn open_session(&mut self, spec: &SessionSpec<'_>) -> Result<u64, FrontError> {
        self.open_session_again(spec, 0)
    }

    /// The same, for a session that a device before this one had: by its number then, if
    /// this device goes along with that, so that requests in flight find it.
    ///
    /// # Errors
    /// As there.
    pub fn open_session_again(
        &mut self,
        spec: &SessionSpec<'_>,
        former: u64,
    ) -> Result<u64, FrontError> {
        let layout = match self.config.manner {
            Manner::Qemu7 => LAYOUT_7,
            _ => LAYOUT_8,
        };
        let body = layout.request(spec, former).to_vec();
        let reply = self.ask(CREATE_SESSION, body)?;
        layout.session_of(&reply.body).ok_or(FrontError::Session)
    }

    /// # Errors
    /// [`FrontError`].
    pub fn close_session(&mut self, id: u64) -> Result<(), FrontError> {
        self.tell(CLOSE_SESSION, &id.to_le_bytes())
    }

    /// Starts queue `index` with nothing in it.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn start(&mut self, index: usize) -> Result<Driver, FrontError> {
        let at = driver::bytes(self.config.queue_size) * index;
        let (size, interrupts) = (self.config.queue_size, self.config.interrupts);
        let driver = Driver::new(Arc::clone(&self.memory), at, size, interrupts)?;
        self.resume(index, &driver)?;
        Ok(driver)
    }

    /// Starts queue `index` as it stands.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn resume(&mut self, index: usize, driver: &Driver) -> Result<(), FrontError> {
        let state = |value: u32| [index as u32, value].map(u32::to_le_bytes);
        let size = state(self.config.queue_size.into());
        self.tell(SET_VRING_NUM, size.as_flattened())?;
        self.tell(
            SET_VRING_BASE,
            state(driver.used_index().into()).as_flattened(),
        )?;
        let (descriptors, available, used) = driver.parts();
        let fields = [descriptors, used, available].map(SharedMemory::user);
        let mut body = Vec::new();
        body.extend(state(0).as_flattened());
        body.extend(fields.map(u64::to_le_bytes).as_flattened());
        body.extend(0_u64.to_le_bytes());
        self.tell(SET_VRING_ADDR, &body)?;
        self.hand_event(SET_VRING_CALL, index, driver.interrupt())?;
        self.hand_event(SET_VRING_KICK, index, driver.kick_event())?;
        if self.config.manner == Manner::Strict {
            self.tell(SET_VRING_ENABLE, state(1).as_flattened())?;
        }
        Ok(())
    }

    fn hand_event(&self, code: u32, index: usize, event: &Event) -> Result<(), FrontError> {
        let file = event.as_fd().try_clone_to_owned()?;
        self.send(code, (index as u64).to_le_bytes().to_vec(), vec![file])
    }

    /// Stops queue `index`; where it would go on.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn stop(&mut self, index: usize) -> Result<u16, FrontError> {
        let body = [index as u32, 0]
            .map(u32::to_le_bytes)
            .as_flattened()
            .to_vec();
        let reply = self.ask(GET_VRING_BASE, body)?;
        let base = reply.body.get(4..).and_then(<[u8]>::first_chunk);
        let wrong = FrontError::Reply {
            asked: GET_VRING_BASE,
            got: reply.code,
            bytes: reply.body.len(),
        };
        base.map(|base| u16::from_le_bytes(*base)).ok_or(wrong)
    }

    pub fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    /// What messages go through: for those that do not say them as they should.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Where the caller's own bytes begin in the memory.
    pub fn data_at(&self) -> usize {
        self.data_at
    }

    /// Sends any message, for tests of what a back-end refuses.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn send(&self, code: u32, body: Vec<u8>, files: Vec<OwnedFd>) -> Result<(), FrontError> {
        let mut message = Message::new(code, 0, body);
        message.files = files;
        say(&self.stream, message).map_err(hung_up)
    }

    fn tell(&self, code: u32, body: &[u8]) -> Result<(), FrontError> {
        self.send(code, body.to_vec(), Vec::new())
    }

    fn ask(&self, code: u32, body: Vec<u8>) -> Result<Message, FrontError> {
        self.send(code, body, Vec::new())?;
        if !sys::readable::any(&[self.stream.as_fd()], REPLY_WITHIN)? {
            return Err(FrontError::Silent { code });
        }
        let reply = hear(&self.stream).map_err(hung_up)?;
        let reply = reply.ok_or(FrontError::HungUp)?;
        if reply.code != code || reply.flags & REPLY == 0 {
            let (got, bytes) = (reply.code, reply.body.len());
            return Err(FrontError::Reply {
                asked: code,
                got,
                bytes,
            });
        }
        Ok(reply)
    }

    fn ask_number(&self, code: u32) -> Result<u64, FrontError> {
        let reply = self.ask(code, Vec::new())?;
        let number = reply
            .body
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes));
        number.ok_or(FrontError::Reply {
            asked: code,
            got: reply.code,
            bytes: reply.body.len(),
        })
    }

    /// Whether the back-end has hung up.
    pub fn is_hung_up(&self, within: Duration) -> bool {
        let is_readable = sys::readable::any(&[self.stream.as_fd()], within);
        is_readable.unwrap_or(true) && !matches!(hear(&self.stream), Ok(Some(_)))
    }
}

fn reach(socket: &Path) -> Result<UnixStream, FrontError> {
    UnixStream::connect(socket).map_err(FrontError::Connect)
}

fn hung_up(error: ConnectionError) -> FrontError {
    match error {
        ConnectionError::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            ) =>
        {
            FrontError::HungUp
        }
        other => FrontError::Connection(other),
    }
}

impl Layout {
    /// A message that asks for a session, as QEMU lays it out.
    fn request(&self, spec: &SessionSpec<'_>, former: u64) -> Zeroizing<Vec<u8>> {
        let none: &[u8] = &[];
        // Opcode, fields of the information, bytes of it, keys.
        let (opcode, fields, flags, key, auth_key) = match spec {
            SessionSpec::Cipher { encrypts, key } => {
                let direction = if *encrypts { 1 } else { 2 };
                let fields = vec![3, key.len() as u32];
                (0x002, fields, [1, direction, 0, 0], *key, none)
            }
            SessionSpec::Hash { algorithm } => {
                (0x102, vec![0, 0, *algorithm], [0, 0, 1, 0], none, none)
            }
            SessionSpec::Mac { algorithm, key } => {
                let fields = vec![0, 0, *algorithm, 32, key.len() as u32];
                (0x202, fields, [0, 0, 2, 0], none, *key)
            }
            SessionSpec::Rsa { key } => {
                let fields = vec![1, 1, key.len() as u32, 0, 0, 0, 1, 6];
                (0x404, fields, [0; 4], *key, none)
            }
        };
        let is_rsa = matches!(spec, SessionSpec::Rsa { .. });
        self.fill(opcode, &fields, flags, (is_rsa, key, auth_key), former)
    }
}
