//! A job whose memory has been checked: lists copied once, validated once.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::mem::MaybeUninit;

use crate::check::{self, Lengths};
use crate::overlap;
use crate::{Algorithm, Between, Job, Key, Kind, Segment, Segments, Status};

/// Most segments in a `rest` array: a descriptor chain of a virtio ring.
const REST_MAX: u32 = 1024;
pub(crate) const LIST_MAX: usize = REST_MAX as usize + 1;
const BYTES_MAX: usize = isize::MAX.unsigned_abs();

/// What a back-end may touch. Both lists hold one segment, or several that
/// are none of them empty; no other party can change them.
pub(crate) struct Work<'j> {
    pub source: &'j [Segment],
    /// Output: the bytes of `source` in the same order, or apart from them.
    pub destination: &'j [Segment],
    pub source_bytes: usize,
    pub iv: &'j [u8; 16],
    pub aad: Segment,
    pub tag: Segment,
}

impl Work<'_> {
    /// Source and destination, when each is one segment: the fast path.
    pub fn contiguous(&self) -> Option<(Segment, Segment)> {
        match (self.source, self.destination) {
            (&[source], &[destination]) => Some((source, destination)),
            _ => None,
        }
    }
}

/// A key of one back-end.
pub(crate) trait OwnKey: Any + Send {
    fn algorithm(&self) -> Algorithm;

    /// See [`Key::prefetch_parts`].
    fn prefetch_parts(&self) {}
}

impl<K: OwnKey> Key for K {
    fn part(&self, of: TypeId) -> Option<&dyn Any> {
        (of == TypeId::of::<K>()).then_some(self)
    }

    fn prefetch_parts(&self) {
        OwnKey::prefetch_parts(self);
    }
}

/// Runs each job whose key is a `K` for `kind.algorithm` and whose memory
/// passes the checks; `statuses[i]` tells how `jobs[i]` ended.
///
/// # Panics
/// When the two slices differ in length.
///
/// # Safety
/// As for [`crate::Backend::process`].
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub(crate) unsafe fn each<K: OwnKey>(
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
    run: impl Fn(&K, &Work<'_>) -> Status,
) {
    // SAFETY: forwarded from the caller.
    unsafe { each_apart(kind, jobs, statuses, &run, &run) };
}

/// As [`each`], but jobs of one segment on each side go to `whole`, the rest
/// to `scattered`: a closure that is called in one place is inlined there,
/// which is worth a tenth of the time of a 64-byte request.
///
/// # Panics
/// When the two slices differ in length.
///
/// # Safety
/// As for [`crate::Backend::process`].
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub(crate) unsafe fn each_apart<K: OwnKey>(
    kind: Kind,
    jobs: &[Job<'_>],
    statuses: &mut [Status],
    mut whole: impl FnMut(&K, &Work<'_>) -> Status,
    mut scattered: impl FnMut(&K, &Work<'_>) -> Status,
) {
    assert_eq!(jobs.len(), statuses.len(), "one status for each job");
    if !check::exists(kind) {
        statuses.fill(Status::Unsupported);
        return;
    }
    let mut keys = Keys {
        algorithm: kind.algorithm,
        last: None,
    };
    for (job, status) in jobs.iter().zip(statuses) {
        let Some(key) = keys.own(job.key) else {
            *status = Status::Unsupported;
            continue;
        };
        *status = if job.source.rest_count == 0 && job.destination.rest_count == 0 {
            match contiguous(kind, job) {
                Ok(work) => whole(key, &work),
                Err(refused) => refused,
            }
        } else {
            // SAFETY: forwarded from the caller.
            unsafe { checked_lists(kind, job, |work| scattered(key, work)) }
        };
    }
}

/// Runs one piece of a message, as [`each`] runs whole ones; `between` has ended after
/// the last, or after one that failed.
///
/// # Safety
/// As for [`crate::Backend::process_piece`].
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub(crate) unsafe fn piece<K: OwnKey>(
    kind: Kind,
    job: &Job<'_>,
    between: &mut Between,
    is_last: bool,
    run: impl Fn(&K, &Work<'_>, &mut Between) -> Status,
) -> Status {
    let mut status = [Status::Unsupported];
    let shared = RefCell::new(between);
    let run = |key: &K, work: &Work<'_>| run(key, work, &mut shared.borrow_mut());
    // SAFETY: forwarded from the caller.
    unsafe { each(kind, std::slice::from_ref(job), &mut status, run) };
    if is_last || status[0] != Status::Ok {
        shared.into_inner().end();
    }
    status[0]
}

/// Whether a back-end would begin with the job, or refuse it for its lengths or for what
/// overlaps.
///
/// # Errors
/// [`Status::BadLength`] or [`Status::BadSegment`], as [`crate::Backend::process`].
///
/// # Safety
/// The `rest` arrays are readable.
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub unsafe fn fits(kind: Kind, job: &Job<'_>) -> Result<(), Status> {
    if job.source.rest_count | job.destination.rest_count == 0 {
        return contiguous(kind, job).map(drop);
    }
    // SAFETY: forwarded from the caller.
    match unsafe { checked_lists(kind, job, |_| Status::Ok) } {
        Status::Ok => Ok(()),
        refused => Err(refused),
    }
}

/// Jobs that run side by side, at most.
pub(crate) const BATCH_UNITS_MAX: usize = 128;

#[derive(Clone, Copy)]
pub(crate) struct Unit<'j, K> {
    pub key: &'j K,
    pub source: *const u8,
    /// First byte of the output: the same, or that of `bytes` apart from it.
    pub destination: *mut u8,
    pub bytes: usize,
    pub iv: &'j [u8; 16],
}

impl<'j, K> Unit<'j, K> {
    /// Of a job that cannot fail any more.
    #[inline(always)]
    pub fn new(key: &'j K, work: &Work<'j>, _: &mut Status) -> Self {
        Self {
            key,
            source: work.source[0].address,
            destination: work.destination[0].address,
            bytes: work.source_bytes,
            iv: work.iv,
        }
    }
}

/// As [`each`], for code that takes several jobs at once: what is contiguous on both sides
/// becomes a `unit`, with a status that is [`Status::Ok`] unless it says otherwise, and
/// goes to `together`, up to [`BATCH_UNITS_MAX`] at a time; the scattered ones go to
/// `alone`.
///
/// # Panics
/// When the two slices differ in length.
///
/// # Safety
/// As for [`crate::Backend::process`].
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub(crate) unsafe fn batches<'j, 's, K: OwnKey, U>(
    kind: Kind,
    jobs: &'j [Job<'j>],
    statuses: &'s mut [Status],
    unit: impl Fn(&'j K, &Work<'j>, &'s mut Status) -> U,
    together: impl Fn(&mut [U]),
    alone: impl Fn(&K, &Work<'_>) -> Status,
) {
    assert_eq!(jobs.len(), statuses.len(), "one status for each job");
    if !check::exists(kind) {
        statuses.fill(Status::Unsupported);
        return;
    }
    let mut keys = Keys {
        algorithm: kind.algorithm,
        last: None,
    };
    let mut slots = [const { MaybeUninit::uninit() }; BATCH_UNITS_MAX];
    let all = jobs.chunks(BATCH_UNITS_MAX);
    for (jobs, statuses) in all.zip(statuses.chunks_mut(BATCH_UNITS_MAX)) {
        let mut count = 0;
        for (job, status) in jobs.iter().zip(statuses) {
            *status = match keys.own(job.key) {
                None => Status::Unsupported,
                Some(key) if job.source.rest_count | job.destination.rest_count == 0 => {
                    match contiguous(kind, job) {
                        Ok(work) => {
                            *status = Status::Ok;
                            slots[count].write(unit(key, &work, status));
                            count += 1;
                            continue;
                        }
                        Err(refused) => refused,
                    }
                }
                // SAFETY: forwarded from the caller.
                Some(key) => unsafe { checked_lists(kind, job, |work| alone(key, work)) },
            };
        }
        // SAFETY: that many slots were written above.
        together(unsafe { slots[..count].assume_init_mut() });
    }
}

/// Tells our keys from others', and remembers the last: a batch often has but
/// one, and asking an object for its type is two indirect calls.
struct Keys<'k, K> {
    algorithm: Algorithm,
    last: Option<(&'k dyn Key, &'k K)>,
}

impl<'k, K: OwnKey> Keys<'k, K> {
    #[inline]
    fn own(&mut self, key: &'k dyn Key) -> Option<&'k K> {
        match self.last {
            Some((last, own)) if std::ptr::eq(last, key) => Some(own),
            _ => self.learn(key),
        }
    }

    fn learn(&mut self, key: &'k dyn Key) -> Option<&'k K> {
        let own = key.part(TypeId::of::<K>())?.downcast_ref::<K>();
        let own = own.filter(|own| own.algorithm() == self.algorithm)?;
        self.last = Some((key, own));
        Some(own)
    }
}

/// Checks `job`, then hands it to `run`; apart so that its 32 KiB of lists
/// burden no other.
///
/// # Safety
/// The `rest` arrays of `job` are readable.
#[inline(never)]
#[allow(unsafe_code, reason = "reads the caller's segment arrays")]
pub(crate) unsafe fn checked_lists(
    kind: Kind,
    job: &Job<'_>,
    run: impl FnOnce(&Work<'_>) -> Status,
) -> Status {
    let mut source_slots = [const { MaybeUninit::uninit() }; LIST_MAX];
    let mut destination_slots = [const { MaybeUninit::uninit() }; LIST_MAX];
    // SAFETY: forwarded from the caller.
    let source = unsafe { copy(&job.source, &mut source_slots) };
    // SAFETY: forwarded from the caller.
    let destination = unsafe { copy(&job.destination, &mut destination_slots) };
    let work = source.and_then(|source| validated(kind, job, source, destination?));
    work.map_or_else(|status| status, |work| run(&work))
}

/// The checks for one segment on each side. Inlined, or else what it returns
/// goes through memory in words and is read in pairs, which no CPU forwards.
#[inline(always)]
fn contiguous<'j>(kind: Kind, job: &'j Job<'_>) -> Result<Work<'j>, Status> {
    let (source, destination) = (job.source.first, job.destination.first);
    let (aad, tag) = (job.aad, job.tag);
    for segment in [source, destination, aad, tag] {
        check::sound(segment)?;
    }
    if source.len | destination.len | aad.len | tag.len > BYTES_MAX {
        return Err(Status::BadLength);
    }
    let lengths = Lengths {
        source: source.len,
        destination: destination.len,
        aad: aad.len,
        tag: tag.len,
    };
    check::lengths(kind, &job.iv, lengths)?;
    overlap::disjoint_pair(kind.operation, source, destination, aad, tag)?;
    Ok(Work {
        source: std::slice::from_ref(&job.source.first),
        destination: std::slice::from_ref(&job.destination.first),
        source_bytes: source.len,
        iv: &job.iv,
        aad,
        tag,
    })
}

fn validated<'j>(
    kind: Kind,
    job: &'j Job<'_>,
    source: &'j [Segment],
    destination: &'j [Segment],
) -> Result<Work<'j>, Status> {
    let (source_bytes, destination_bytes) = (total(source)?, total(destination)?);
    let (aad, tag) = (job.aad, job.tag);
    let lengths = Lengths {
        source: source_bytes,
        destination: destination_bytes,
        aad: total(&[aad])?,
        tag: total(&[tag])?,
    };
    check::lengths(kind, &job.iv, lengths)?;
    overlap::disjoint(kind.operation, source, destination, aad, tag)?;
    Ok(Work {
        source,
        destination,
        source_bytes,
        iv: &job.iv,
        aad,
        tag,
    })
}

/// Bytes of a list of sound segments; at most [`BYTES_MAX`].
fn total(list: &[Segment]) -> Result<usize, Status> {
    let mut total_bytes = 0_usize;
    for &segment in list {
        check::sound(segment)?;
        total_bytes = total_bytes
            .checked_add(segment.len)
            .filter(|&bytes| bytes <= BYTES_MAX)
            .ok_or(Status::BadLength)?;
    }
    Ok(total_bytes)
}

/// Copies a list, leaving out empty segments (but never all of them).
///
/// # Safety
/// `list.rest` points at `list.rest_count` readable segments.
#[allow(unsafe_code, reason = "reads the caller's segment array")]
unsafe fn copy<'s>(
    list: &Segments,
    slots: &'s mut [MaybeUninit<Segment>; LIST_MAX],
) -> Result<&'s [Segment], Status> {
    if list.rest_count > REST_MAX || (list.rest_count > 0 && !usable(list.rest)) {
        return Err(Status::BadSegment);
    }
    slots[0].write(list.first);
    let mut count = usize::from(list.first.len > 0);
    for index in 0..list.rest_count as usize {
        // SAFETY: the caller vouches for `rest_count` segments, aligned as
        // checked above; volatile, so that another party's writes cannot
        // make us see two values of one segment.
        let segment = unsafe { list.rest.add(index).read_volatile() };
        check::sound(segment)?;
        if segment.len > 0 {
            slots[count].write(segment);
            count += 1;
        }
    }
    // SAFETY: slots 0..max(count, 1) were written above, slot 0 first of all.
    Ok(unsafe { slots[..count.max(1)].assume_init_ref() })
}

fn usable(rest: *const Segment) -> bool {
    !rest.is_null() && rest.is_aligned()
}
