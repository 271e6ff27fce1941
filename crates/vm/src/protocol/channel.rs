//! The host's side of the protocol: one request at a time, each with a
//! deadline.

mod error;
mod stream;

use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::frame::{Frame, FrameError, Kind, header_line};
use crate::deadline::Deadline;
pub use error::ChannelError;
use stream::Framed;
use sys::plain::plain;

const TEXT_BYTES_MAX: usize = 16 << 10;

/// Largest piece of output that the agent sends at once, bytes. It reads
/// 64 KiB at a time, and puts the last pieces together.
const PIECE_BYTES_MAX: usize = 4 << 20;

/// How much longer than its own limit the guest may take to report that limit: an
/// emulated guest on a busy host is slow.
const GRACE: Duration = Duration::from_secs(30);

const PATH_BYTES_MAX: usize = 4095;

/// What the guest reports when it is ready.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Hello {
    pub schema: u32,
    pub release: String,
    pub cpus: u32,
    /// `MemTotal`, KiB.
    pub memory_kib: u64,
    /// Seconds since the kernel started.
    pub uptime_s: f64,
    pub modules_failed: Vec<String>,
}

#[derive(Debug)]
pub struct Channel {
    framed: Framed,
    sequence: u32,
    is_broken: bool,
}

impl Channel {
    /// A channel over a connected stream to an agent that has not yet said hello.
    pub fn new(stream: UnixStream) -> Self {
        Self {
            framed: Framed::new(stream),
            sequence: 0,
            is_broken: false,
        }
    }

    /// The channel to the same agent over another stream, where its guest was moved.
    #[must_use]
    pub fn moved(self, stream: UnixStream) -> Self {
        Self {
            framed: Framed::new(stream),
            ..self
        }
    }

    pub const fn is_usable(&self) -> bool {
        !self.is_broken
    }

    /// Waits up to `limit` until the guest is ready. Call it once, first.
    ///
    /// # Errors
    ///
    /// [`ChannelError`]; none of them is recoverable here.
    pub fn hello(&mut self, limit: Duration) -> Result<Hello, ChannelError> {
        self.guarded(|channel| {
            let deadline = Deadline::after(limit);
            let frame = channel.answer(Kind::Hello, TEXT_BYTES_MAX, deadline)?;
            if frame.kind != Kind::Hello {
                return Err(unexpected(&frame, Kind::Hello));
            }
            let mut hello: Hello =
                serde_json::from_slice(&frame.payload).map_err(|source| ChannelError::Hello {
                    text: plain(&frame.payload),
                    source,
                })?;
            hello.release = plain(hello.release.as_bytes());
            for module in &mut hello.modules_failed {
                *module = plain(module.as_bytes());
            }
            Ok(hello)
        })
    }

    /// Runs a script, by busybox's shell unless its first line (`#!`) names another
    /// interpreter. Its standard input is empty; its output, both streams in one,
    /// goes to `live` as it comes. Returns its exit status, 128 + n if signal n ended
    /// it.
    ///
    /// After `limit` its session is killed. Processes that it left in the background
    /// are not, but their output goes nowhere.
    ///
    /// # Errors
    ///
    /// [`ChannelError::Timeout`] after `limit`, [`ChannelError::TooLarge`]
    /// past `output_bytes_max`; `live` has then had what came before. Others
    /// as they say.
    pub fn run(
        &mut self,
        script: &[u8],
        limit: Duration,
        output_bytes_max: u64,
        live: &mut dyn FnMut(&[u8]),
    ) -> Result<i32, ChannelError> {
        self.guarded(|channel| {
            let deadline = channel.begin(Kind::Run, output_bytes_max, limit, script)?;
            let mut room = output_bytes_max;
            loop {
                let room_now = usize::try_from(room).unwrap_or(usize::MAX);
                let payload_bytes_max = room_now.clamp(TEXT_BYTES_MAX, PIECE_BYTES_MAX);
                let frame = channel.answer(Kind::Run, payload_bytes_max, deadline)?;
                match frame.kind {
                    Kind::Output => {
                        room = rest(room, &frame)?;
                        live(&frame.payload);
                    }
                    Kind::End => return exit_status(&frame),
                    _ => {
                        return Err(refusal(
                            &frame,
                            Kind::Run,
                            "the script",
                            limit,
                            output_bytes_max,
                        ));
                    }
                }
            }
        })
    }

    /// Writes a file of the guest, with permissions `mode`, in one step: until
    /// all is there, `path` stays as it was. Folders above it are made.
    ///
    /// # Errors
    ///
    /// [`ChannelError::Failed`] with the guest's reason; others as they say.
    pub fn put(
        &mut self,
        path: &str,
        mode: u32,
        content: &[u8],
        limit: Duration,
    ) -> Result<(), ChannelError> {
        check_path(path)?;
        self.guarded(|channel| {
            let deadline = channel.begin(Kind::Put, octal(mode), limit, path.as_bytes())?;
            channel.send(Kind::Data, 0, limit, content, deadline)?;
            let frame = channel.answer(Kind::Put, TEXT_BYTES_MAX, deadline)?;
            match frame.kind {
                Kind::Done => Ok(()),
                _ => Err(refusal(&frame, Kind::Put, path, limit, 0)),
            }
        })
    }

    /// Reads a file of the guest, of at most `bytes_max` bytes; also those of
    /// `/proc`, `/sys` and debugfs, whose length is not known before. `limit`
    /// counts in whole seconds, at least one.
    ///
    /// # Errors
    ///
    /// [`ChannelError::TooLarge`] for a longer file, [`ChannelError::Timeout`]
    /// if reading it takes longer than `limit`, [`ChannelError::Failed`] with
    /// the guest's reason; others as they say.
    pub fn get(
        &mut self,
        path: &str,
        bytes_max: usize,
        limit: Duration,
    ) -> Result<Vec<u8>, ChannelError> {
        check_path(path)?;
        self.guarded(|channel| {
            let wanted = bytes_max as u64;
            let deadline = channel.begin(Kind::Get, wanted, limit, path.as_bytes())?;
            let frame = channel.answer(Kind::Get, bytes_max.max(TEXT_BYTES_MAX), deadline)?;
            match frame.kind {
                Kind::Data => rest(wanted, &frame).map(|_| frame.payload),
                _ => Err(refusal(&frame, Kind::Get, path, limit, wanted)),
            }
        })
    }

    /// Asks the guest to power off and waits up to `limit` until it agrees.
    ///
    /// # Errors
    ///
    /// [`ChannelError`], none of them recoverable: the channel ends here.
    pub fn bye(&mut self, limit: Duration) -> Result<(), ChannelError> {
        self.guarded(|channel| {
            channel.sequence += 1;
            let deadline = Deadline::after(limit);
            channel.send(Kind::Bye, 0, limit, b"", deadline)?;
            let frame = channel.answer(Kind::Bye, TEXT_BYTES_MAX, deadline)?;
            channel.is_broken = true;
            match frame.kind {
                Kind::Bye => Ok(()),
                _ => Err(refusal(&frame, Kind::Bye, "itself", limit, 0)),
            }
        })
    }

    /// Begins the next request; returns when its answer must be there.
    fn begin(
        &mut self,
        kind: Kind,
        value: u64,
        limit: Duration,
        payload: &[u8],
    ) -> Result<Deadline, ChannelError> {
        self.sequence += 1;
        let deadline = Deadline::after(limit + GRACE);
        self.send(kind, value, limit, payload, deadline)?;
        Ok(deadline)
    }

    fn send(
        &mut self,
        kind: Kind,
        value: u64,
        limit: Duration,
        payload: &[u8],
        deadline: Deadline,
    ) -> Result<(), ChannelError> {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let header = header_line(self.sequence, kind, value, limit_ms.max(1), payload.len());
        self.framed.send(header.as_bytes(), deadline)?;
        self.framed.send(payload, deadline)
    }

    fn answer(
        &mut self,
        request: Kind,
        payload_bytes_max: usize,
        deadline: Deadline,
    ) -> Result<Frame, ChannelError> {
        let frame = self.framed.receive(payload_bytes_max, deadline)?;
        if frame.sequence != self.sequence {
            return Err(ChannelError::Protocol(FrameError::WrongSequence {
                kind: frame.kind,
                found: frame.sequence,
                expected: self.sequence,
            }));
        }
        if request != Kind::Hello && frame.kind == Kind::Hello {
            return Err(unexpected(&frame, request));
        }
        Ok(frame)
    }

    fn guarded<T>(
        &mut self,
        request: impl FnOnce(&mut Self) -> Result<T, ChannelError>,
    ) -> Result<T, ChannelError> {
        if self.is_broken {
            return Err(ChannelError::Broken);
        }
        let answer = request(self);
        if let Err(error) = &answer {
            self.is_broken |= !error.is_recoverable();
        }
        answer
    }
}

fn unexpected(frame: &Frame, request: Kind) -> ChannelError {
    ChannelError::Protocol(FrameError::UnexpectedKind {
        kind: frame.kind,
        request,
    })
}

/// The meaning of an answer that is not the expected one.
fn refusal(
    frame: &Frame,
    request: Kind,
    what: &str,
    limit: Duration,
    bytes_max: u64,
) -> ChannelError {
    match frame.kind {
        Kind::Late => ChannelError::Timeout { limit },
        Kind::Over => ChannelError::TooLarge {
            limit: bytes_max,
            bytes: frame.value,
        },
        Kind::Fail => ChannelError::Failed {
            request,
            what: what.to_owned(),
            why: plain(&frame.payload),
        },
        _ => unexpected(frame, request),
    }
}

/// What may still come after this frame. The agent keeps to its limit, so more is a
/// violation of the protocol.
fn rest(room: u64, frame: &Frame) -> Result<u64, ChannelError> {
    let length = frame.payload.len() as u64;
    room.checked_sub(length).ok_or({
        ChannelError::Protocol(FrameError::PayloadTooLarge {
            kind: frame.kind,
            length,
            limit: usize::try_from(room).unwrap_or(usize::MAX),
        })
    })
}

fn exit_status(frame: &Frame) -> Result<i32, ChannelError> {
    u8::try_from(frame.value)
        .map(i32::from)
        .map_err(|_| unexpected(frame, Kind::Run))
}

fn check_path(path: &str) -> Result<(), ChannelError> {
    if path.starts_with('/') && !path.contains('\0') && path.len() <= PATH_BYTES_MAX {
        return Ok(());
    }
    Err(ChannelError::BadPath {
        path: path.to_owned(),
    })
}

/// Permissions in the digits that `chmod` reads, as a decimal number.
fn octal(mode: u32) -> u64 {
    (0..4).fold(0, |sum, place| {
        sum + u64::from(mode >> (3 * place) & 7) * 10_u64.pow(place)
    })
}
