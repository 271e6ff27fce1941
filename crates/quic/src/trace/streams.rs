//! Streams as they were sent, put in order and digested.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::assembly::Assembly;
use super::routes::Side;

/// Bytes of one stream that are held until those before them come.
const HELD_BYTES_MAX: usize = 16 << 20;
/// Streams of one direction of a connection whose digests are kept.
const STREAMS_MAX: usize = 1 << 16;

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
#[derive(Default)]
pub(crate) struct Streams {
    all: BTreeMap<u64, Stream>,
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
    pub(crate) fn take(&mut self, id: u64, offset: u64, data: &[u8], is_last: bool) {
        let Some(stream) = self.stream(id) else {
            return;
        };
        if is_last {
            stream.bytes = Some(offset + data.len() as u64);
        }
        let Stream {
            assembly, digest, ..
        } = stream;
        let is_in = assembly.take(offset, data, HELD_BYTES_MAX, |more| digest.update(more));
        self.left_out += u64::from(!is_in);
    }

    pub(crate) fn reset(&mut self, id: u64) {
        if let Some(stream) = self.stream(id) {
            stream.is_reset = true;
        }
    }

    fn stream(&mut self, id: u64) -> Option<&mut Stream> {
        let is_known = self.all.contains_key(&id);
        if !is_known && self.all.len() >= STREAMS_MAX {
            self.left_out += 1;
            return None;
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
