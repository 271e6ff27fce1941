//! A crypto request as it crosses the ring: one cache line with its ticket.
//! Built only by a [`CryptoLane`](super::CryptoLane), which has checked every
//! address against regions that it keeps alive.
#![allow(
    unsafe_code,
    reason = "raw addresses cross threads: see each SAFETY comment"
)]

use crypto::{Job, Kind, Operation, Segment, Segments};

use super::session::Session;
use super::table::PARTS;

/// One request. `Copy`, since it crosses a ring; and no longer than a cache
/// line less a ticket, since each line takes a trip between the cores both
/// ways. What most requests have fits; others describe themselves in their
/// ticket's row of the `SegmentTable`. The fields lie so that, behind a
/// ticket of four bytes, none straddles two of the 16-byte words that a line
/// is copied by.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(4))]
pub struct CryptoRequest {
    /// Of a kept one, the number of its [`Between`](crypto::Between).
    pub(super) aad_bytes: u16,
    pub(super) operation: Operation,
    pub(super) form: Form,
    pub(super) session: *const Session,
    pub(super) source: *mut u8,
    /// First byte; of a long one, how many bytes of its lists are before it.
    pub(super) destination: *mut u8,
    pub(super) iv: [u8; 16],
    /// First byte; of a long one, how many bytes of its source it works on.
    pub(super) aad: *mut u8,
    pub(super) source_bytes: u32,
    /// From the destination's first byte to the tag's; of a long one, how
    /// many segments follow the destination's first.
    pub(super) tag_after: i32,
}

/// Flags of a request. Without any, it has one segment each way, and lengths that
/// follow from the source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form(u8);

impl Form {
    pub(super) const SHORT: Self = Self(0);
    pub(super) const LONG: Self = Self(1);
    /// A piece of a request, or what is left of one.
    pub(super) const PART: Self = Self(1 << 1);
    /// Its IV is the block before the destination.
    pub(super) const CHAINED: Self = Self(1 << 2);
    /// Of its message something is kept between the pieces.
    pub(super) const KEPT: Self = Self(1 << 3);
    pub(super) const MORE: Self = Self(1 << 4);
    /// What it opens others could read before it is known to be good.
    pub(super) const SHARED: Self = Self(1 << 5);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

// SAFETY: the pointers lead to a session, regions and a segment table that
// the lane keeps alive until the request is completed; `Session` is `Sync`,
// and bytes are only reached as `crypto::Backend` allows.
unsafe impl Send for CryptoRequest {}

#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) source: Segment,
    pub(super) destination: Segment,
    pub(super) aad: Segment,
    pub(super) tag: Segment,
}

impl CryptoRequest {
    /// For requests whose `parts` are complete and have the lengths that the kind
    /// implies; `SHORT`, or `SHARED`.
    // Inlined, so that it is written once, into the ring's slot.
    #[inline(always)]
    pub(super) fn short(
        session: &Session,
        operation: Operation,
        iv: [u8; 16],
        parts: &Parts,
        form: Form,
    ) -> Option<Self> {
        let kind = Kind::new(session.algorithm(), operation);
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
            form,
        })
    }

    /// With everything in `row`: `source_rest` and `destination_rest` segments
    /// follow the parts; on `bytes` in all.
    pub(super) fn long(
        session: &Session,
        operation: Operation,
        iv: [u8; 16],
        row: *const Segment,
        bytes: usize,
        source_rest: u16,
        destination_rest: u16,
    ) -> Self {
        Self {
            session,
            source: row.cast_mut().cast(),
            destination: number(0),
            aad: number(bytes),
            iv,
            source_bytes: source_rest.into(),
            tag_after: destination_rest.into(),
            aad_bytes: 0,
            operation,
            form: Form::LONG,
        }
    }

    pub(super) fn with(mut self, form: Form) -> Self {
        self.form = self.form.with(form);
        self
    }

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
        Kind::new(session.algorithm(), self.operation)
    }

    /// Its kind as a number: below those of algorithms and costs of sectors, times operations.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    #[inline]
    pub(super) unsafe fn kind_number(&self) -> usize {
        // SAFETY: forwarded from the caller.
        let session = unsafe { &*self.session };
        session.algorithm_number() * Operation::ALL.len() + self.operation as usize
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        if self.form.has(Form::LONG) {
            self.aad.addr()
        } else {
            self.source_bytes as usize
        }
    }

    /// And those that are only authenticated.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    #[inline]
    pub(super) unsafe fn all_bytes(&self) -> usize {
        if self.form.has(Form::LONG.with(Form::KEPT)) {
            // SAFETY: forwarded from the caller.
            unsafe { self.all_bytes_of_others() }
        } else {
            self.source_bytes as usize + usize::from(self.aad_bytes)
        }
    }

    /// # Safety
    /// As for [`Self::kind`].
    #[inline(never)]
    unsafe fn all_bytes_of_others(&self) -> usize {
        if !self.form.has(Form::LONG) {
            // Of what is kept between pieces, nothing is only authenticated.
            return self.source_bytes as usize;
        }
        // SAFETY: forwarded from the caller; the row has four segments.
        let aad = unsafe { (*self.source.cast::<Segment>().wrapping_add(2)).len };
        self.bytes().saturating_add(aad)
    }

    #[inline]
    pub(super) fn rest_segments(&self) -> u64 {
        if self.form.has(Form::LONG) {
            u64::from(self.source_bytes) + u64::from(self.tag_after.unsigned_abs())
        } else {
            0
        }
    }

    /// Whether the back-end is not given it with others.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        const ANY: Form = Form::LONG.with(Form::KEPT).with(Form::SHARED);
        self.form.has(ANY)
            && (self
                .form
                .has(Form::KEPT.with(Form::SHARED).with(Form::PART))
                || self.rest_segments() >= SEGMENTS_ALONE)
    }

    /// Whether it is a piece of a request, or what is left of one.
    pub(super) fn is_part(&self) -> bool {
        self.form.has(Form::PART)
    }

    /// Whether what it opens is not to be seen before it is known to be good.
    pub(super) fn is_into_shared_memory(&self) -> bool {
        self.form.has(Form::SHARED)
    }

    /// The number of what is kept of its message, and whether other pieces follow.
    pub(super) fn kept(&self) -> Option<(u16, bool)> {
        let is_kept = self.form.has(Form::KEPT);
        is_kept.then(|| (self.aad_bytes, self.form.has(Form::MORE)))
    }

    pub(super) fn keep(&mut self, number: u16) {
        self.form = self.form.with(Form::KEPT);
        self.aad_bytes = number;
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
        let kind = Kind::new(session.algorithm(), self.operation);
        let (source, destination, aad, tag) = if self.form.has(Form::LONG) {
            // SAFETY: forwarded from the caller.
            unsafe { self.long_parts() }
        } else {
            self.short_parts(kind)
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

pub(super) fn number(number: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(number)
}

/// From that many segments on, beyond the first of source and destination, a request is
/// not done with others: what it cost is measured, and charged to whom it is of.
const SEGMENTS_ALONE: u64 = 8;
