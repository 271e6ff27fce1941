//! What a front-end can do that is not QEMU, or a QEMU that its guest has taken over: it
//! owns the memory, the notifiers and the socket.
//!
//! Each attack is played by a real front-end against a real socket, for as long as its
//! caller likes. Whoever is cut off comes again at once.

use std::cell::Cell;
use std::io::{self, PipeReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, OFlags, fallocate, fcntl_setfl, ftruncate};
use wire::virtio_crypto::{Header, Opcode};

use super::driver::SIZE_MAX;
use super::{
    Driver, FrontConfig, FrontEnd, FrontError, GET_FEATURES, Request, SET_MEM_TABLE,
    SET_VRING_CALL, SessionSpec, USER_BEGIN, reach,
};
use crate::backend::REQUEST_BYTES_MAX;

const PAGE: usize = 4096;
const KEY: [u8; 16] = [9; 16];

/// Between two looks at what the device does: the CPU is the neighbours'.
const NAP: Duration = Duration::from_micros(50);

/// Requests of one turn of whatever only has to have some in flight.
const FEW: usize = 8;

/// The harm that it does, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attack {
    /// 4 of the 12 bytes of a message's head.
    HalfMessage,
    /// Questions whose answers nobody reads.
    UnreadReplies,
    /// An eventfd that blocks, with its counter full.
    BlockingNotifier,
    /// Full pipes as notifiers, one after the other.
    FullPipe,
    /// Requests in as many pieces as there may be, in the worst order, that a log of the
    /// front-end's own says were begun.
    LongChains,
    /// Holes in memory while requests use it.
    Holes,
    /// Memory that is shortened while requests use it.
    TruncatedMemory,
    /// Holes so large that a page fault waits in the kernel until they are made.
    WaitingPages,
    /// Terabytes in which there is nothing.
    SparseMemory,
    /// Pages that nobody wrote, as source and destination.
    UnwrittenPages,
    /// Messages that set queues and memory up again and again.
    MessageStorm,
    /// Connections that end at once.
    ConnectionStorm,
    /// Entries that do not exist, and a reset after each.
    BrokenQueue,
    /// It opens as many sessions as it gets, and asks for more.
    Sessions,
    /// Sessions that are refused with a line in the log.
    LogStorm,
}

/// The outcome of an attack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    pub turns: u64,
    /// The times that the device hung up.
    pub cuts: u64,
}

/// Plays one attack until it is over.
struct Play<'a> {
    socket: &'a Path,
    go_on: &'a (dyn Fn() -> bool + Sync),
    turns: Cell<u64>,
}

impl Attack {
    pub const ALL: [Self; 15] = [
        Self::HalfMessage,
        Self::UnreadReplies,
        Self::BlockingNotifier,
        Self::FullPipe,
        Self::LongChains,
        Self::Holes,
        Self::TruncatedMemory,
        Self::WaitingPages,
        Self::SparseMemory,
        Self::UnwrittenPages,
        Self::MessageStorm,
        Self::ConnectionStorm,
        Self::BrokenQueue,
        Self::Sessions,
        Self::LogStorm,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HalfMessage => "half-message",
            Self::UnreadReplies => "unread-replies",
            Self::BlockingNotifier => "blocking-notifier",
            Self::FullPipe => "full-pipe",
            Self::LongChains => "long-chains",
            Self::Holes => "holes",
            Self::TruncatedMemory => "truncated-memory",
            Self::WaitingPages => "waiting-pages",
            Self::SparseMemory => "sparse-memory",
            Self::UnwrittenPages => "unwritten-pages",
            Self::MessageStorm => "message-storm",
            Self::ConnectionStorm => "connection-storm",
            Self::BrokenQueue => "broken-queue",
            Self::Sessions => "sessions",
            Self::LogStorm => "log-storm",
        }
    }

    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Plays it against the device at that socket for as long as `go_on` says.
    ///
    /// # Errors
    /// [`FrontError`]: no device listens, or there is no memory. That a device hangs up is
    /// no error.
    pub fn play(
        self,
        socket: &Path,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Turns, FrontError> {
        let turns = Cell::new(0);
        let play = Play {
            socket,
            go_on,
            turns,
        };
        let mut cuts = 0;
        while go_on() {
            match play.connection(self) {
                Ok(()) => {}
                Err(
                    error @ (FrontError::Connect(_) | FrontError::Memory(_) | FrontError::Share(_)),
                ) => return Err(error),
                Err(_) => cuts += 1,
            }
        }
        let turns = play.turns.get();
        Ok(Turns { turns, cuts })
    }
}

impl Play<'_> {
    /// Uses one connection until it is cut off or the attack is over.
    fn connection(&self, attack: Attack) -> Result<(), FrontError> {
        match attack {
            Attack::HalfMessage => self.half_message(),
            Attack::UnreadReplies => self.unread_replies(),
            Attack::BlockingNotifier => self.blocking_notifier(),
            Attack::FullPipe => self.full_pipe(),
            Attack::LongChains => self.long_chains(),
            Attack::Holes => self.holes(1 << 20, false),
            Attack::TruncatedMemory => self.truncated_memory(),
            Attack::WaitingPages => self.holes(256 << 20, true),
            Attack::SparseMemory => self.sparse_memory(),
            Attack::UnwrittenPages => self.unwritten_pages(),
            Attack::MessageStorm => self.message_storm(),
            Attack::ConnectionStorm => self.connection_storm(),
            Attack::BrokenQueue => self.broken_queue(),
            Attack::Sessions => self.sessions(),
            Attack::LogStorm => self.log_storm(),
        }
    }

    fn go_on(&self) -> bool {
        (self.go_on)()
    }

    fn count(&self) {
        self.turns.set(self.turns.get() + 1);
    }

    fn connect(&self, config: FrontConfig) -> Result<FrontEnd, FrontError> {
        FrontEnd::connect(self.socket, config)
    }

    fn start(&self, config: FrontConfig) -> Result<Queue<'_>, FrontError> {
        let mut front = self.connect(config)?;
        let driver = front.start(0)?;
        let session = open(&mut front, &KEY)?;
        Ok(Queue {
            play: self,
            front,
            driver,
            session,
        })
    }

    fn half_message(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig::default())?;
        let part = GET_FEATURES.to_le_bytes();
        queue.front.stream().write_all(&part).map_err(gone)?;
        while self.go_on() {
            queue.few()?;
        }
        Ok(())
    }

    fn unread_replies(&self) -> Result<(), FrontError> {
        let front = self.connect(FrontConfig::default())?;
        let mut stream = front.stream();
        stream.set_nonblocking(true)?;
        let ask = [GET_FEATURES, 1, 0].map(u32::to_le_bytes);
        while self.go_on() {
            match stream.write(ask.as_flattened()) {
                Ok(_) => self.count(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(NAP * 20);
                }
                Err(error) => return Err(gone(error)),
            }
        }
        Ok(())
    }

    fn blocking_notifier(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig::default())?;
        queue.few()?;
        // Its open file is shared with the device.
        let notifier = queue.driver.interrupt();
        notifier.clear();
        fcntl_setfl(notifier, OFlags::empty()).map_err(io::Error::from)?;
        rustix::io::write(notifier, &(u64::MAX - 1).to_ne_bytes()).map_err(io::Error::from)?;
        while self.go_on() {
            queue.few()?;
        }
        Ok(())
    }

    fn full_pipe(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig::default())?;
        // Whoever writes into them waits until these are closed.
        let mut readers = Vec::new();
        while self.go_on() {
            let (reader, writer) = full()?;
            readers.push(reader);
            queue.front.send(SET_VRING_CALL, vec![0; 8], vec![writer])?;
            for _ in 0..16 {
                queue.few()?;
            }
        }
        Ok(())
    }

    fn long_chains(&self) -> Result<(), FrontError> {
        /// As many as a request may have, source and destination each, in steps that keep
        /// neighbours apart.
        const PIECES: usize = 256;
        const BYTES: usize = 8;
        const STEP: usize = 4 * BYTES;
        let mut queue = self.start(FrontConfig {
            keeps_log: true,
            queue_size: SIZE_MAX,
            data_bytes: PIECES * STEP,
            ..FrontConfig::default()
        })?;
        let places = |from: usize| -> Vec<_> {
            let each = (0..PIECES).rev().map(|piece| (from + piece * STEP, BYTES));
            each.collect()
        };
        let at = queue.front.data_at();
        let (source, destination) = (places(at), places(at + STEP / 2));
        queue.few()?;
        let file = queue.front.log.as_ref().map(|(_, file)| file.try_clone());
        let Some(log) = file.transpose()? else {
            return Ok(());
        };
        let mut identity = [0; 8];
        rustix::io::pread(&log, &mut identity, 0).map_err(io::Error::from)?;
        while self.go_on() {
            queue.front.stop(0)?;
            while queue.driver.next_head().is_some() {
                queue.submit(&source, &destination);
            }
            queue.driver.kick();
            let begun = queue.driver.used_index();
            let begun = begun.wrapping_add(queue.driver.in_flight() as u16);
            // As if a device had begun them all, and was killed.
            let line = [&identity[..], &begun.to_le_bytes()].concat();
            rustix::io::pwrite(&log, &line, 0).map_err(io::Error::from)?;
            queue.front.resume(0, &queue.driver)?;
            queue.settle()?;
        }
        Ok(())
    }

    /// Holes as large as the memory in use, which is written again where that `refills`.
    fn holes(&self, bytes: usize, refills: bool) -> Result<(), FrontError> {
        let pages = bytes / PAGE;
        let mut queue = self.start(FrontConfig {
            data_bytes: bytes + PAGE,
            queue_size: 256,
            is_sealed: false,
            ..FrontConfig::default()
        })?;
        let memory = Arc::clone(queue.front.memory());
        // The queue's own pages end before.
        let begin = queue.front.data_at().next_multiple_of(PAGE);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let is_on = || !is_over.load(Ordering::Relaxed);
                while is_on() {
                    for page in (0..pages).take_while(|_| refills && is_on()) {
                        memory.write(begin + page * PAGE, &[1; 64]);
                    }
                    let file = memory.file();
                    // No room for one is no failure of the device's.
                    let _ = fallocate(file, flags, begin as u64, (pages * PAGE) as u64);
                }
            });
            let _over = Over(&is_over);
            let mut page = 0;
            while self.go_on() {
                for _ in 0..64 {
                    // From end to end, so that one is always where the hole is made.
                    page = (page + pages / 64 + 1) % pages;
                    let place = [(begin + page * PAGE, PAGE)];
                    queue.submit(&place, &place);
                }
                queue.settle()?;
            }
            Ok(())
        })
    }

    fn truncated_memory(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig {
            is_sealed: false,
            ..FrontConfig::default()
        })?;
        queue.few()?;
        let at = queue.front.data_at();
        for page in 0..FEW {
            let place = [(at + page * PAGE, PAGE)];
            queue.submit(&place, &place);
        }
        ftruncate(queue.front.memory().file(), 0).map_err(io::Error::from)?;
        // This front-end's own mapping survives likewise; what its queue says is gone.
        queue.driver.kick_anyway();
        while self.go_on() {
            if queue.front.is_hung_up(NAP * 20) {
                return Err(FrontError::HungUp);
            }
        }
        Ok(())
    }

    fn sparse_memory(&self) -> Result<(), FrontError> {
        let file = sys::memory::unsealed(1 << 46)?;
        let front = self.connect(FrontConfig::default())?;
        // Up to what a device maps by default, and beyond.
        for bits in [37, 38, 39, 40, 46] {
            for _ in 0..8 {
                if !self.go_on() {
                    return Ok(());
                }
                let body = [0, 1 << bits, USER_BEGIN, 0_u64].map(u64::to_le_bytes);
                let body = [&[1, 0, 0, 0, 0, 0, 0, 0], body.as_flattened()].concat();
                front.send(SET_MEM_TABLE, body, vec![file.try_clone()?])?;
                front.ask_number(GET_FEATURES)?;
                self.count();
            }
        }
        Ok(())
    }

    fn unwritten_pages(&self) -> Result<(), FrontError> {
        const BYTES: usize = 1 << 30;
        let mut queue = self.start(FrontConfig {
            data_bytes: BYTES + PAGE,
            queue_size: 32,
            is_sealed: false,
            ..FrontConfig::default()
        })?;
        let begin = queue.front.data_at().next_multiple_of(PAGE);
        let places = BYTES / (2 * REQUEST_BYTES_MAX);
        for place in 0..places {
            if !self.go_on() {
                break;
            }
            let at = begin + place * 2 * REQUEST_BYTES_MAX;
            let source = [(at, REQUEST_BYTES_MAX)];
            queue.submit(&source, &[(at + REQUEST_BYTES_MAX, REQUEST_BYTES_MAX)]);
            if place % 16 == 15 {
                queue.settle()?;
            }
        }
        queue.settle()
    }

    fn message_storm(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig::default())?;
        while self.go_on() {
            let event = queue.driver.interrupt();
            queue.front.hand_event(SET_VRING_CALL, 0, event)?;
            queue.front.hand_memory_over()?;
            queue.front.ask_number(GET_FEATURES)?;
            self.count();
        }
        Ok(())
    }

    fn connection_storm(&self) -> Result<(), FrontError> {
        while self.go_on() {
            // It waits while the device's backlog is full.
            let stream: UnixStream = reach(self.socket)?;
            self.count();
            drop(stream);
        }
        Ok(())
    }

    fn broken_queue(&self) -> Result<(), FrontError> {
        let mut queue = self.start(FrontConfig::default())?;
        while self.go_on() {
            queue.few()?;
            let driver = &mut queue.driver;
            let index = driver.used_index();
            if let Some(head) = driver.next_head() {
                driver.enter(head, 0);
                driver.put_available(index, u16::MAX);
                driver.kick_anyway();
            }
            // As a driver that resets its device.
            queue.front.stop(0)?;
            queue.driver = queue.front.start(0)?;
        }
        Ok(())
    }

    fn sessions(&self) -> Result<(), FrontError> {
        let mut front = self.connect(FrontConfig::default())?;
        let mut refused = 0;
        while self.go_on() && refused < 64 {
            match open(&mut front, &KEY) {
                Ok(_) => {}
                Err(FrontError::Session) => refused += 1,
                Err(error) => return Err(error),
            }
            self.count();
        }
        Ok(())
    }

    fn log_storm(&self) -> Result<(), FrontError> {
        let mut front = self.connect(FrontConfig::default())?;
        while self.go_on() {
            match open(&mut front, &KEY[..5]) {
                Err(FrontError::Session) => self.count(),
                Err(error) => return Err(error),
                Ok(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

/// A queue with a session.
struct Queue<'a> {
    play: &'a Play<'a>,
    front: FrontEnd,
    driver: Driver,
    session: u64,
}

impl Queue<'_> {
    /// Submits as far as there is room.
    fn submit(&mut self, source: &[(usize, usize)], destination: &[(usize, usize)]) {
        let bytes: usize = source.iter().map(|(_, bytes)| bytes).sum();
        let request = Request {
            header: Header {
                opcode: Opcode::CipherEncrypt,
                session: self.session,
                iv_bytes: 16,
                source_bytes: bytes as u32,
                destination_bytes: bytes as u32,
            },
            iv: [0; 16],
            source,
            destination,
        };
        // Where the queue is full, there are enough.
        self.driver.submit(&request, 0).unwrap_or_default();
    }

    /// A few small requests, until they are done; it asks to be told of each.
    fn few(&mut self) -> Result<(), FrontError> {
        let at = self.front.data_at();
        for _ in 0..FEW {
            self.submit(&[(at, 64)], &[(at, 64)]);
        }
        self.settle()
    }

    /// Until all is done that was submitted. It looks by itself: its notifier may be its
    /// weapon.
    fn settle(&mut self) -> Result<(), FrontError> {
        self.driver.ask_after(0);
        self.driver.kick();
        let mut looked = Instant::now();
        loop {
            self.driver.reap(|_| {});
            if self.driver.in_flight() == 0 {
                self.play.count();
                return Ok(());
            }
            if looked.elapsed() > NAP * 20 {
                if self.front.is_hung_up(Duration::ZERO) {
                    return Err(FrontError::HungUp);
                }
                if !self.play.go_on() {
                    return Ok(());
                }
                looked = Instant::now();
            }
            std::thread::sleep(NAP);
        }
    }
}

/// Ends what goes on beside, however it ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A pipe that takes nothing more, and lets who writes wait.
fn full() -> io::Result<(PipeReader, OwnedFd)> {
    let (reader, mut writer) = io::pipe()?;
    fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    let block = [0; 1 << 16];
    while writer.write(&block).is_ok() {}
    fcntl_setfl(&writer, OFlags::empty())?;
    Ok((reader, writer.into()))
}

fn open(front: &mut FrontEnd, key: &[u8]) -> Result<u64, FrontError> {
    front.open_session(&SessionSpec::Cipher {
        encrypts: true,
        key,
    })
}

fn gone(_: io::Error) -> FrontError {
    FrontError::HungUp
}
