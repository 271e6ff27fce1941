//! Frames on the byte stream between host and guest: pure, no I/O.
//!
//! A frame is one line of text and a payload of as many bytes as it says:
//!
//! ```text
//! LG1 <sequence> <kind> <value> <limit> <length>\n<payload>
//! ```
//!
//! Numbers are decimal without leading zeros, one space between fields, so
//! that each frame has exactly one spelling. A shell can read and write it.

use std::fmt;

pub const HEADER_BYTES_MAX: usize = 128;

/// The first word of every header: the protocol and its version.
const MAGIC: &str = "LG1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Hello,
    /// Host: run the script in the payload. Value: most bytes of output.
    /// Limit: milliseconds until it is killed.
    Run,
    Output,
    /// Guest: the script ended. Value: exit status, 128 + n for signal n.
    End,
    /// Guest: the script reached its time limit and was killed. Value: as
    /// of [`Kind::End`].
    Late,
    /// Guest: what was asked for is larger than the host wanted, and was
    /// ended. Value: bytes that were there, at least.
    Over,
    /// Host: write a file. Value: its mode. Payload: its path. A
    /// [`Kind::Data`] with the content follows at once.
    Put,
    /// Host: read a file. Value: most bytes of it. Limit: milliseconds until
    /// reading it is given up. Payload: its path.
    Get,
    Data,
    Done,
    Fail,
    Bye,
}

impl Kind {
    pub const ALL: [Self; 12] = [
        Self::Hello,
        Self::Run,
        Self::Output,
        Self::End,
        Self::Late,
        Self::Over,
        Self::Put,
        Self::Get,
        Self::Data,
        Self::Done,
        Self::Fail,
        Self::Bye,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Run => "run",
            Self::Output => "output",
            Self::End => "end",
            Self::Late => "late",
            Self::Over => "over",
            Self::Put => "put",
            Self::Get => "get",
            Self::Data => "data",
            Self::Done => "done",
            Self::Fail => "fail",
            Self::Bye => "bye",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number of the request that this is, or answers; 0 for the hello.
    pub sequence: u32,
    pub kind: Kind,
    pub value: u64,
    pub limit: u64,
    pub payload: Vec<u8>,
}

impl Frame {
    /// Appends header and payload to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = self.payload.len();
        let header = header_line(self.sequence, self.kind, self.value, self.limit, length);
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(&self.payload);
    }
}

pub(super) fn header_line(
    sequence: u32,
    kind: Kind,
    value: u64,
    limit: u64,
    length: usize,
) -> String {
    format!("{MAGIC} {sequence} {kind} {value} {limit} {length}\n")
}

/// Why a stream of bytes is not a stream of frames. The stream is broken: the decoder
/// does not search for the next frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No line feed where a header must have ended.
    #[error("a header has no end within {HEADER_BYTES_MAX} bytes: it begins {start:?}")]
    HeaderTooLong { start: String },
    #[error("{header:?} is not a header: `LG1 sequence kind value limit length` is expected")]
    NotAHeader { header: String },
    #[error("field {field} of the header {header:?} is not a whole number in its range")]
    BadNumber { field: &'static str, header: String },
    #[error("{word:?} is not a kind of frame: both ends must speak LG1")]
    UnknownKind { word: String },
    #[error("a frame `{kind}` announces {length} bytes, more than the {limit} that may come")]
    PayloadTooLarge {
        kind: Kind,
        length: u64,
        limit: usize,
    },
    #[error("a frame `{kind}` of request {found} came where request {expected} is answered")]
    WrongSequence {
        kind: Kind,
        found: u32,
        expected: u32,
    },
    #[error("a frame `{kind}` does not answer `{request}`")]
    UnexpectedKind { kind: Kind, request: Kind },
    #[error("the stream was broken before: start the guest again")]
    Broken,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    sequence: u32,
    kind: Kind,
    value: u64,
    limit: u64,
    length: usize,
}

/// Reads frames from bytes that come in any pieces. It holds at most one
/// header and one payload, never more than the limits.
#[derive(Debug)]
pub struct Decoder {
    payload_bytes_max: usize,
    line: Vec<u8>,
    header: Option<Header>,
    payload: Vec<u8>,
    is_broken: bool,
}

impl Decoder {
    /// A decoder that accepts payloads of up to `payload_bytes_max` bytes.
    pub const fn new(payload_bytes_max: usize) -> Self {
        Self {
            payload_bytes_max,
            line: Vec::new(),
            header: None,
            payload: Vec::new(),
            is_broken: false,
        }
    }

    /// The most bytes that payloads of frames yet to begin may have.
    pub const fn limit_payloads(&mut self, payload_bytes_max: usize) {
        self.payload_bytes_max = payload_bytes_max;
    }

    /// Bytes held for a frame that is not complete.
    pub const fn bytes_held(&self) -> usize {
        self.line.capacity() + self.payload.capacity()
    }

    /// Takes bytes from the front of `bytes`, up to the end of one frame.
    /// Returns `None` once all are taken and the frame still lacks some.
    ///
    /// # Errors
    ///
    /// [`FrameError`] when the bytes are no frame; from then on always.
    pub fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if self.is_broken {
            return Err(FrameError::Broken);
        }
        let taken = self.take(bytes);
        self.is_broken = taken.is_err();
        taken
    }

    fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        let header = match self.header {
            Some(header) => header,
            None => match self.take_header(bytes)? {
                Some(header) => header,
                None => return Ok(None),
            },
        };
        self.header = Some(header);
        let lacking = header.length - self.payload.len();
        let (now, later) = bytes.split_at(lacking.min(bytes.len()));
        // What a peer announced and never sent takes no memory; and growth
        // by doubling would pass the limit.
        let room_wanted = (self.payload.len() + now.len())
            .next_power_of_two()
            .min(header.length);
        self.payload
            .reserve_exact(room_wanted.saturating_sub(self.payload.len()));
        self.payload.extend_from_slice(now);
        *bytes = later;
        if self.payload.len() < header.length {
            return Ok(None);
        }
        self.header = None;
        Ok(Some(Frame {
            sequence: header.sequence,
            kind: header.kind,
            value: header.value,
            limit: header.limit,
            payload: std::mem::take(&mut self.payload),
        }))
    }

    fn take_header(&mut self, bytes: &mut &[u8]) -> Result<Option<Header>, FrameError> {
        let room = HEADER_BYTES_MAX - self.line.len();
        let window = &bytes[..room.min(bytes.len())];
        let end = window.iter().position(|byte| *byte == b'\n');
        let (now, used) = match end {
            Some(end) => (&window[..end], end + 1),
            None => (window, window.len()),
        };
        self.line.reserve_exact(now.len());
        self.line.extend_from_slice(now);
        *bytes = &bytes[used..];
        if end.is_none() {
            return if self.line.len() < HEADER_BYTES_MAX {
                Ok(None)
            } else {
                Err(FrameError::HeaderTooLong {
                    start: String::from_utf8_lossy(&self.line[..32]).into_owned(),
                })
            };
        }
        let line = std::mem::take(&mut self.line);
        parse_header(&line, self.payload_bytes_max).map(Some)
    }
}

fn parse_header(line: &[u8], payload_bytes_max: usize) -> Result<Header, FrameError> {
    let not_a_header = || FrameError::NotAHeader {
        header: String::from_utf8_lossy(line).into_owned(),
    };
    let text = std::str::from_utf8(line).map_err(|_| not_a_header())?;
    let fields: Vec<&str> = text.split(' ').collect();
    let [MAGIC, sequence, word, value, limit, length] = fields[..] else {
        return Err(not_a_header());
    };
    let kind = Kind::from_word(word).ok_or_else(|| FrameError::UnknownKind {
        word: word.to_owned(),
    })?;
    let number = |field, digits| {
        number(digits).ok_or_else(|| FrameError::BadNumber {
            field,
            header: text.to_owned(),
        })
    };
    let length = number("length", length)?;
    let is_acceptable = |length: &usize| *length <= payload_bytes_max;
    Ok(Header {
        sequence: u32::try_from(number("sequence", sequence)?).map_err(|_| {
            FrameError::BadNumber {
                field: "sequence",
                header: text.to_owned(),
            }
        })?,
        kind,
        value: number("value", value)?,
        limit: number("limit", limit)?,
        length: usize::try_from(length).ok().filter(is_acceptable).ok_or(
            FrameError::PayloadTooLarge {
                kind,
                length,
                limit: payload_bytes_max,
            },
        )?,
    })
}

/// A number in its only spelling: digits, no sign, no leading zero.
fn number(digits: &str) -> Option<u64> {
    let is_canonical = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    is_canonical.then(|| digits.parse().ok()).flatten()
}
