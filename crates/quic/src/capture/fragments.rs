//! IP fragments, put together (RFC 791, section 3.2; RFC 8200, section 4.5).

use std::collections::VecDeque;
use std::net::IpAddr;
use std::ops::Range;

/// That wait for more fragments at a time, 64 KiB each; a further one drops the oldest.
pub const DATAGRAMS_MAX: usize = 64;
/// How long the first fragment waits for the last, by the capture's time (RFC 8200).
pub const HELD_NS_MAX: u64 = 60_000_000_000;

const DATAGRAM_BYTES_MAX: usize = 65_535;
/// Fragments begin at multiples of it.
const UNIT_BYTES: usize = 8;

/// What fragments of one datagram have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    ends: (IpAddr, IpAddr),
    identification: u32,
}

impl Key {
    pub fn new(ends: (IpAddr, IpAddr), identification: impl Into<u32>) -> Self {
        let identification = identification.into();
        Self {
            ends,
            identification,
        }
    }
}

pub(super) struct Part<'f> {
    pub key: Key,
    pub offset_bytes: usize,
    pub more: bool,
    pub next_header: u8,
    pub bytes: &'f [u8],
}

impl Part<'_> {
    fn range(&self) -> Range<usize> {
        self.offset_bytes..self.offset_bytes + self.bytes.len()
    }

    fn is_valid(&self) -> bool {
        let is_unit = !self.more || self.bytes.len().is_multiple_of(UNIT_BYTES);
        is_unit && !self.bytes.is_empty() && self.range().end <= DATAGRAM_BYTES_MAX
    }
}

pub(super) struct Whole {
    pub bytes: Vec<u8>,
    /// Of the first fragment.
    pub next_header: u8,
    pub frames: u64,
}

#[derive(Default)]
pub(super) struct Fragments {
    /// The oldest first.
    held: VecDeque<Held>,
    dropped: u64,
}

impl Fragments {
    /// The datagram that this part completes.
    pub fn add(&mut self, time_ns: u64, part: &Part<'_>) -> Option<Whole> {
        if !part.is_valid() {
            self.dropped += 1;
            return None;
        }
        let at = self.place(time_ns, part.key);
        let held = &mut self.held[at];
        held.add(part);
        if !held.is_whole() {
            return None;
        }
        let held = self.held.remove(at).expect("it was just there");
        Some(Whole {
            bytes: held.bytes,
            next_header: held.next_header,
            frames: held.frames,
        })
    }

    /// Parts that are in no datagram: dropped, or still waiting.
    pub fn lost(&self) -> u64 {
        let waiting: u64 = self.held.iter().map(|held| held.frames).sum();
        self.dropped + waiting
    }

    /// Where parts with that key are collected.
    fn place(&mut self, time_ns: u64, key: Key) -> usize {
        let found = self.held.iter().position(|held| held.key == key);
        if let Some(at) = found {
            if self.held[at].time_ns.abs_diff(time_ns) <= HELD_NS_MAX {
                return at;
            }
            self.drop_at(at);
        } else if self.held.len() == DATAGRAMS_MAX {
            self.drop_at(0);
        }
        self.held.push_back(Held::new(time_ns, key));
        self.held.len() - 1
    }

    fn drop_at(&mut self, at: usize) {
        let held = self.held.remove(at);
        self.dropped += held.map_or(0, |held| held.frames);
    }
}

/// One datagram that is not whole yet.
struct Held {
    key: Key,
    time_ns: u64,
    bytes: Vec<u8>,
    /// Which units of [`UNIT_BYTES`] are there.
    covered: Vec<bool>,
    missing_units: usize,
    total_bytes: Option<usize>,
    next_header: u8,
    frames: u64,
    /// Parts disagreed; those that are still to come are none of another datagram.
    is_refused: bool,
}

impl Held {
    fn new(time_ns: u64, key: Key) -> Self {
        Self {
            key,
            time_ns,
            bytes: Vec::new(),
            covered: Vec::new(),
            missing_units: 0,
            total_bytes: None,
            next_header: 0,
            frames: 0,
            is_refused: false,
        }
    }

    fn is_whole(&self) -> bool {
        !self.is_refused && self.missing_units == 0 && self.total_bytes == Some(self.bytes.len())
    }

    fn add(&mut self, part: &Part<'_>) {
        self.frames += 1;
        if self.is_refused || self.is_repeat(part) {
            return;
        }
        let units = part.offset_bytes / UNIT_BYTES..part.range().end.div_ceil(UNIT_BYTES);
        if self.contradicts(part) || self.is_covered(&units) {
            self.refuse();
            return;
        }
        self.place(part, units);
    }

    /// The same again, as captures of several interfaces have it.
    fn is_repeat(&self, part: &Part<'_>) -> bool {
        let units = part.offset_bytes / UNIT_BYTES..part.range().end.div_ceil(UNIT_BYTES);
        let covered = self.covered.get(units);
        let is_there = covered.is_some_and(|units| units.iter().all(|is_there| *is_there));
        let is_last = part.more || self.total_bytes == Some(part.range().end);
        is_there && is_last && self.bytes.get(part.range()) == Some(part.bytes)
    }

    /// Another end than one said, or bytes beyond the end.
    fn contradicts(&self, part: &Part<'_>) -> bool {
        let end = part.range().end;
        let total = if part.more {
            self.total_bytes
        } else {
            Some(end)
        };
        let is_other_end = self.total_bytes.is_some_and(|known| total != Some(known));
        is_other_end || total.is_some_and(|total| end.max(self.bytes.len()) > total)
    }

    fn is_covered(&self, units: &Range<usize>) -> bool {
        let covered = self.covered.iter().take(units.end).skip(units.start);
        covered.into_iter().any(|is_there| *is_there)
    }

    fn place(&mut self, part: &Part<'_>, units: Range<usize>) {
        let range = part.range();
        if self.bytes.len() < range.end {
            self.missing_units += units.end - self.covered.len();
            self.bytes.resize(range.end, 0);
            self.covered.resize(units.end, false);
        }
        self.missing_units -= units.len();
        self.covered[units].fill(true);
        self.bytes[range.clone()].copy_from_slice(part.bytes);
        if range.start == 0 {
            self.next_header = part.next_header;
        }
        if !part.more {
            self.total_bytes = Some(range.end);
        }
    }

    fn refuse(&mut self) {
        self.is_refused = true;
        self.bytes = Vec::new();
        self.covered = Vec::new();
    }
}
