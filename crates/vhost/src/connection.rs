//! One connection: a proxy before rust-vmm's message loop.
//!
//! The library knows the messages of crypto sessions and handles neither, and its loop
//! cannot be extended. So every message comes in here. Sessions are answered; all else is
//! handed on by a socket pair to the library, and its replies are handed back.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use sys::event::Event;
use sys::readable;
use vhost_user::vhost_user::BackendReqHandler;
use zeroize::Zeroizing;

use crate::backend::{BackEnd, SetupError};
use crate::device::{Notice, Shared};
use crate::session::{RefusedSession, parse};

pub(crate) const HEADER_BYTES: usize = 12;

/// Largest body of a message: the library's own limit.
pub(crate) const BODY_BYTES_MAX: usize = 4096;

/// Most files that come with a message.
const FILES_MAX: usize = 32;

pub(crate) const CREATE_SESSION: u32 = 26;
pub(crate) const CLOSE_SESSION: u32 = 27;

pub(crate) const VERSION: u32 = 1;
pub(crate) const REPLY: u32 = 1 << 2;
const NEEDS_REPLY: u32 = 1 << 3;

/// How long a look for a message lasts: between two looks whether the front-end blocks
/// a worker.
const LOOK: Duration = Duration::from_millis(500);

/// Why a connection ended that its front-end did not end.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("a message of {0} bytes: at most {BODY_BYTES_MAX} are taken")]
    Long(u32),
    #[error("version {0} of the protocol: this program speaks {VERSION}")]
    Version(u32),
    #[error("the message ends too early, or brings more than {FILES_MAX} files")]
    Cut,
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
    #[error(
        "the front-end made a notifier block, which stopped a worker; it is served no more until this program is started again"
    )]
    Blocked,
    #[error("the socket fails")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for ConnectionError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

/// A message as it came.
pub(crate) struct Message {
    pub(crate) code: u32,
    pub(crate) flags: u32,
    pub(crate) body: Zeroizing<Vec<u8>>,
    pub(crate) files: Vec<OwnedFd>,
}

impl Message {
    /// Reads one; `None` at the end of the stream.
    pub(crate) fn receive(stream: &UnixStream) -> Result<Option<Self>, ConnectionError> {
        let mut header = [0; HEADER_BYTES];
        let mut files = Vec::new();
        let mut at = 0;
        while at < HEADER_BYTES {
            match receive_some(stream.as_fd(), &mut header[at..], &mut files)? {
                0 if at == 0 => return Ok(None),
                0 => return Err(ConnectionError::Cut),
                some => at += some,
            }
        }
        let field = |at: usize| {
            let bytes = header[at..].first_chunk().expect("three fields");
            u32::from_le_bytes(*bytes)
        };
        let (code, flags, bytes) = (field(0), field(4), field(8));
        if flags & 3 != VERSION {
            return Err(ConnectionError::Version(flags & 3));
        }
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        if len > BODY_BYTES_MAX {
            return Err(ConnectionError::Long(bytes));
        }
        let mut body = Zeroizing::new(vec![0; len]);
        let mut at = 0;
        while at < len {
            match receive_some(stream.as_fd(), &mut body[at..], &mut files)? {
                0 => return Err(ConnectionError::Cut),
                some => at += some,
            }
        }
        Ok(Some(Self {
            code,
            flags,
            body,
            files,
        }))
    }

    pub(crate) fn send(&self, stream: &UnixStream) -> Result<(), ConnectionError> {
        let bytes = u32::try_from(self.body.len()).expect("a message is short");
        let fields = [self.code, self.flags, bytes].map(u32::to_le_bytes);
        let all = Zeroizing::new([fields.as_flattened(), &self.body].concat());
        let files: Vec<_> = self.files.iter().map(AsFd::as_fd).collect();
        send_all(stream.as_fd(), &all, &files)
    }

    pub(crate) fn new(code: u32, flags: u32, body: Vec<u8>) -> Self {
        Self {
            code,
            flags: flags | VERSION,
            body: Zeroizing::new(body),
            files: Vec::new(),
        }
    }
}

fn receive_some(
    stream: BorrowedFd<'_>,
    into: &mut [u8],
    files: &mut Vec<OwnedFd>,
) -> Result<usize, ConnectionError> {
    receive_with(stream, into, files, RecvFlags::CMSG_CLOEXEC)
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
        match recvmsg(stream, parts, &mut ancillary, flags) {
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
    if came.flags.contains(ReturnFlags::CTRUNC) || files.len() > FILES_MAX {
        return Err(ConnectionError::Cut);
    }
    Ok(came.bytes)
}

fn send_all(
    stream: BorrowedFd<'_>,
    mut bytes: &[u8],
    files: &[BorrowedFd<'_>],
) -> Result<(), ConnectionError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(ConnectionError::Cut);
    }
    while !bytes.is_empty() {
        let parts = [io::IoSlice::new(bytes)];
        match sendmsg(stream, &parts, &mut ancillary, SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::INTR) => {}
            sent => {
                bytes = &bytes[sent?..];
                // With the first bytes they have gone.
                ancillary.clear();
            }
        }
    }
    Ok(())
}

pub(crate) struct Connection {
    shared: Arc<Shared>,
    stream: UnixStream,
    inner: UnixStream,
    handler: BackendReqHandler<Mutex<BackEnd>>,
    back_end: Arc<Mutex<BackEnd>>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, stream: UnixStream) -> io::Result<Self> {
        let (inner, library) = UnixStream::pair()?;
        let back_end = Arc::new(Mutex::new(BackEnd::new(Arc::clone(&shared))));
        let handler = BackendReqHandler::from_stream(library, Arc::clone(&back_end));
        Ok(Self {
            shared,
            stream,
            inner,
            handler,
            back_end,
        })
    }

    /// Serves the front-end until it leaves, `stop` is signalled, or something is wrong.
    pub(crate) fn serve(&mut self, stop: &Event) -> Result<(), ConnectionError> {
        loop {
            let is_any = readable::any(&[self.stream.as_fd(), stop.as_fd()], LOOK)?;
            if self.shared.free() {
                return Err(ConnectionError::Blocked);
            }
            if !is_any {
                continue;
            }
            if readable::any(&[stop.as_fd()], Duration::ZERO)? {
                return Ok(());
            }
            if !readable::any(&[self.stream.as_fd()], Duration::ZERO)? {
                continue;
            }
            let Some(message) = Message::receive(&self.stream)? else {
                return Ok(());
            };
            match message.code {
                CREATE_SESSION => self.open_session(message)?,
                CLOSE_SESSION => self.close_session(&message)?,
                _ => self.hand_on(&message)?,
            }
        }
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
        Message::new(CREATE_SESSION, REPLY, body).send(&self.stream)
    }

    fn close_session(&mut self, message: &Message) -> Result<(), ConnectionError> {
        let id: [u8; 8] = (&message.body[..])
            .try_into()
            .map_err(|_| ConnectionError::Close(message.body.len()))?;
        let is_closed = self.shared.close_session(u64::from_le_bytes(id));
        if message.flags & NEEDS_REPLY == 0 {
            return Ok(());
        }
        let body = u64::from(!is_closed).to_le_bytes().to_vec();
        Message::new(CLOSE_SESSION, REPLY, body).send(&self.stream)
    }

    fn hand_on(&mut self, message: &Message) -> Result<(), ConnectionError> {
        message.send(&self.inner)?;
        let handled = self.handler.handle_request();
        self.hand_back()?;
        let code = message.code;
        let mut back_end = self.back_end.lock().unwrap_or_else(PoisonError::into_inner);
        match (handled, back_end.problem.take()) {
            (Ok(()), None) => Ok(()),
            (_, Some(source)) => Err(ConnectionError::Setup { code, source }),
            (Err(error), None) => {
                let reason = error.to_string();
                Err(ConnectionError::Library { code, reason })
            }
        }
    }

    /// What the library answered.
    fn hand_back(&self) -> Result<(), ConnectionError> {
        let mut bytes = [0; HEADER_BYTES + BODY_BYTES_MAX];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        loop {
            let mut files = Vec::new();
            match receive_with(self.inner.as_fd(), &mut bytes, &mut files, flags) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
                    send_all(self.stream.as_fd(), &bytes[..count], &files)?;
                }
                Err(ConnectionError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
}
