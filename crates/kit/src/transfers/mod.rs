//! Transfers between two threads of this process, over loopback or from one network
//! namespace to another: TCP, TLS over TCP, and QUIC by quinn, protected in one way or
//! another.
//!
//! A server answers on one CPU, a client asks on another: so many bytes, again and again
//! until a trial is over, each time by a connection of its own. What both threads spent
//! is known for the whole trial.

pub mod contest;
mod masks;
mod quic;
mod stack;
mod tcp;

pub use masks::mask_ns;
pub use stack::{Congestion, Stack, Start};

use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use net::Namespace;
use offload::perf::{Identity, SetUpError, TransferError};
use sys::affinity::{PinError, pin_to};
use sys::clock::thread_cpu;
use sys::failure::Failure;

use crate::host::Host;
use crate::load::alone::Slice;
use crate::load::rig::Cores;
use crate::place::Placement;
use crate::subject::Stopped;

/// A transfer that takes longer than it may, and this, is broken.
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
    /// Of a QUIC connection: each carries as much.
    pub streams: u16,
    /// Of a QUIC datagram.
    pub payload_bytes: u16,
    pub congestion: Congestion,
    /// What QUIC's flow control lets a connection have under way; `None`: more than most
    /// paths hold.
    pub window_bytes: Option<u32>,
}

/// Where an end of a transfer is.
#[derive(Clone, Debug)]
pub struct End {
    /// What a server listens on; of a client, the port is 0.
    pub address: SocketAddrV4,
    pub cpu: Option<usize>,
    /// `None`: where the caller is.
    pub namespace: Option<Namespace>,
}

/// Both.
#[derive(Clone, Debug)]
pub struct Ends {
    /// It sends what is asked for.
    pub server: End,
    pub client: End,
}

/// A core for each end, where there are two.
pub fn cores(host: &Host) -> Cores {
    let split = Cores::of(&host.cpus, Placement::Split);
    split.unwrap_or(Cores {
        worker: host.quiet_cpu(),
        client: host.quiet_cpu(),
    })
}

impl Ends {
    /// On loopback, each on a core.
    pub fn on(cores: Cores) -> Self {
        let end = |cpu| End {
            address: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
            cpu: Some(cpu),
            namespace: None,
        };
        Self {
            server: end(cores.worker),
            client: end(cores.client),
        }
    }
}

impl End {
    /// Brings the calling thread there.
    fn settle(&self) -> Result<(), TransfersError> {
        if let Some(cpu) = self.cpu {
            pin_to(cpu)?;
        }
        if let Some(namespace) = &self.namespace {
            namespace.enter()?;
        }
        Ok(())
    }
}

/// Is told of each transfer when it begins, with 0, and then how many bytes have come;
/// says whether it wants more.
pub type Watch<'w> = &'w (dyn Fn(u64) -> ControlFlow<()> + Sync);

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
    #[error("no network to transfer over")]
    Network(#[from] Failure),
    #[error("nothing to transfer against")]
    Rival(#[from] forward::bench::tcp::TcpError),
    #[error("the thread that carries the link's frames ended before its time")]
    Link,
    #[error("iperf3, which filled the link, ended before its time")]
    RivalEnded,
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
    #[error("TCP's congestion control {0} is not for this user")]
    Congestion(&'static str),
    #[error("a transfer took more than {} s", .0.as_secs())]
    Late(Duration),
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
    bytes: u64,
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
    /// With a peer that it has not met, as most paths carry it: one stream, AES-128-GCM,
    /// datagrams of 1452 bytes, cubic.
    pub const fn cold(stack: Stack, bytes: u64) -> Self {
        Self {
            stack,
            start: Start::Cold,
            suite: ::quic::Suite::Aes128Gcm,
            bytes,
            streams: 1,
            payload_bytes: 1452,
            congestion: Congestion::Cubic,
            window_bytes: None,
        }
    }

    /// Transfers until the slice is over, one at least. The server has the first core.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(self, identity: &Identity, cores: Cores, slice: Slice<'_>) -> Result<Done, Stopped> {
        let watch = &|_| ControlFlow::Continue(());
        self.run_between(&Ends::on(cores), identity, (slice, LIMIT, watch))
    }

    /// The same between two ends, each within a limit, and watched.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run_between(
        self,
        ends: &Ends,
        identity: &Identity,
        (slice, limit, watch): (Slice<'_>, Duration, Watch<'_>),
    ) -> Result<Done, Stopped> {
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
            limit,
            is_wanted: &is_wanted,
            watch,
        };
        let (asked, answered) = thread::scope(|scope| {
            let server = scope.spawn(move || {
                let own = &ends.server;
                own.settle()?;
                match self.stack.is_tcp() {
                    true => tcp::serve(self, own, identity, (&address, &ended)),
                    false => quic::serve(self, own, (identity, sending), (&address, ended)),
                }
            });
            let client = scope.spawn(move || {
                // Dropped at the end, also of a panic.
                let _finish = finish;
                let own = &ends.client;
                own.settle().map_err(failed)?;
                // A server that failed says more than that there is none.
                let address = at.recv().map_err(|_| failed(TransfersError::Server))?;
                match self.stack.is_tcp() {
                    true => tcp::ask(self, ends, identity, (address, course)),
                    false => quic::ask(self, own, (identity, receiving), (address, course)),
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
            bytes: asked.bytes,
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
    match error {
        TransfersError::Congestion(name) => Stopped::NotSupported {
            what: format!("TCP with congestion control {name}, which is not for this user"),
            remedy: "run as root, or add it to net.ipv4.tcp_allowed_congestion_control".to_owned(),
        },
        error => Stopped::failed(error),
    }
}

/// How long transfers go on.
#[derive(Clone, Copy)]
struct Course<'s> {
    length: Duration,
    /// Of one transfer.
    limit: Duration,
    is_wanted: &'s AtomicBool,
    watch: Watch<'s>,
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
    bytes: u64,
}

impl<'s> Turns<'s> {
    fn begin(course: Course<'s>) -> Self {
        Self {
            course,
            begin: Instant::now(),
            cpu: thread_cpu(),
            times_ns: Vec::new(),
            bytes: 0,
        }
    }

    fn is_over(&self) -> bool {
        !self.times_ns.is_empty() && self.begin.elapsed() >= self.course.length
    }

    fn done(&mut self, since: Instant, bytes: u64) -> Result<(), Stopped> {
        self.times_ns.push(since.elapsed().as_nanos() as u64);
        self.bytes += bytes;
        self.course.check()
    }

    fn asked(self, short_buffers: Option<usize>) -> Asked {
        Asked {
            cpu: thread_cpu() - self.cpu,
            times_ns: self.times_ns,
            bytes: self.bytes,
            short_buffers,
        }
    }
}
