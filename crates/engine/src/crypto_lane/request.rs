//! A crypto request as it crosses the ring: one cache line with its ticket.
//! Built only by a [`CryptoLane`](super::CryptoLane), which has checked every
//! address against regions that it keeps alive.
#![allow(
    unsafe_code,
    reason = "raw addresses cross threads: see each SAFETY comment"
)]

use std::cell::UnsafeCell;
use std::sync::Arc;

use crypto::{Chaining, Job, Kind, Operation, Segment, Segments, counter_after};

use super::session::Session;

/// One request. `Copy`, since it crosses a ring; and no longer than a cache
/// line less a ticket, since each line takes a trip between the cores both
/// ways. What most requests have fits; others describe themselves in their
/// ticket's row of the `SegmentTable`. The fields lie so that, behind a
/// ticket of four bytes, none straddles two of the 16-byte words that a line
/// is copied by.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct CryptoRequest {
    aad_bytes: u16,
    operation: Operation,
    form: Form,
    session: *const Session,
    /// First byte of the source; of a long one, its row.
    source: *mut u8,
    destination: *mut u8,
    iv: [u8; 16],
    aad: *mut u8,
    /// Of the source; of a long one, how many segments follow its first.
    source_bytes: u32,
    /// From the destination's first byte to the tag's; of a long one, how
    /// many segments follow the destination's first.
    tag_after: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    /// One segment each way, and lengths that follow from the source's.
    Short,
    /// Everything is in the row.
    Long,
    /// As `Short`, and the IV is what comes to stand before the destination.
    Chained,
}

// SAFETY: the pointers lead to a session, regions and a segment table that
// the lane keeps alive until the request is completed; `Session` is `Sync`,
// and bytes are only reached as `crypto::Backend` allows.
unsafe impl Send for CryptoRequest {}

/// The first or only segments of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) source: Segment,
    pub(super) destination: Segment,
    pub(super) aad: Segment,
    pub(super) tag: Segment,
}

impl CryptoRequest {
    /// When `parts` are all of it and their lengths are those that the kind
    /// has anyway.
    // Inlined, so that it is written once, into the ring's slot.
    #[inline(always)]
    pub(super) fn short(
        session: &Session,
        operation: Operation,
        iv: [u8; 16],
        parts: &Parts,
    ) -> Option<Self> {
        let kind = Kind {
            algorithm: session.algorithm(),
            operation,
        };
        let Parts {
            source,
            destination,
            aad,
            tag,
        } = parts;
        let is_usual = kind.destination_bytes(source.len) == Some(destination.len)
            && kind.algorithm.tag_bytes(operation) == tag.len;
        if !is_usual {
            return None;
        }
        let tag_after = if tag.len == 0 {
            0
        } else {
            // Exposed, since the tag may lie in another region: see `short_parts`.
            let (tag, destination) = (tag.address.expose_provenance(), destination.address.addr());
            i32::try_from(tag.wrapping_sub(destination).cast_signed()).ok()?
        };
        Some(Self {
            session,
            source: source.address,
            destination: destination.address,
            aad: aad.address,
            iv,
            source_bytes: u32::try_from(source.len).ok()?,
            tag_after,
            aad_bytes: u16::try_from(aad.len).ok()?,
            operation,
            form: Form::Short,
        })
    }

    /// With everything in `row`: `source_rest` and `destination_rest` segments
    /// follow the parts.
    pub(super) fn long(
        session: &Session,
        operation: Operation,
        iv: [u8; 16],
        row: *const Segment,
        source_rest: u16,
        destination_rest: u16,
    ) -> Self {
        Self {
            session,
            source: row.cast_mut().cast(),
            destination: std::ptr::null_mut(),
            aad: std::ptr::null_mut(),
            iv,
            source_bytes: source_rest.into(),
            tag_after: destination_rest.into(),
            aad_bytes: 0,
            operation,
            form: Form::Long,
        }
    }

    /// Whether it is of the same session and operation, and so of one kind.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (self.session, other.session);
        std::ptr::eq(own, others) && self.operation == other.operation
    }

    /// What to do with which algorithm.
    ///
    /// # Safety
    /// The request is in flight, so that the lane keeps its session alive.
    pub(super) unsafe fn kind(&self) -> Kind {
        // SAFETY: forwarded from the caller.
        let session = unsafe { &*self.session };
        Kind {
            algorithm: session.algorithm(),
            operation: self.operation,
        }
    }

    /// Its kind as a number: below those of algorithms times operations.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    #[inline]
    pub(super) unsafe fn kind_number(&self) -> usize {
        // SAFETY: forwarded from the caller.
        let session = unsafe { &*self.session };
        session.algorithm_number() * Operation::ALL.len() + self.operation as usize
    }

    /// Bytes to work on: those of the source.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    #[inline]
    pub(super) unsafe fn bytes(&self) -> usize {
        match self.form {
            Form::Short | Form::Chained => self.source_bytes as usize,
            // SAFETY: forwarded from the caller.
            Form::Long => unsafe { self.long_bytes() },
        }
    }

    /// And those that are only authenticated.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    #[inline]
    pub(super) unsafe fn aad_bytes(&self) -> usize {
        match self.form {
            Form::Short | Form::Chained => self.aad_bytes.into(),
            // SAFETY: forwarded from the caller; the row has four segments.
            Form::Long => unsafe { (*self.source.cast::<Segment>().wrapping_add(2)).len },
        }
    }

    /// Segments beyond the first of the source and of the destination.
    #[inline]
    pub(super) fn rest_segments(&self) -> u64 {
        match self.form {
            Form::Short | Form::Chained => 0,
            Form::Long => u64::from(self.source_bytes) + u64::from(self.tag_after.unsigned_abs()),
        }
    }

    /// # Safety
    /// As for [`Self::kind`].
    #[inline(never)]
    unsafe fn long_bytes(&self) -> usize {
        let row: *const Segment = self.source.cast();
        // SAFETY: forwarded from the caller; the row has that many segments,
        // written before the request was submitted.
        let len = |index: usize| unsafe { (*row.wrapping_add(index)).len };
        let rest = PARTS..PARTS + self.source_bytes as usize;
        rest.map(len).fold(len(0), usize::saturating_add)
    }

    /// Cuts the first `bytes`, whole blocks, off: the request becomes the
    /// rest, to be done after them. `None` when it is of a kind or in a form
    /// that cannot be cut, or one that the back-end will refuse as a whole.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    pub(super) unsafe fn split(&mut self, bytes: usize) -> Option<Self> {
        // SAFETY: forwarded from the caller.
        let chaining = unsafe { self.kind() }.chaining()?;
        let len = self.source_bytes as usize;
        let (source, destination) = (self.source.addr(), self.destination.addr());
        let is_apart = source == destination || source.abs_diff(destination) >= len;
        let is_whole = chaining == Chaining::Counted || len.is_multiple_of(BLOCK_BYTES);
        if self.form != Form::Short || !is_apart || !is_whole || len <= bytes {
            return None;
        }
        let first = Self {
            source_bytes: u32::try_from(bytes).ok()?,
            ..*self
        };
        match chaining {
            Chaining::Independent => {}
            Chaining::Counted => self.iv = counter_after(self.iv, bytes),
            Chaining::Written => self.form = Form::Chained,
            // Read now, since it may be overwritten by the time it is needed.
            // SAFETY: forwarded from the caller: the source is readable.
            Chaining::Read => unsafe {
                self.iv = block_before(self.source.wrapping_add(bytes));
            },
        }
        self.source = self.source.wrapping_add(bytes);
        self.destination = self.destination.wrapping_add(bytes);
        self.source_bytes -= first.source_bytes;
        Some(first)
    }

    /// What comes before the rest of a request is done.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    pub(super) unsafe fn resume(&mut self) {
        if self.form == Form::Chained {
            // SAFETY: the piece before it ended there.
            self.iv = unsafe { block_before(self.destination) };
            self.form = Form::Short;
        }
    }

    /// Whether that worker still has its key.
    ///
    /// # Safety
    /// As for [`Self::job`].
    pub(super) unsafe fn has_key(&self, worker: usize) -> bool {
        // SAFETY: forwarded from the caller.
        unsafe { (*self.session).key(worker).is_some() }
    }

    /// As the back-end wants it, with the key of that worker.
    ///
    /// # Safety
    /// As for [`Self::kind`], for as long as the job is used; and the caller
    /// is that worker of the session's engine.
    ///
    /// # Panics
    /// Without a key: see [`has_key`](Self::has_key).
    // Inlined, so that it is built in the list of jobs: see `Consumer::drain`.
    #[inline(always)]
    pub(super) unsafe fn job<'k>(&self, worker: usize) -> Job<'k> {
        // SAFETY: forwarded from the caller.
        let session: &'k Session = unsafe { &*self.session };
        // SAFETY: forwarded from the caller.
        let key = unsafe { session.key(worker) };
        let key = key.expect("a request without a key is not processed");
        let kind = Kind {
            algorithm: session.algorithm(),
            operation: self.operation,
        };
        let (source, destination, aad, tag) = match self.form {
            Form::Short | Form::Chained => self.short_parts(kind),
            // SAFETY: forwarded from the caller.
            Form::Long => unsafe { self.long_parts() },
        };
        Job {
            key,
            source,
            destination,
            iv: self.iv,
            aad,
            tag,
        }
    }

    #[inline(always)]
    fn short_parts(&self, kind: Kind) -> (Segments, Segments, Segment, Segment) {
        let segment = |address, len| Segment { address, len };
        let source_bytes = self.source_bytes as usize;
        let destination_bytes = kind
            .destination_bytes(source_bytes)
            .expect("a request is short only where the length follows");
        let tag_bytes = kind.algorithm.tag_bytes(self.operation);
        let tag = if tag_bytes == 0 {
            Segment::EMPTY
        } else {
            let after = self.tag_after as isize;
            let address = self.destination.addr().wrapping_add_signed(after);
            segment(std::ptr::with_exposed_provenance_mut(address), tag_bytes)
        };
        (
            Segments::one(segment(self.source, source_bytes)),
            Segments::one(segment(self.destination, destination_bytes)),
            segment(self.aad, self.aad_bytes.into()),
            tag,
        )
    }

    /// # Safety
    /// As for [`Self::kind`].
    #[inline(never)]
    unsafe fn long_parts(&self) -> (Segments, Segments, Segment, Segment) {
        let row: *const Segment = self.source.cast();
        // SAFETY: the client wrote the parts before it submitted, and does
        // not touch the row before the completion.
        let [source, destination, aad, tag] = unsafe { row.cast::<[Segment; 4]>().read() };
        let rest = row.wrapping_add(PARTS);
        let segments = |first, rest, rest_count| Segments {
            first,
            rest,
            rest_count,
        };
        let destination_rest = self.tag_after.unsigned_abs();
        (
            segments(source, rest, self.source_bytes),
            segments(
                destination,
                rest.wrapping_add(self.source_bytes as usize),
                destination_rest,
            ),
            aad,
            tag,
        )
    }
}

/// The block that ends at `end`. Volatile, since the client may write there
/// at any time; it then spoils no result but its own.
///
/// # Safety
/// The bytes are readable.
unsafe fn block_before(end: *const u8) -> [u8; BLOCK_BYTES] {
    let block = end.wrapping_sub(BLOCK_BYTES).cast::<[u8; BLOCK_BYTES]>();
    // SAFETY: forwarded from the caller; bytes have no alignment.
    unsafe { block.read_volatile() }
}

/// The block of AES.
const BLOCK_BYTES: usize = 16;

/// Segments of [`Parts`].
const PARTS: usize = 4;

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
    /// Room for `depth` requests of up to `segments` segments each way.
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
            // SAFETY: nobody reads a free ticket's row, and only we write.
            unsafe { *cell.get() = segment };
        }
        cells.as_ptr().cast()
    }
}
