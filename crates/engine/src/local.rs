//! One future a request, for executors that keep tasks on one thread.
//!
//! All pending futures share one bell: the lane's waker, which wakes every
//! task that waits. The task that is polled takes the completions for all, wakes
//! those whose request is done, and arms the lane again while anything is in
//! flight: so no task depends on another one being polled. Wakers are called
//! and dropped only while nothing is borrowed, since they may come back here.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use crypto::Status;

use crate::client::{Completion, Lane, SubmitError};
use crate::crypto_lane::CryptoLane;

pub trait Port {
    fn depth(&self) -> usize;
    fn in_flight(&self) -> usize;
    fn reap_all(&mut self, take: impl FnMut(Completion));
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<usize>;
}

/// The same four for every lane. Not by handing the inner lane out: code
/// that could swap two of them would part requests from what they point into.
macro_rules! port {
    ($lane:ty $(, $parameter:ident)?) => {
        impl$(<$parameter: Copy + Send>)? Port for $lane {
            fn depth(&self) -> usize {
                self.config().depth
            }

            fn in_flight(&self) -> usize {
                Lane::in_flight(self)
            }

            fn reap_all(&mut self, take: impl FnMut(Completion)) {
                self.reap(usize::MAX, take);
            }

            fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<usize> {
                self.poll_ready(context)
            }
        }
    };
}

port!(Lane<R>, R);
port!(CryptoLane);

/// The wakers of all waiting tasks, by slot. The lane's worker rings it, so
/// there is a lock: taken once a notification, never once a request.
#[derive(Debug)]
struct Bell(Mutex<Box<[Option<Waker>]>>);

impl Bell {
    fn set(&self, slot: usize, waker: Option<Waker>) -> Option<Waker> {
        let mut wakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut wakers[slot], waker)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let wakers: Vec<Waker> = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slots.iter_mut().filter_map(Option::take).collect()
        };
        wake_each(wakers);
    }
}

/// Wakes every task, even if one waker panics; then resumes the first panic.
fn wake_each(wakers: Vec<Waker>) {
    let mut panic = None;
    for waker in wakers {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            panic.get_or_insert(payload);
        }
    }
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    Waiting,
    Done(Status),
    Abandoned,
}

#[derive(Debug)]
struct Inner<L> {
    lane: L,
    slots: Box<[Slot]>,
    free: Vec<usize>,
    bell: Arc<Bell>,
}

/// A lane shared by the tasks of one thread.
#[derive(Debug)]
pub struct LocalLane<L>(Rc<RefCell<Inner<L>>>);

impl<L> Clone for LocalLane<L> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<L: Port> LocalLane<L> {
    /// Wraps a lane. Nothing may be in flight on it yet: its completions
    /// would have no future.
    ///
    /// # Panics
    /// When something is.
    pub fn new(lane: L) -> Self {
        assert_eq!(
            lane.in_flight(),
            0,
            "a lane with requests in flight cannot become a LocalLane"
        );
        let depth = lane.depth();
        let bell = Arc::new(Bell(Mutex::new((0..depth).map(|_| None).collect())));
        Self(Rc::new(RefCell::new(Inner {
            lane,
            slots: vec![Slot::Free; depth].into_boxed_slice(),
            free: (0..depth).rev().collect(),
            bell,
        })))
    }

    /// Submits now, through `submit(lane, token)`; the future gives the
    /// status. Dropping the future lets the request run and throws its
    /// completion away.
    ///
    /// # Errors
    /// What `submit` returns, or [`SubmitError::Full`] when as many futures
    /// as the lane is deep are unresolved; the request was not started.
    ///
    /// # Panics
    /// When `submit` returns `Ok` and did not submit exactly one request.
    pub fn submit<E: From<SubmitError>>(
        &self,
        submit: impl FnOnce(&mut L, u64) -> Result<(), E>,
    ) -> Result<Outcome<L>, E> {
        let woken = self.0.borrow_mut().reap();
        wake_each(woken);
        let mut inner = self.0.borrow_mut();
        let slot = inner.free.pop().ok_or(SubmitError::Full)?;
        let before = inner.lane.in_flight();
        if let Err(error) = submit(&mut inner.lane, slot as u64) {
            inner.free.push(slot);
            return Err(error);
        }
        let submitted = inner.lane.in_flight().wrapping_sub(before);
        assert_eq!(submitted, 1, "`submit` submits exactly one request");
        inner.slots[slot] = Slot::Waiting;
        Ok(Outcome {
            lane: Rc::clone(&self.0),
            slot: Some(slot),
        })
    }

    pub fn in_flight(&self) -> usize {
        self.0.borrow().lane.in_flight()
    }
}

impl<L: Port> Inner<L> {
    /// Takes the completions that are there; the wakers of their tasks, to be
    /// called when nothing is borrowed any more.
    fn reap(&mut self) -> Vec<Waker> {
        let Self {
            lane,
            slots,
            free,
            bell,
        } = self;
        let mut woken = Vec::new();
        lane.reap_all(|completion| {
            let slot = usize::try_from(completion.token).expect("a slot index");
            match slots[slot] {
                Slot::Waiting => {
                    slots[slot] = Slot::Done(completion.status);
                    woken.extend(bell.set(slot, None));
                }
                Slot::Abandoned => {
                    slots[slot] = Slot::Free;
                    free.push(slot);
                }
                Slot::Free | Slot::Done(_) => unreachable!("only requests in flight complete"),
            }
        });
        woken
    }

    /// Takes completions until the lane is armed for the next one, or nothing
    /// is in flight.
    fn pump(&mut self) -> Vec<Waker> {
        let waker = Waker::from(Arc::clone(&self.bell));
        let mut context = Context::from_waker(&waker);
        let mut woken = self.reap();
        while self.lane.in_flight() > 0 && self.lane.poll_ready(&mut context).is_ready() {
            woken.extend(self.reap());
        }
        woken
    }

    fn take(&mut self, slot: usize) -> Option<Status> {
        let Slot::Done(status) = self.slots[slot] else {
            return None;
        };
        self.slots[slot] = Slot::Free;
        self.free.push(slot);
        Some(status)
    }
}

#[derive(Debug)]
#[must_use = "it says how the request ended, once awaited"]
pub struct Outcome<L: Port> {
    lane: Rc<RefCell<Inner<L>>>,
    /// `None` once resolved: the slot may be another request's by then.
    slot: Option<usize>,
}

impl<L: Port> Future for Outcome<L> {
    type Output = Status;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Status> {
        let slot = self.slot.expect("a future is not polled after it is ready");
        // Before looking, so that a notification after the look finds it.
        let bell = Arc::clone(&self.lane.borrow().bell);
        drop(bell.set(slot, Some(context.waker().clone())));
        let (woken, status) = {
            let mut inner = self.lane.borrow_mut();
            (inner.pump(), inner.take(slot))
        };
        let Some(status) = status else {
            wake_each(woken);
            return Poll::Pending;
        };
        self.slot = None;
        drop(bell.set(slot, None));
        wake_each(woken);
        Poll::Ready(status)
    }
}

impl<L: Port> Drop for Outcome<L> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let bell = Arc::clone(&self.lane.borrow().bell);
        let own = bell.set(slot, None);
        let woken = {
            let mut inner = self.lane.borrow_mut();
            if inner.take(slot).is_none() {
                inner.slots[slot] = Slot::Abandoned;
            }
            // The lane may be armed for this one's completion only.
            inner.pump()
        };
        drop(own);
        wake_each(woken);
    }
}
