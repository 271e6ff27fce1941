//! Where requests describe themselves that are too long for a cache line.
#![allow(
    unsafe_code,
    reason = "client and worker share the rows: see the SAFETY comments"
)]

use std::cell::UnsafeCell;
use std::sync::Arc;

use crypto::Segment;

use super::request::Parts;

/// Segments of [`Parts`].
pub(super) const PARTS: usize = 4;

/// The segments of long requests in flight: a row a ticket, with the parts,
/// then the source's and the destination's other segments.
#[derive(Debug)]
pub(super) struct SegmentTable {
    cells: Box<[UnsafeCell<Segment>]>,
    row: usize,
}

// SAFETY: a row is written by the client only while its ticket is free and
// read by the worker only while it is in flight; the ring orders the two.
unsafe impl Sync for SegmentTable {}

impl SegmentTable {
    pub(super) fn new(depth: usize, segments: usize) -> Arc<Self> {
        let row = PARTS + segments.saturating_sub(1) * 2;
        let cells = (0..depth * row)
            .map(|_| UnsafeCell::new(Segment::EMPTY))
            .collect();
        Arc::new(Self { cells, row })
    }

    /// Stores a long request's segments in the row of `ticket`; where that is.
    ///
    /// # Safety
    /// The ticket is free, and the caller is the lane's only client.
    pub(super) unsafe fn store(
        &self,
        ticket: u32,
        parts: &Parts,
        rest: impl Iterator<Item = Segment>,
    ) -> *const Segment {
        let begin = ticket as usize * self.row;
        let cells = &self.cells[begin..begin + self.row];
        let parts = [parts.source, parts.destination, parts.aad, parts.tag];
        for (cell, segment) in cells.iter().zip(parts.into_iter().chain(rest)) {
            // SAFETY: no one else reads a free ticket's row, and only the client writes.
            unsafe { *cell.get() = segment };
        }
        cells.as_ptr().cast()
    }
}
