//! Transfers between two threads of this process, over loopback: TCP, TLS over TCP, and
//! QUIC by quinn, protected in one way or another.
//!
//! A server answers on one CPU, a client asks on another: so many bytes, again and again
//! until a trial is over, each time by a connection of its own. What both threads spent
//! is known for the whole trial.

mod quic;
mod stack;
mod tcp;

pub use stack::{Stack, Start};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use offload::perf::{Identity, SetUpError, TransferError};
use sys::affinity::{PinError, pin_to};
use sys::clock::thread_cpu;

use crate::load::alone::Slice;
use crate::load::rig::Cores;
use crate::subject::Stopped;

/// A transfer that takes longer is broken.
const LIMIT: Duration = Duration::from_secs(60);
/// How often a long one asks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(200);

/// What is transferred, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    pub stack: Stack,
    pub start: Start,
    /// The cipher suite of TLS and of QUIC.
    pub suite: ::quic::Suite,
    pub bytes: u64,
    /// Of a QUIC datagram.
    pub payload_bytes: u16,
}

/// What a trial of them did.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// From the first packet of a connection to the last byte, ns, each.
    pub times_ns: Vec<u64>,
    pub bytes: u64,
    /// CPU time of the thread that sends.
    pub sender: Duration,
    /// Of the one that receives.
    pub receiver: Duration,
    /// Of the worker that seals and sends, if there is one.
    pub worker: Option<Duration>,
    /// Datagrams that the sender sent; 0 of TCP.
    pub datagrams: u64,
    /// Messages that it handed them over in; 0 where nobody counts.
    pub messages: u64,
    pub lost: u64,
    /// Bytes that a socket buffers, where that is less than it should be.
    pub short_buffers: Option<usize>,
}

/// Why there is no trial.
#[derive(Debug, thiserror::Error)]
pub enum TransfersError {
    #[error("no worker")]
    Worker(#[from] engine::StartError),
    #[error("the threads could not be placed")]
    Pin(#[from] PinError),
    #[error("an end could not be set up")]
    SetUp(#[from] SetUpError),
    #[error("TLS failed")]
    Tls(#[from] rustls::Error),
    #[error("no connection can be made")]
    Connect(#[from] quinn::ConnectError),
    #[error("a transfer failed")]
    Transfer(#[from] TransferError),
    #[error("the system failed")]
    Io(#[from] std::io::Error),
    #[error("a transfer took more than {} s", LIMIT.as_secs())]
    Late,
    #[error("the server's thread ended before its client")]
    Server,
    #[error("a connection to be resumed began anew: nothing of it went out in 0-RTT")]
    NotResumed,
}

impl From<quinn::ConnectionError> for TransfersError {
    fn from(error: quinn::ConnectionError) -> Self {
        TransferError::from(error).into()
    }
}

/// What the client's side of a trial says.
struct Asked {
    times_ns: Vec<u64>,
    cpu: Duration,
    short_buffers: Option<usize>,
}

/// And the server's.
#[derive(Clone, Copy, Default)]
struct Answered {
    cpu: Duration,
    worker: Option<Duration>,
    datagrams: u64,
    messages: u64,
    lost: u64,
}

impl Transfer {
    /// Transfers until the slice is over, one at least; `worker` serves and sends.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(self, identity: &Identity, cores: Cores, slice: Slice<'_>) -> Result<Done, Stopped> {
        // Its worker must not be where these threads are pinned.
        let backend = crypto::by_name("kernels").expect("it is on every host");
        let of = |stack: Stack| {
            stack
                .offload(&backend)
                .map_err(|error| failed(error.into()))
        };
        let sending = &of(self.stack)?;
        // Who receives sends acknowledgements alone, which no worker is worth.
        let receiving = &of(match self.stack {
            Stack::Worker => Stack::Together,
            other => other,
        })?;
        let (address, at) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let (finish, finished) = mpsc::channel::<()>();
        let is_wanted = AtomicBool::new(true);
        let course = Course {
            length: slice.length,
            is_wanted: &is_wanted,
        };
        let (asked, answered) = thread::scope(|scope| {
            let server = scope.spawn(move || {
                pin_to(cores.worker)?;
                match self.stack.is_tcp() {
                    true => tcp::serve(self, identity, &address, &ended),
                    false => quic::serve(self, identity, sending, (&address, ended)),
                }
            });
            let client = scope.spawn(move || {
                // Dropped at the end, also of a panic.
                let _finish = finish;
                pin_to(cores.client).map_err(Stopped::failed)?;
                // A server that failed says more than that there is none.
                let address = at.recv().map_err(|_| failed(TransfersError::Server))?;
                match self.stack.is_tcp() {
                    true => tcp::ask(self, identity, address, course),
                    false => quic::ask(self, identity, receiving, (address, course)),
                }
            });
            while finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                is_wanted.store((slice.go_on)(), Ordering::Relaxed);
            }
            let asked = client
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            drop(end);
            let answered = server
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (asked, answered)
        });
        let answered = answered.map_err(failed)?;
        let asked = asked?;
        Ok(Done {
            bytes: self.bytes * asked.times_ns.len() as u64,
            times_ns: asked.times_ns,
            sender: answered.cpu,
            receiver: asked.cpu,
            worker: answered.worker,
            datagrams: answered.datagrams,
            messages: answered.messages,
            lost: answered.lost,
            short_buffers: asked.short_buffers,
        })
    }
}

fn failed(error: TransfersError) -> Stopped {
    Stopped::failed(error)
}

/// How long transfers go on.
#[derive(Clone, Copy)]
struct Course<'s> {
    length: Duration,
    is_wanted: &'s AtomicBool,
}

impl Course<'_> {
    fn check(self) -> Result<(), Stopped> {
        match self.is_wanted.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(Stopped::Interrupted),
        }
    }
}

/// Runs transfers one after the other until a course is over.
struct Turns<'s> {
    course: Course<'s>,
    begin: Instant,
    cpu: Duration,
    times_ns: Vec<u64>,
}

impl<'s> Turns<'s> {
    fn begin(course: Course<'s>) -> Self {
        Self {
            course,
            begin: Instant::now(),
            cpu: thread_cpu(),
            times_ns: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        !self.times_ns.is_empty() && self.begin.elapsed() >= self.course.length
    }

    fn done(&mut self, since: Instant) -> Result<(), Stopped> {
        self.times_ns.push(since.elapsed().as_nanos() as u64);
        self.course.check()
    }

    fn asked(self, short_buffers: Option<usize>) -> Asked {
        Asked {
            cpu: thread_cpu() - self.cpu,
            times_ns: self.times_ns,
            short_buffers,
        }
    }
}
