//! Messages of the control socket: bytes and files in, messages out, and back. No socket
//! is needed to try it, and none is waited for.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use zeroize::Zeroizing;

use crate::connection::ConnectionError;

pub(crate) const HEADER_BYTES: usize = 12;

/// Largest body of a message: the library's own limit.
pub(crate) const BODY_BYTES_MAX: usize = 4096;

/// Most files that come with a message.
pub(crate) const FILES_MAX: usize = 32;

pub(crate) const VERSION: u32 = 1;
pub(crate) const REPLY: u32 = 1 << 2;
pub(crate) const NEEDS_REPLY: u32 = 1 << 3;

/// A message as it came, or as it is to go.
pub(crate) struct Message {
    pub(crate) code: u32,
    pub(crate) flags: u32,
    pub(crate) body: Zeroizing<Vec<u8>>,
    pub(crate) files: Vec<OwnedFd>,
}

impl Message {
    pub(crate) fn new(code: u32, flags: u32, body: Vec<u8>) -> Self {
        Self {
            code,
            flags: flags | VERSION,
            body: Zeroizing::new(body),
            files: Vec::new(),
        }
    }

    /// As it goes, without its files.
    pub(crate) fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let bytes = u32::try_from(self.body.len()).expect("a message is short");
        let fields = [self.code, self.flags, bytes].map(u32::to_le_bytes);
        Zeroizing::new([fields.as_flattened(), &self.body].concat())
    }
}

/// The message that is on its way in. Never more than one: bytes are taken as far as the
/// message goes, so that files stay with the message that they came with.
pub(crate) struct Incoming {
    /// Header, then body, as far as its length is known.
    bytes: Zeroizing<Vec<u8>>,
    have: usize,
    files: Vec<OwnedFd>,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            bytes: Zeroizing::new(vec![0; HEADER_BYTES]),
            have: 0,
            files: Vec::new(),
        }
    }
}

impl Incoming {
    /// Where the next bytes go: as many as the message still has, as far as that is known.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.have..]
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.have > 0
    }

    /// So many bytes came into the [`room`](Self::room), 0 at the end of the stream, with
    /// these files. The message, if it is whole.
    ///
    /// # Errors
    /// [`ConnectionError::Cut`], [`ConnectionError::Version`], [`ConnectionError::Long`]:
    /// what comes next makes no sense any more.
    pub(crate) fn came(
        &mut self,
        count: usize,
        files: impl IntoIterator<Item = OwnedFd>,
    ) -> Result<Option<Message>, ConnectionError> {
        self.files.extend(files);
        if count == 0 || self.files.len() > FILES_MAX {
            return Err(ConnectionError::Cut);
        }
        self.have += count;
        if self.have < self.bytes.len() {
            return Ok(None);
        }
        let field = |at: usize| {
            let bytes = self.bytes[at..].first_chunk().expect("three fields");
            u32::from_le_bytes(*bytes)
        };
        let (code, flags, bytes) = (field(0), field(4), field(8));
        if self.have == HEADER_BYTES {
            if flags & 3 != VERSION {
                return Err(ConnectionError::Version(flags & 3));
            }
            let len = usize::try_from(bytes).unwrap_or(usize::MAX);
            if len > BODY_BYTES_MAX {
                return Err(ConnectionError::Long(bytes));
            }
            if len > 0 {
                self.grow(HEADER_BYTES + len);
                return Ok(None);
            }
        }
        let whole = std::mem::take(self);
        Ok(Some(Message {
            code,
            flags,
            body: Zeroizing::new(whole.bytes[HEADER_BYTES..].to_vec()),
            files: whole.files,
        }))
    }

    /// Takes new memory: what a key was in is zeroised before it is given back.
    fn grow(&mut self, len: usize) {
        let mut bytes = Zeroizing::new(vec![0; len]);
        bytes[..self.have].copy_from_slice(&self.bytes[..self.have]);
        self.bytes = bytes;
    }
}

/// What is to go out and has not gone yet.
#[derive(Default)]
pub(crate) struct Outgoing {
    parts: VecDeque<(Zeroizing<Vec<u8>>, Vec<OwnedFd>)>,
    /// Bytes of the first part that have gone; its files went with the first of them.
    gone: usize,
}

impl Outgoing {
    pub(crate) fn push(&mut self, bytes: Zeroizing<Vec<u8>>, files: Vec<OwnedFd>) {
        if !bytes.is_empty() {
            self.parts.push_back((bytes, files));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// What goes next: bytes, and the files to send with the first of them.
    pub(crate) fn next(&self) -> Option<(&[u8], &[OwnedFd])> {
        let (bytes, files) = self.parts.front()?;
        let files: &[OwnedFd] = if self.gone == 0 { files } else { &[] };
        Some((&bytes[self.gone..], files))
    }

    pub(crate) fn went(&mut self, count: usize) {
        self.gone += count;
        if self
            .parts
            .front()
            .is_some_and(|part| self.gone >= part.0.len())
        {
            self.parts.pop_front();
            self.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use proptest::prelude::*;
    use sys::event::Event;

    use super::*;

    fn file() -> OwnedFd {
        let event = Event::new().unwrap();
        event.as_fd().try_clone_to_owned().unwrap()
    }

    proptest! {
        /// However a stream is cut, and whatever the pieces of what goes out are, what
        /// comes out is what went in, file by file.
        #[test]
        fn messages_come_out_as_they_went_in(
            messages in prop::collection::vec(
                (any::<u32>(), prop::collection::vec(any::<u8>(), 0..=64), 0_usize..3),
                1..6,
            ),
            cuts in prop::collection::vec(1_usize..20, 1..20),
        ) {
            let mut outgoing = Outgoing::default();
            for (code, body, files) in &messages {
                let message = Message::new(*code, REPLY, body.clone());
                outgoing.push(message.bytes(), (0..*files).map(|_| file()).collect());
            }
            let (mut incoming, mut got) = (Incoming::default(), Vec::new());
            let mut cuts = cuts.iter().cycle();
            while let Some((bytes, files)) = outgoing.next() {
                let room = incoming.room();
                let count = (*cuts.next().unwrap()).min(room.len()).min(bytes.len());
                room[..count].copy_from_slice(&bytes[..count]);
                let files = files.iter().map(|one| one.try_clone().unwrap());
                let files: Vec<_> = files.collect();
                outgoing.went(count);
                if let Some(message) = incoming.came(count, files).unwrap() {
                    got.push(message);
                }
            }
            prop_assert!(!incoming.is_begun() && outgoing.is_empty());
            prop_assert_eq!(got.len(), messages.len());
            for (got, (code, body, files)) in got.iter().zip(&messages) {
                prop_assert_eq!((got.code, got.flags), (*code, REPLY | VERSION));
                prop_assert_eq!(&got.body[..], &body[..]);
                prop_assert_eq!(got.files.len(), *files);
            }
        }

        /// Any bytes: an error or a message, and never more room than a message has.
        #[test]
        fn anything_is_taken_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            is_near in any::<bool>(),
        ) {
            let mut bytes = bytes;
            if is_near && bytes.len() >= HEADER_BYTES {
                let len = bytes[8] % 16;
                bytes[4..12].copy_from_slice(&[1, 0, 0, 0, len, 0, 0, 0]);
            }
            let (mut incoming, mut at) = (Incoming::default(), 0);
            while at < bytes.len() {
                let room = incoming.room();
                prop_assert!(!room.is_empty() && room.len() <= BODY_BYTES_MAX);
                let count = room.len().min(bytes.len() - at);
                room[..count].copy_from_slice(&bytes[at..at + count]);
                at += count;
                if incoming.came(count, []).is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn the_end_too_many_files_and_long_bodies_are_refused() {
        let mut incoming = Incoming::default();
        let is_cut = |came| matches!(came, Err(ConnectionError::Cut));
        assert!(is_cut(incoming.came(0, Vec::new())));
        let many = (0..=FILES_MAX).map(|_| file());
        assert!(is_cut(incoming.came(1, many.collect::<Vec<_>>())));
        let head = |flags: u32, bytes: u32| [1, flags, bytes].map(u32::to_le_bytes);
        for (flags, bytes) in [(VERSION, 4097), (VERSION, u32::MAX), (2, 0)] {
            let mut incoming = Incoming::default();
            incoming
                .room()
                .copy_from_slice(head(flags, bytes).as_flattened());
            assert!(incoming.came(HEADER_BYTES, []).is_err());
        }
    }
}
