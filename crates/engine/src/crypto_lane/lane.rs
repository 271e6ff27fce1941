//! The client's side: requests in terms of regions and offsets, checked
//! before they become addresses.
#![allow(
    unsafe_code,
    reason = "writes the segment table: see the SAFETY comment"
)]

use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crypto::{Operation, Segment};
use sys::memory::Mapping;

use super::call::{Call, CallError, REGIONS_MAX, RegionId, SESSIONS_MAX, SessionId, Span};
use super::request::{CryptoRequest, Form, Parts};
use super::session::{Seat, Session};
use super::slots::Slots;
use super::table::SegmentTable;
use crate::client::{Completion, Lane};
use crate::function::RequestLimit;
use crate::lane::{Hint, LaneError, Owner};
use crate::waiting::{Ready, WaitError};

const SEGMENTS_MAX: usize = 1024;

static LANES: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub struct CryptoLane {
    lane: Lane<CryptoRequest>,
    number: u64,
    regions: Slots<Arc<Mapping>>,
    has_shared: bool,
    sessions: Slots<Arc<Session>>,
    seat: Seat,
    table: Arc<SegmentTable>,
    segments_max: usize,
    bytes_max: usize,
}

impl CryptoLane {
    pub(super) fn new(
        lane: Lane<CryptoRequest>,
        seat: Seat,
        slab_bytes: usize,
        segments: usize,
        limit: RequestLimit,
    ) -> Result<Self, LaneError> {
        let segments_max = segments.clamp(1, SEGMENTS_MAX.min(limit.segments));
        let table = SegmentTable::new(lane.config().depth, segments_max);
        lane.retain(Arc::clone(&table) as Owner);
        let slab = Arc::new(Mapping::new(slab_bytes.max(1))?);
        lane.retain(Arc::clone(&slab) as Owner);
        let mut regions = Slots::new(REGIONS_MAX);
        regions.insert(slab);
        Ok(Self {
            lane,
            number: LANES.fetch_add(1, Ordering::Relaxed),
            seat,
            regions,
            has_shared: false,
            sessions: Slots::new(SESSIONS_MAX),
            table,
            segments_max,
            bytes_max: limit.bytes,
        })
    }

    /// Registers memory that requests may name.
    ///
    /// Where other processes can read it, the text of an AEAD of up to
    /// [`crypto::PRIVATE_BYTES_MAX`] bytes is written there only after its tag was
    /// checked. **A longer text is written before that**, see
    /// [`crypto::Private::open`].
    ///
    /// # Errors
    ///
    /// [`CallError::Regions`].
    pub fn register(&mut self, region: Arc<Mapping>) -> Result<RegionId, CallError> {
        let handle = self.regions.insert(Arc::clone(&region));
        let handle = handle.ok_or(CallError::Regions)?;
        self.has_shared |= region.is_shared();
        self.lane.retain(region as Owner);
        Ok(RegionId(handle))
    }

    /// From now on no request may name the region; its memory is kept until those in
    /// flight have been reaped.
    ///
    /// # Errors
    /// [`CallError::UnknownRegion`] or [`CallError::Slab`].
    pub fn unregister(&mut self, id: RegionId) -> Result<(), CallError> {
        if id == RegionId::SLAB {
            return Err(CallError::Slab);
        }
        let region = self.regions.remove(id.0);
        let region = region.ok_or(CallError::UnknownRegion(id))?;
        self.has_shared = self.regions.iter().any(|region| region.is_shared());
        self.lane.release(region as Owner);
        Ok(())
    }

    /// Attaches a session that requests may name.
    ///
    /// # Errors
    /// [`CallError::ForeignSession`], [`CallError::SessionEnded`],
    /// [`CallError::PublicKey`], [`CallError::Sessions`].
    pub fn attach(&mut self, session: &Arc<Session>) -> Result<SessionId, CallError> {
        if session.owner() != self.seat.owner {
            return Err(CallError::ForeignSession);
        }
        if session.is_ended() {
            return Err(CallError::SessionEnded);
        }
        let algorithm = session.algorithm();
        if algorithm.is_public_key() && !self.seat.takes_public_keys {
            let worker = self.seat.worker;
            return Err(CallError::PublicKey { algorithm, worker });
        }
        let handle = self.sessions.insert(Arc::clone(session));
        let handle = handle.ok_or(CallError::Sessions)?;
        self.lane.retain(Arc::clone(session) as Owner);
        Ok(SessionId {
            lane: self.number,
            handle,
        })
    }

    /// From now on no request may name the session; those in flight are done with it. Its
    /// keys are zeroised with its last holder.
    ///
    /// # Errors
    /// [`CallError::UnknownSession`].
    pub fn detach(&mut self, id: SessionId) -> Result<(), CallError> {
        let own = (id.lane == self.number).then_some(id.handle);
        let session = own.and_then(|handle| self.sessions.remove(handle));
        let session = session.ok_or(CallError::UnknownSession(id))?;
        self.lane.release(session as Owner);
        Ok(())
    }

    /// Submits a call and wakes the worker if it sleeps.
    ///
    /// # Errors
    /// [`CallError`]; the call was not started.
    pub fn submit(&mut self, call: &Call<'_>, token: u64) -> Result<(), CallError> {
        self.enqueue(call, token)?;
        self.lane.kick();
        Ok(())
    }

    /// Submits a call without looking whether the worker sleeps; see
    /// [`Lane::enqueue`].
    ///
    /// # Errors
    /// [`CallError`]; the call was not started.
    pub fn enqueue(&mut self, call: &Call<'_>, token: u64) -> Result<(), CallError> {
        self.enqueue_with(call, token, Hint::None)
    }

    /// [`enqueue`](Self::enqueue) with a hint.
    #[inline]
    pub fn enqueue_with(
        &mut self,
        call: &Call<'_>,
        token: u64,
        hint: Hint,
    ) -> Result<(), CallError> {
        let session = self.session(call.session)?;
        if session.is_ended() {
            return Err(CallError::SessionEnded);
        }
        let bytes = match call.source {
            [one] => one.len.saturating_add(call.aad.len),
            list => {
                let lens = list.iter().map(|span| span.len);
                lens.fold(call.aad.len, usize::saturating_add)
            }
        };
        if bytes > self.bytes_max {
            let limit = self.bytes_max;
            return Err(CallError::TooLong { bytes, limit });
        }
        let parts = Parts {
            source: self.first(call.source)?,
            destination: self.first(call.destination)?,
            aad: self.segment(&call.aad)?,
            tag: self.segment(&call.tag)?,
        };
        let form = if self.has_shared && self.opens_into_shared(session, call) {
            Form::SHARED
        } else {
            Form::SHORT
        };
        let is_one_each = call.source.len() <= 1 && call.destination.len() <= 1;
        if is_one_each
            && let Some(short) =
                CryptoRequest::short(session, call.operation, call.iv, &parts, form)
        {
            return Ok(self.lane.enqueue_with(short, token, hint)?);
        }
        let long = self.long(session, call, &parts)?.with(form);
        self.enqueue_long(long, token, hint)
    }

    /// Whether others can read where a text goes that may turn out forged.
    #[cold]
    fn opens_into_shared(&self, session: &Session, call: &Call<'_>) -> bool {
        let is_shared = |span: &Span| {
            let region = self.regions.get(span.region.0);
            region.is_some_and(|region| region.is_shared())
        };
        let opens = session.algorithm().is_authenticated() && call.operation == Operation::Decrypt;
        opens && call.destination.iter().any(is_shared)
    }

    #[inline(never)]
    fn enqueue_long(
        &mut self,
        long: CryptoRequest,
        token: u64,
        hint: Hint,
    ) -> Result<(), CallError> {
        Ok(self.lane.enqueue_with(long, token, hint)?)
    }

    fn session(&self, id: SessionId) -> Result<&Arc<Session>, CallError> {
        let own = (id.lane == self.number).then_some(id.handle);
        let session = own.and_then(|handle| self.sessions.get(handle));
        session.ok_or(CallError::UnknownSession(id))
    }

    #[inline]
    fn region(&self, id: RegionId) -> Result<&Arc<Mapping>, CallError> {
        let region = self.regions.get(id.0);
        region.ok_or(CallError::UnknownRegion(id))
    }

    #[inline(always)]
    fn segment(&self, span: &Span) -> Result<Segment, CallError> {
        if span.len == 0 {
            return Ok(Segment::EMPTY);
        }
        let address = self.region(span.region)?.address(span.offset, span.len)?;
        Ok(Segment::new(address, span.len))
    }

    fn first(&self, spans: &[Span]) -> Result<Segment, CallError> {
        let (count, limit) = (spans.len(), self.segments_max);
        if count > limit {
            return Err(CallError::Segments { count, limit });
        }
        spans
            .first()
            .map_or(Ok(Segment::EMPTY), |span| self.segment(span))
    }

    /// A request that describes itself in the row of the ticket it will hold.
    fn long(
        &self,
        session: &Session,
        call: &Call<'_>,
        parts: &Parts,
    ) -> Result<CryptoRequest, CallError> {
        let source = call.source.get(1..).unwrap_or_default();
        let destination = call.destination.get(1..).unwrap_or_default();
        for span in source.iter().chain(destination) {
            self.segment(span)?;
        }
        let checked = |span| self.segment(span).expect("checked just above");
        let rest = source.iter().chain(destination).map(checked);
        let row = match self.lane.next_ticket() {
            // SAFETY: the ticket is free, and our caller's `&mut self` is the only client.
            Some(ticket) => unsafe { self.table.store(ticket, parts, rest) },
            // The submission that follows is refused, and counted.
            None => std::ptr::null(),
        };
        let count = |list: &[Span]| u16::try_from(list.len()).expect("at most SEGMENTS_MAX");
        let (operation, iv) = (call.operation, call.iv);
        let (source_rest, destination_rest) = (count(source), count(destination));
        let lens = call.source.iter().map(|span| span.len);
        Ok(CryptoRequest::long(
            session,
            operation,
            iv,
            row,
            lens.fold(0, usize::saturating_add),
            source_rest,
            destination_rest,
        ))
    }

    /// Copies bytes of a region out.
    ///
    /// # Errors
    /// [`CallError::UnknownRegion`], [`CallError::Bounds`].
    pub fn read(&self, span: Span, into: &mut [u8]) -> Result<(), CallError> {
        let len = into.len().min(span.len);
        Ok(self
            .region(span.region)?
            .read(span.offset, &mut into[..len])?)
    }

    /// Copies bytes into a region.
    ///
    /// # Errors
    /// [`CallError::UnknownRegion`], [`CallError::Bounds`].
    pub fn write(&self, region: RegionId, offset: usize, bytes: &[u8]) -> Result<(), CallError> {
        Ok(self.region(region)?.write(offset, bytes)?)
    }

    pub fn kick(&mut self) {
        self.lane.kick();
    }

    /// See [`Lane::show_here`].
    pub fn show_here(&mut self) {
        self.lane.show_here();
    }

    pub fn reap(&mut self, max: usize, take: impl FnMut(Completion)) -> usize {
        self.lane.reap(max, take)
    }

    pub fn wait(&mut self, at_least: usize, timeout: Duration) -> Result<usize, WaitError> {
        self.lane.wait(at_least, timeout)
    }

    pub fn wait_to_refill(&mut self, timeout: Duration) -> Result<usize, WaitError> {
        self.lane.wait_to_refill(timeout)
    }

    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        self.lane.poll_ready(context)
    }

    pub fn ready(&mut self) -> Ready<'_, CryptoRequest> {
        self.lane.ready()
    }
}

/// To look at only. Code that could swap two lanes would part requests from what they
/// point into.
impl Deref for CryptoLane {
    type Target = Lane<CryptoRequest>;

    fn deref(&self) -> &Self::Target {
        &self.lane
    }
}

impl AsFd for CryptoLane {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lane.as_fd()
    }
}
