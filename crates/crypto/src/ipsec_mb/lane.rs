//! What a thread needs to submit jobs: a manager, and a burst of jobs that
//! are filled in but for what differs from one request to the next.

use std::cell::RefCell;
use std::ptr::null_mut;

use super::layout::{BURST, ImbJob, Manager as Raw};
use super::library::Library;
use super::manager::Manager;
use super::memory::Memory;
use super::unavailable::Unavailable;
use crate::Kind;

/// `IMB_STATUS_COMPLETED`.
const COMPLETED: u32 = 3;

/// A thread's own. Between two calls of `process` no job is inside.
pub(super) struct Lane {
    pub(super) manager: Manager,
    has_suites: bool,
    jobs: Memory,
    job_bytes: usize,
    filled: (Option<Kind>, usize),
    slots: Box<[*mut ImbJob; BURST]>,
    /// Of each job in a burst, what the next bursts must do.
    pub(super) later: Box<[Later; BURST]>,
    /// Of each job in a burst but a message's first, its IV.
    pub(super) ivs: Box<[[u8; 16]; BURST]>,
    /// The library did not do what it was asked: jobs may still be inside.
    pub(super) broken: bool,
}

/// The rest of a message that is longer than one job may be.
#[derive(Clone, Copy)]
pub(super) struct Later {
    pub(super) bytes: usize,
    /// For the piece after this one, or the tag that was computed.
    pub(super) block: [u8; 16],
}

thread_local! {
    static LANE: RefCell<Option<Box<Lane>>> = const { RefCell::new(None) };
}

impl Lane {
    pub(super) fn new(library: &Library) -> Result<Self, Unavailable> {
        let manager = Manager::new(library)?;
        let job_bytes = library.version.job_bytes();
        let jobs = Memory::new(BURST * job_bytes).ok_or_else(|| Unavailable::Manager {
            file: library.file,
            instructions: crate::instructions(),
            reason: "no memory".to_owned(),
        })?;
        Ok(Self {
            manager,
            has_suites: library.version.has_suites(),
            jobs,
            job_bytes,
            filled: (None, 0),
            slots: Box::new([null_mut(); BURST]),
            later: Box::new(
                [Later {
                    bytes: 0,
                    block: [0; 16],
                }; BURST],
            ),
            ivs: Box::new([[0; 16]; BURST]),
            broken: false,
        })
    }

    /// Runs `run` with this thread's lane, made first if need be; `None` when
    /// there can be none. A lane that broke is thrown away, with whatever is
    /// still inside.
    pub(super) fn with<T>(library: &Library, run: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let ran = LANE.try_with(|lane| {
            let mut lane = lane.try_borrow_mut().ok()?;
            if lane.is_none() {
                *lane = Some(Box::new(Self::new(library).ok()?));
            }
            let result = run(lane.as_mut()?);
            if lane.as_ref().is_some_and(|lane| lane.broken) {
                *lane = None;
            }
            Some(result)
        });
        ran.ok().flatten()
    }

    /// From now on jobs are of `kind`; each is a copy of `template` once.
    #[inline]
    pub(super) fn begin(&mut self, kind: Kind) {
        if self.filled.0 != Some(kind) {
            self.filled = (Some(kind), 0);
        }
    }

    /// Job number `index`, below [`BURST`]; numbers are first asked for in
    /// order.
    #[inline]
    pub(super) fn job(&mut self, index: usize, template: &ImbJob) -> &mut ImbJob {
        debug_assert!(index < BURST, "a burst holds no more");
        // SAFETY: the memory has `BURST` jobs, of which the shared part comes
        // first, aligned since a job's bytes are a multiple of eight; zeroed
        // memory is a job. Nothing else refers to it.
        let job = unsafe {
            &mut *self
                .jobs
                .start()
                .add(index * self.job_bytes)
                .cast::<ImbJob>()
        };
        if index >= self.filled.1 {
            *job = *template;
            self.filled.1 = index + 1;
        }
        job
    }

    /// Runs the first `count` jobs with a cipher burst.
    ///
    /// # Safety
    /// They are complete, and what they point at is valid.
    #[inline]
    pub(super) unsafe fn cipher_burst(&mut self, count: usize, template: &ImbJob) {
        let jobs = self.jobs.start().cast();
        // SAFETY: forwarded from the caller; the manager is this thread's.
        let done = unsafe {
            (self.manager.calls.cipher_burst)(
                self.manager.as_ptr(),
                jobs,
                count as u32,
                template.cipher,
                template.direction,
                template.key_bytes as u32,
            )
        };
        self.broken |= done as usize != count;
    }

    /// Runs the first `count` jobs with a hash burst.
    ///
    /// # Safety
    /// They are complete, and what they point at is valid.
    #[inline]
    pub(super) unsafe fn hash_burst(&mut self, count: usize, template: &ImbJob) {
        let jobs = self.jobs.start().cast();
        // SAFETY: forwarded from the caller; the manager is this thread's.
        let done = unsafe {
            (self.manager.calls.hash_burst)(
                self.manager.as_ptr(),
                jobs,
                count as u32,
                template.hash,
            )
        };
        self.broken |= done as usize != count;
    }

    /// Runs the first `count` jobs through the manager's own ring, for what
    /// the other bursts do not take; flushes until all are out.
    ///
    /// # Safety
    /// They are complete, and what they point at is valid.
    #[inline]
    pub(super) unsafe fn ring_burst(&mut self, count: usize) {
        let (calls, manager) = (self.manager.calls, self.manager.as_ptr());
        let slots = self.slots.as_mut_ptr();
        // SAFETY: forwarded from the caller; `slots` has room for a burst.
        unsafe {
            if (calls.next_burst)(manager, count as u32, slots) as usize != count {
                self.broken = true;
                return;
            }
            for index in 0..count {
                self.enter(*slots.add(index), index, manager);
            }
            let mut out = (calls.submit_burst)(manager, count as u32, slots) as usize;
            let mut are_done = Self::completed(slots, out);
            while out < count {
                let flushed = (calls.flush_burst)(manager, (count - out) as u32, slots) as usize;
                are_done &= flushed > 0 && Self::completed(slots, flushed);
                out += flushed.clamp(1, count - out);
            }
            self.broken |= !are_done;
        }
    }

    /// Copies a job to a slot of the ring.
    ///
    /// # Safety
    /// `slot` is the library's, from `next_burst`.
    #[inline]
    unsafe fn enter(&self, slot: *mut ImbJob, index: usize, manager: *mut Raw) {
        // SAFETY: the slot is a whole job; ours is one of those filled in.
        unsafe {
            *slot = *self
                .jobs
                .start()
                .add(index * self.job_bytes)
                .cast::<ImbJob>();
            if let (true, Some(set_suite)) = (self.has_suites, self.manager.calls.set_suite) {
                set_suite(manager, slot);
            }
        }
    }

    /// Whether those the library gave back are done.
    ///
    /// # Safety
    /// `slots` holds `count` jobs of the ring.
    #[inline]
    unsafe fn completed(slots: *const *mut ImbJob, count: usize) -> bool {
        // SAFETY: as the caller says.
        (0..count).all(|index| unsafe { (**slots.add(index)).status } == COMPLETED)
    }
}
