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

/// One request. `Copy`, since it crosses a ring.
#[derive(Clone, Copy, Debug)]
pub struct CryptoRequest {
    pub(super) kind: Kind,
    pub(super) session: *const Session,
    pub(super) source: Segments,
    pub(super) destination: Segments,
    pub(super) iv: [u8; 16],
    pub(super) aad: Segment,
    pub(super) tag: Segment,
}

// SAFETY: the pointers lead to a session, regions and a segment table that
// the lane keeps alive until the request is completed; `Session` is `Sync`,
// and bytes are only reached as `crypto::Backend` allows.
unsafe impl Send for CryptoRequest {}

/// Segments beyond the first of each request in flight: a row a ticket, the
/// source's first, then the destination's.
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

    /// Stores what is beyond the first segment in the row of `ticket`.
    ///
    /// # Safety
    /// The ticket is free, and the caller is the lane's only client.
    pub(super) unsafe fn store(
        &self,
        ticket: u32,
        is_destination: bool,
        segments: impl ExactSizeIterator<Item = Segment>,
    ) -> Segments {
        let mut segments = segments;
        let Some(first) = segments.next() else {
            return Segments::EMPTY;
        };
        let begin = ticket as usize * self.row + if is_destination { self.row / 2 } else { 0 };
        let cells = &self.cells[begin..begin + segments.len()];
        for (cell, segment) in cells.iter().zip(&mut segments) {
            // SAFETY: nobody reads a free ticket's row, and only we write.
            unsafe { *cell.get() = segment };
        }
        let rest = cells.as_ptr().cast::<Segment>();
        Segments {
            first,
            rest,
            rest_count: u32::try_from(cells.len()).expect("bounded by the row"),
        }
    }
}
