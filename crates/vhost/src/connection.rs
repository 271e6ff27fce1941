//! One connection: a proxy before rust-vmm's message loop.
//!
//! The library knows the messages of crypto sessions and handles neither, and its loop
//! cannot be extended. So every message comes in here. Sessions are answered; all else is
//! handed on by a socket pair to the library, and its replies are handed back.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use policy::Bucket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use sys::clock::now_ns;
use sys::event::Event;
use vhost_user::vhost_user::BackendReqHandler;
use zeroize::Zeroizing;

use crate::backend::{BackEnd, SetupError};
use crate::control::{
    BODY_BYTES_MAX, FILES_MAX, HEADER_BYTES, Incoming, Message, NEEDS_REPLY, Outgoing, REPLY,
    VERSION,
};
use crate::device::{Notice, Shared};
use crate::limits::per_second;
use crate::session::{RefusedSession, parse};

pub(crate) const CREATE_SESSION: u32 = 26;
pub(crate) const CLOSE_SESSION: u32 = 27;

/// How long a message may take from its first byte to its last, in and out.
const WITHIN: Duration = Duration::from_secs(2);

/// How often a queue that may not be started yet is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// Why a connection ended that its front-end did not end.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("a message of {0} bytes: at most {BODY_BYTES_MAX} are taken")]
    Long(u32),
    #[error("version {0} of the protocol: this program speaks {VERSION}")]
    Version(u32),
    #[error("the message ends too early, or brings more than {FILES_MAX} files")]
    Cut,
    #[error("the front-end began a message and did not end it within {WITHIN:?}")]
    Slow,
    #[error("the front-end does not read what it asked for within {WITHIN:?}")]
    Unread,
    #[error("message {code} is refused")]
    Setup {
        code: u32,
        #[source]
        source: SetupError,
    },
    #[error("message {code} is refused: {reason}")]
    Library { code: u32, reason: String },
    #[error("a message of {0} bytes closes a session: 8 are right")]
    Close(usize),
    #[error("a queue cannot be started again")]
    Again(#[source] SetupError),
    #[error(
        "memory that the front-end shares was taken away while it was in use: its file was shortened, or had a hole that could not be filled"
    )]
    MemoryLost,
    #[error(
        "the front-end's memory held its worker up again and again (in {waits_in:?}); give such a function `worker = \"own\"`, or the engine a `quarantine`"
    )]
    Stalls { waits_in: String },
    #[error("the socket fails")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for ConnectionError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

enum Received {
    Message(Message),
    Part,
    /// Between two messages.
    End,
}

/// Takes what is there of the next message.
fn receive(
    stream: BorrowedFd<'_>,
    incoming: &mut Incoming,
    flags: RecvFlags,
) -> Result<Received, ConnectionError> {
    let mut files = Vec::new();
    let count = receive_with(stream, incoming.room(), &mut files, flags)?;
    if count == 0 && !incoming.is_begun() {
        return Ok(Received::End);
    }
    let message = incoming.came(count, files)?;
    Ok(message.map_or(Received::Part, Received::Message))
}

fn receive_with(
    stream: BorrowedFd<'_>,
    into: &mut [u8],
    files: &mut Vec<OwnedFd>,
    flags: RecvFlags,
) -> Result<usize, ConnectionError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let came = loop {
        let parts = &mut [io::IoSliceMut::new(into)];
        match recvmsg(
            stream,
            parts,
            &mut ancillary,
            flags | RecvFlags::CMSG_CLOEXEC,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            came => break came?,
        }
    };
    // What came is closed if it is too much.
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            files.extend(came);
        }
    }
    if came.flags.contains(ReturnFlags::CTRUNC) {
        return Err(ConnectionError::Cut);
    }
    Ok(came.bytes)
}

/// Sends what goes next, or a part of it.
fn send(
    stream: BorrowedFd<'_>,
    outgoing: &mut Outgoing,
    flags: SendFlags,
) -> Result<(), ConnectionError> {
    let Some((bytes, files)) = outgoing.next() else {
        return Ok(());
    };
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(ConnectionError::Cut);
    }
    let parts = [io::IoSlice::new(bytes)];
    let count = loop {
        match sendmsg(stream, &parts, &mut ancillary, flags | SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            sent => break sent?,
        }
    };
    outgoing.went(count);
    Ok(())
}

/// Says one message, and waits until it has gone: for front-ends, and to the library,
/// which has always read what came before.
pub(crate) fn say(stream: &UnixStream, message: Message) -> Result<(), ConnectionError> {
    let mut outgoing = Outgoing::default();
    outgoing.push(message.bytes(), message.files);
    while !outgoing.is_empty() {
        send(stream.as_fd(), &mut outgoing, SendFlags::empty())?;
    }
    Ok(())
}

/// Waits for one message, for front-ends; `None` at the end of the stream.
pub(crate) fn hear(stream: &UnixStream) -> Result<Option<Message>, ConnectionError> {
    let mut incoming = Incoming::default();
    loop {
        match receive(stream.as_fd(), &mut incoming, RecvFlags::empty())? {
            Received::Message(message) => return Ok(Some(message)),
            Received::End => return Ok(None),
            Received::Part => {}
        }
    }
}

fn is_later(error: &ConnectionError) -> bool {
    matches!(error, ConnectionError::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
}

pub(crate) struct Connection {
    shared: Arc<Shared>,
    stream: UnixStream,
    inner: UnixStream,
    handler: BackendReqHandler<Mutex<BackEnd>>,
    back_end: Arc<Mutex<BackEnd>>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Since when a message is on its way in, or an answer on its way out.
    since: Option<Instant>,
    messages: Bucket,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, stream: UnixStream) -> io::Result<Self> {
        let (inner, library) = UnixStream::pair()?;
        let back_end = Arc::new(Mutex::new(BackEnd::new(Arc::clone(&shared))));
        let handler = BackendReqHandler::from_stream(library, Arc::clone(&back_end));
        let messages = Bucket::new(per_second(shared.config.limits.messages_per_s));
        Ok(Self {
            shared,
            stream,
            inner,
            handler,
            back_end,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            since: None,
            messages,
        })
    }

    /// Serves the front-end until it leaves, `stop` is signalled, or something is wrong.
    pub(crate) fn serve(&mut self, stop: &Event) -> Result<(), ConnectionError> {
        loop {
            self.heed()?;
            let is_waiting = self.back_end().go_on().map_err(ConnectionError::Again)?;
            let due_ns = self.messages.allowance(now_ns()).err();
            // One thing after the other: who does not read answers gets no more.
            let takes = self.outgoing.is_empty() && !is_waiting && due_ns.is_none();
            let gives = !self.outgoing.is_empty();
            let wanted = if gives { PollFlags::OUT } else { PollFlags::IN };
            let mut polled = vec![
                PollFd::new(stop, PollFlags::IN),
                PollFd::new(&*self.shared.attention, PollFlags::IN),
            ];
            // Whoever has hung up is seen when it is its turn.
            if takes || gives {
                polled.push(PollFd::new(&self.stream, wanted));
            }
            let within = self.patience(is_waiting, due_ns)?;
            match poll(&mut polled, within.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                polled => polled?,
            };
            let is_any = |at: usize| polled.get(at).is_some_and(|one| !one.revents().is_empty());
            if is_any(0) {
                return Ok(());
            }
            if !is_any(2) {
                continue;
            }
            if gives {
                self.give()?;
            } else if self.take()? {
                return Ok(());
            }
        }
    }

    fn back_end(&self) -> MutexGuard<'_, BackEnd> {
        self.back_end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long nothing needs to be done unless something comes.
    fn patience(
        &self,
        is_waiting: bool,
        due_ns: Option<u64>,
    ) -> Result<Option<Timespec>, ConnectionError> {
        let left = self
            .since
            .map(|since| WITHIN.saturating_sub(since.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(if self.outgoing.is_empty() {
                ConnectionError::Slow
            } else {
                ConnectionError::Unread
            });
        }
        let due = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        let pause = is_waiting.then_some(PAUSE);
        let within = [left, due, pause].into_iter().flatten().min();
        Ok(within.map(|within| {
            // So that what is due then is due.
            let within = within.saturating_add(Duration::from_nanos(1));
            Timespec {
                tv_sec: within.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: within.subsec_nanos().into(),
            }
        }))
    }

    /// Looks at what others want of this thread.
    fn heed(&mut self) -> Result<(), ConnectionError> {
        self.shared.attention.clear();
        if let Some(why) = self.shared.take_cut() {
            return Err(why);
        }
        for (queue, notifiers) in self.shared.notifiers.iter().enumerate() {
            if notifiers.make_up() {
                self.shared.counters.note_repeated_call();
            }
            if let Some(broken) = notifiers.take_broken() {
                (self.shared.notices)(Notice::QueueBroken { queue, broken });
            }
        }
        let moved = self.back_end().settle();
        match moved.map_err(ConnectionError::Again)? {
            Some(worker) if self.shared.is_quarantined() => {
                (self.shared.notices)(Notice::Quarantined { worker });
            }
            Some(_) => (self.shared.notices)(Notice::Returned),
            None => {}
        }
        Ok(())
    }

    /// Takes what is there; whether the front-end has left.
    fn take(&mut self) -> Result<bool, ConnectionError> {
        let came = receive(self.stream.as_fd(), &mut self.incoming, RecvFlags::DONTWAIT);
        let message = match came {
            Err(error) if is_later(&error) => return Ok(false),
            came => match came? {
                Received::Message(message) => message,
                Received::Part => {
                    self.since.get_or_insert_with(Instant::now);
                    return Ok(false);
                }
                // Others may have hung it up.
                Received::End => return self.shared.take_cut().map_or(Ok(true), Err),
            },
        };
        self.since = None;
        self.messages.spend(now_ns(), 1, 0);
        match message.code {
            CREATE_SESSION => self.open_session(message)?,
            CLOSE_SESSION => self.close_session(&message)?,
            _ => self.hand_on(message)?,
        }
        self.give()?;
        Ok(false)
    }

    /// Sends what can be sent now.
    fn give(&mut self) -> Result<(), ConnectionError> {
        while !self.outgoing.is_empty() {
            match send(self.stream.as_fd(), &mut self.outgoing, SendFlags::DONTWAIT) {
                Err(error) if is_later(&error) => {
                    self.since.get_or_insert_with(Instant::now);
                    return Ok(());
                }
                sent => sent?,
            }
        }
        self.since = None;
        Ok(())
    }

    fn answer(&mut self, message: Message) {
        self.outgoing.push(message.bytes(), message.files);
    }

    /// A refusal is told to the front-end, and ends nothing.
    fn open_session(&mut self, mut message: Message) -> Result<(), ConnectionError> {
        let (layout, opened) = match parse(&mut message.body) {
            Ok((layout, wanted)) => (layout, self.shared.open_session(&wanted)),
            Err(refused @ RefusedSession::Layout { .. }) => {
                // There is no telling where the answer would be read.
                let reason = refused.to_string();
                let code = CREATE_SESSION;
                return Err(ConnectionError::Library { code, reason });
            }
            Err(refused) => {
                let layout = crate::session::layout_of(message.body.len());
                (layout.expect("it was read by it"), Err(refused))
            }
        };
        if let Err(refused) = &opened {
            (self.shared.notices)(Notice::SessionRefused(refused));
        }
        let body = layout.reply(opened.ok());
        self.answer(Message::new(CREATE_SESSION, REPLY, body));
        Ok(())
    }

    fn close_session(&mut self, message: &Message) -> Result<(), ConnectionError> {
        let id: [u8; 8] = (&message.body[..])
            .try_into()
            .map_err(|_| ConnectionError::Close(message.body.len()))?;
        let is_closed = self.shared.close_session(u64::from_le_bytes(id));
        if message.flags & NEEDS_REPLY != 0 {
            let body = u64::from(!is_closed).to_le_bytes().to_vec();
            self.answer(Message::new(CLOSE_SESSION, REPLY, body));
        }
        Ok(())
    }

    fn hand_on(&mut self, message: Message) -> Result<(), ConnectionError> {
        let code = message.code;
        say(&self.inner, message)?;
        let handled = self.handler.handle_request();
        self.hand_back()?;
        let problem = self.back_end().problem.take();
        match (handled, problem) {
            (Ok(()), None) => Ok(()),
            (_, Some(source)) => Err(ConnectionError::Setup { code, source }),
            (Err(error), None) => {
                let reason = error.to_string();
                Err(ConnectionError::Library { code, reason })
            }
        }
    }

    /// What the library answered.
    fn hand_back(&mut self) -> Result<(), ConnectionError> {
        loop {
            let mut bytes = Zeroizing::new(vec![0; HEADER_BYTES + BODY_BYTES_MAX]);
            let mut files = Vec::new();
            let inner = self.inner.as_fd();
            match receive_with(inner, &mut bytes, &mut files, RecvFlags::DONTWAIT) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    bytes.truncate(count);
                    self.outgoing.push(bytes, files);
                }
                Err(error) if is_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
