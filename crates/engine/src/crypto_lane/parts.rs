//! How a request is cut into pieces, and what a piece is to the back-end.
#![allow(
    unsafe_code,
    reason = "reads segments and texts of requests in flight: see each SAFETY comment"
)]

use crypto::{Chaining, Job, Operation, Sectors, Segment, Segments, counter_after};

use super::request::{CryptoRequest, Form, number};
use super::table::PARTS;

impl CryptoRequest {
    /// Cuts the first `bytes` off: whole blocks, fewer than there are. The request becomes
    /// the rest, to be done after them.
    ///
    /// # Safety
    /// As for [`Self::kind`]; it is of a kind that chains so, and a back-end would begin
    /// with it.
    pub(super) unsafe fn split(&mut self, chaining: Chaining, bytes: usize) -> Self {
        self.form = self.form.with(Form::PART);
        let mut first = *self;
        first.set_bytes(bytes);
        if self.form.has(Form::KEPT) {
            first.form = first.form.with(Form::MORE);
        }
        // SAFETY: forwarded from the caller: the source is readable.
        unsafe {
            match chaining {
                Chaining::Independent | Chaining::Kept => {}
                Chaining::Counted => self.iv = counter_after(self.iv, bytes),
                Chaining::Numbered => self.iv = Sectors::job_iv_after(self.iv, bytes),
                Chaining::Written => self.form = self.form.with(Form::CHAINED),
                // Read now, since it may be overwritten by the time it is needed.
                Chaining::Read => self.iv = self.block_before(Side::Source, bytes),
            }
        }
        let left = self.bytes() - bytes;
        self.set_bytes(left);
        if self.form.has(Form::LONG) {
            self.destination = number(self.destination.addr() + bytes);
            return first;
        }
        self.source = self.source.wrapping_add(bytes);
        if self.operation != Operation::Hash {
            self.destination = self.destination.wrapping_add(bytes);
            self.tag_after = self.tag_after_all(bytes).expect("it was looked at before");
        }
        first
    }

    /// From the destination to the tag, `bytes` later; as it is where there is no tag. `None`
    /// where that is further than a request can say.
    fn tag_after_all(&self, bytes: usize) -> Option<i32> {
        match self.tag_after {
            0 => Some(0),
            after => i32::try_from(i64::from(after) - i64::try_from(bytes).ok()?).ok(),
        }
    }

    /// Whether it can be cut, wherever.
    pub(super) fn is_divisible(&self) -> bool {
        self.form.has(Form::LONG) || self.tag_after_all(self.bytes()).is_some()
    }

    fn set_bytes(&mut self, bytes: usize) {
        if self.form.has(Form::LONG) {
            self.aad = number(bytes);
        } else {
            self.source_bytes = u32::try_from(bytes).expect("no more than it had");
        }
    }

    /// What comes before the rest of a request is done.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    pub(super) unsafe fn resume(&mut self) {
        if self.form.has(Form::CHAINED) {
            // SAFETY: the piece before it ended there.
            self.iv = unsafe { self.block_before(Side::Destination, 0) };
            self.form = self.form.without(Form::CHAINED);
        }
    }

    /// The block that ends `bytes` after the begin of what it works on. Volatile, since
    /// the client may write there at any time; it then spoils no result but its own.
    ///
    /// # Safety
    /// As for [`Self::kind`]; there is a block before that place.
    unsafe fn block_before(&self, side: Side, bytes: usize) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        if !self.form.has(Form::LONG) {
            let begin = match side {
                Side::Source => self.source,
                Side::Destination => self.destination,
            };
            let at = begin.wrapping_add(bytes).wrapping_sub(BLOCK_BYTES);
            // SAFETY: forwarded from the caller; bytes have no alignment.
            return unsafe { at.cast::<[u8; BLOCK_BYTES]>().read_volatile() };
        }
        let begin = self.destination.addr() + bytes - BLOCK_BYTES;
        let mut to = block.iter_mut();
        // SAFETY: forwarded from the caller.
        for segment in unsafe { self.window(side, begin, BLOCK_BYTES) } {
            for (at, byte) in (0..segment.len).zip(&mut to) {
                // SAFETY: forwarded from the caller.
                *byte = unsafe { segment.address.wrapping_add(at).read_volatile() };
            }
        }
        block
    }

    /// Segments of a long request's source or destination: `bytes` from `begin` on, or
    /// as many as there are.
    ///
    /// # Safety
    /// As for [`Self::kind`].
    unsafe fn window(
        &self,
        side: Side,
        begin: usize,
        bytes: usize,
    ) -> impl Iterator<Item = Segment> + use<> {
        let row: *const Segment = self.source.cast();
        let rest = row.wrapping_add(PARTS);
        let source_rest = self.source_bytes as usize;
        let (first, rest, count) = match side {
            Side::Source => (row, rest, source_rest),
            Side::Destination => (
                row.wrapping_add(1),
                rest.wrapping_add(source_rest),
                self.tag_after.unsigned_abs() as usize,
            ),
        };
        let (mut skip, mut left) = (begin, bytes);
        let all = std::iter::once(first).chain((0..count).map(move |at| rest.wrapping_add(at)));
        all.filter_map(move |segment| {
            // SAFETY: forwarded from the caller: the row has that many segments, written
            // before the request was submitted.
            let Segment { address, len } = unsafe { *segment };
            let skipped = skip.min(len);
            let taken = left.min(len - skipped);
            (skip, left) = (skip - skipped, left - taken);
            (taken > 0).then(|| Segment::new(address.wrapping_add(skipped), taken))
        })
    }

    /// As [`job`](Self::job), also of a part of lists; these are put into `lists`.
    ///
    /// # Safety
    /// As there; `lists` does not change as long as the job is used.
    pub(super) unsafe fn part_job<'k>(&self, worker: usize, lists: &mut Vec<Segment>) -> Job<'k> {
        // SAFETY: forwarded from the caller.
        unsafe {
            let mut job = self.job(worker);
            if self.form.has(Form::LONG) && self.form.has(Form::PART) {
                lists.clear();
                lists.reserve(self.rest_segments() as usize + 2);
                let (begin, bytes) = (self.destination.addr(), self.bytes());
                job.source = listed(self.window(Side::Source, begin, bytes), lists);
                if self.operation != Operation::Hash {
                    job.destination = listed(self.window(Side::Destination, begin, bytes), lists);
                }
            }
            if self.form.has(Form::KEPT) {
                // There is the number.
                job.aad = Segment::EMPTY;
            }
            job
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Destination,
}

/// A list whose segments but the first are put into `lists`, which has room.
fn listed(mut segments: impl Iterator<Item = Segment>, lists: &mut Vec<Segment>) -> Segments {
    let begin = lists.len();
    let first = segments.next().unwrap_or(Segment::EMPTY);
    let room = lists.capacity();
    lists.extend(segments);
    assert_eq!(
        room,
        lists.capacity(),
        "what was listed before has not moved"
    );
    let rest = &lists[begin..];
    Segments {
        first,
        rest: rest.as_ptr(),
        rest_count: u32::try_from(rest.len()).expect("at most 1024"),
    }
}

const BLOCK_BYTES: usize = 16;
