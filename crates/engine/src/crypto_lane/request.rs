//! A crypto request as it crosses the ring: plain addresses, about two cache
//! lines. Built only by a [`CryptoLane`](super::CryptoLane), which has checked
//! every address against regions that it keeps alive.
#![allow(
    unsafe_code,
    reason = "raw addresses cross threads: see each SAFETY comment"
)]

use std::cell::UnsafeCell;
use std::sync::Arc;

use crypto::{Kind, Segment, Segments};

use super::session::Session;

/// One request. `Copy`, since it crosses a ring; laid out small, since every
/// line of it moves from core to core. Segments beyond the first of source
/// and destination lie in the ticket's row of the segment table.
#[derive(Clone, Copy, Debug)]
pub struct CryptoRequest {
    pub(super) session: *const Session,
    pub(super) source: Segment,
    pub(super) destination: Segment,
    pub(super) aad: Segment,
    pub(super) tag: Segment,
    pub(super) iv: [u8; 16],
    pub(super) rest: *const Segment,
    pub(super) source_rest: u16,
    pub(super) destination_rest: u16,
    pub(super) kind: Kind,
}

impl CryptoRequest {
    pub(super) fn source(&self) -> Segments {
        Segments {
            first: self.source,
            rest: self.rest,
            rest_count: self.source_rest.into(),
        }
    }

    pub(super) fn destination(&self) -> Segments {
        let rest = self.rest.wrapping_add(self.source_rest.into());
        Segments {
            first: self.destination,
            rest,
            rest_count: self.destination_rest.into(),
        }
    }
}

// SAFETY: the pointers lead to a session, regions and a segment table that
// the lane keeps alive until the request is completed; `Session` is `Sync`,
// and bytes are only reached as `crypto::Backend` allows.
unsafe impl Send for CryptoRequest {}

/// Segments beyond the first of each request in flight: a row a ticket, with
/// the source's and then the destination's.
#[derive(Debug)]
pub(super) struct SegmentTable {
    cells: Box<[UnsafeCell<Segment>]>,
    row: usize,
}

// SAFETY: a row is written by the client only while its ticket is free and
// read by the worker only while it is in flight; the ring orders the two.
unsafe impl Sync for SegmentTable {}

impl SegmentTable {
    /// Room for `depth` requests of up to `segments` segments each way.
    pub(super) fn new(depth: usize, segments: usize) -> Arc<Self> {
        let row = segments.saturating_sub(1) * 2;
        let cells = (0..depth * row)
            .map(|_| UnsafeCell::new(Segment::EMPTY))
            .collect();
        Arc::new(Self { cells, row })
    }

    /// Where the row of `ticket` begins.
    pub(super) fn row(&self, ticket: u32) -> *const Segment {
        let begin = ticket as usize * self.row;
        self.cells[begin..begin + self.row].as_ptr().cast()
    }

    /// Stores segments in the row of `ticket`, beginning at its `offset`.
    ///
    /// # Safety
    /// The ticket is free, and the caller is the lane's only client.
    pub(super) unsafe fn store(
        &self,
        ticket: u32,
        offset: usize,
        segments: impl ExactSizeIterator<Item = Segment>,
    ) {
        let begin = ticket as usize * self.row + offset;
        let cells = &self.cells[begin..begin + segments.len()];
        for (cell, segment) in cells.iter().zip(segments) {
            // SAFETY: nobody reads a free ticket's row, and only we write.
            unsafe { *cell.get() = segment };
        }
    }
}
