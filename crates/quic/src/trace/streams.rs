//! Streams as they were sent, put in order and digested.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::assembly::Assembly;
use super::routes::Side;

/// Of all connections: bytes that are held until those before them come, and streams, by
/// direction, whose digests are kept.
const HELD_BYTES_MAX: usize = 256 << 20;
const STREAMS_MAX: usize = 1 << 20;

/// What is left of these, for all who share it.
#[derive(Clone)]
pub(crate) struct Room(Rc<[Cell<usize>; 2]>);

impl Default for Room {
    fn default() -> Self {
        Self(Rc::new([HELD_BYTES_MAX, STREAMS_MAX].map(Cell::new)))
    }
}

impl Room {
    fn held_bytes(&self) -> &Cell<usize> {
        &self.0[0]
    }

    fn streams(&self) -> &Cell<usize> {
        &self.0[1]
    }
}

/// A stream in one direction, as far as the capture has it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct StreamDigest {
    pub id: u64,
    pub from: Side,
    /// Bytes from the first on without a gap.
    pub bytes: u64,
    /// Of these bytes, in hexadecimal digits.
    pub sha256: String,
    /// Whether these are all that the stream has.
    pub is_whole: bool,
    /// Whether its sender gave it up.
    pub is_reset: bool,
}

/// The streams that one side sends.
pub(crate) struct Streams {
    all: BTreeMap<u64, Stream>,
    room: Room,
    /// Parts that were left out, since too much would have been held.
    pub(crate) left_out: u64,
}

#[derive(Default)]
struct Stream {
    assembly: Assembly,
    digest: Sha256,
    bytes: Option<u64>,
    is_reset: bool,
}

impl Streams {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            all: BTreeMap::new(),
            room,
            left_out: 0,
        }
    }

    pub(crate) fn take(&mut self, id: u64, offset: u64, data: &[u8], is_last: bool) {
        let room = self.room.clone();
        let Some(stream) = self.stream(id) else {
            return;
        };
        if is_last {
            stream.bytes = Some(offset + data.len() as u64);
        }
        let Stream {
            assembly, digest, ..
        } = stream;
        let all = room.held_bytes().get() + assembly.held_bytes();
        let is_in = assembly.take(offset, data, all, |more| digest.update(more));
        room.held_bytes().set(all - assembly.held_bytes());
        self.left_out += u64::from(!is_in);
    }

    pub(crate) fn reset(&mut self, id: u64) {
        if let Some(stream) = self.stream(id) {
            stream.is_reset = true;
        }
    }

    fn stream(&mut self, id: u64) -> Option<&mut Stream> {
        if !self.all.contains_key(&id) {
            let Some(left) = self.room.streams().get().checked_sub(1) else {
                self.left_out += 1;
                return None;
            };
            self.room.streams().set(left);
        }
        Some(self.all.entry(id).or_default())
    }

    pub(crate) fn digests(&self, from: Side) -> impl Iterator<Item = StreamDigest> {
        self.all.iter().map(move |(id, stream)| StreamDigest {
            id: *id,
            from,
            bytes: stream.assembly.next(),
            sha256: hex(&stream.digest.clone().finalize()),
            is_whole: stream.bytes == Some(stream.assembly.next()),
            is_reset: stream.is_reset,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
