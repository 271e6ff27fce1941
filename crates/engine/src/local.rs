//! One future a request, for executors that keep tasks on one thread.
//!
//! Every pending future leaves its waker in its slot; the one that was polled
//! last is also the lane's. Whoever is polled reaps for all and wakes those
//! whose request is done. A future that ends, done or dropped, hands the
//! lane's wake-up on to another that still waits, so none is stranded.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crypto::Status;

use crate::client::{Lane, SubmitError};

/// What has a lane inside that a [`LocalLane`] can reap and await.
pub trait Port {
    /// What the lane carries.
    type Request: Copy + Send;
    /// The lane.
    fn inner(&self) -> &Lane<Self::Request>;
    /// The lane, to reap and await.
    fn inner_mut(&mut self) -> &mut Lane<Self::Request>;
}

impl<R: Copy + Send> Port for Lane<R> {
    type Request = R;

    fn inner(&self) -> &Self {
        self
    }

    fn inner_mut(&mut self) -> &mut Self {
        self
    }
}

#[derive(Debug)]
enum Slot {
    Free,
    Waiting(Option<Waker>),
    Done(Status),
    /// Its future was dropped: the completion is thrown away.
    Abandoned,
}

#[derive(Debug)]
struct Inner<L> {
    lane: L,
    slots: Box<[Slot]>,
    free: Vec<usize>,
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
    #[must_use]
    pub fn new(lane: L) -> Self {
        assert_eq!(
            lane.inner().in_flight(),
            0,
            "a lane with requests in flight cannot become a LocalLane"
        );
        let depth = lane.inner().config().depth;
        let slots = (0..depth).map(|_| Slot::Free).collect();
        Self(Rc::new(RefCell::new(Inner {
            lane,
            slots,
            free: (0..depth).rev().collect(),
        })))
    }

    /// Submits now, through `submit(lane, token)`; the future gives the
    /// status. Dropping the future lets the request run and throws its
    /// completion away.
    ///
    /// # Errors
    /// What `submit` returns, or [`SubmitError::Full`] when as many futures
    /// as the lane is deep are unresolved; the request was not started.
    pub fn submit<E: From<SubmitError>>(
        &self,
        submit: impl FnOnce(&mut L, u64) -> Result<(), E>,
    ) -> Result<Outcome<L>, E> {
        let mut inner = self.0.borrow_mut();
        inner.reap();
        let slot = inner.free.pop().ok_or(SubmitError::Full)?;
        if let Err(error) = submit(&mut inner.lane, slot as u64) {
            inner.free.push(slot);
            return Err(error);
        }
        inner.slots[slot] = Slot::Waiting(None);
        Ok(Outcome {
            lane: Rc::clone(&self.0),
            slot: Some(slot),
        })
    }

    /// Requests in flight, those of dropped futures included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.0.borrow().lane.inner().in_flight()
    }
}

impl<L: Port> Inner<L> {
    fn reap(&mut self) {
        let Self { lane, slots, free } = self;
        lane.inner_mut().reap(usize::MAX, |completion| {
            let slot = usize::try_from(completion.token).expect("a slot index");
            match std::mem::replace(&mut slots[slot], Slot::Done(completion.status)) {
                Slot::Waiting(waker) => waker.into_iter().for_each(Waker::wake),
                Slot::Abandoned => {
                    slots[slot] = Slot::Free;
                    free.push(slot);
                }
                Slot::Free | Slot::Done(_) => unreachable!("only requests in flight complete"),
            }
        });
    }

    /// Lets another waiting future take the lane's wake-up over.
    fn hand_on(&self) {
        let waiting = self.slots.iter().find_map(|slot| match slot {
            Slot::Waiting(Some(waker)) => Some(waker),
            _ => None,
        });
        if let Some(waker) = waiting {
            waker.wake_by_ref();
        }
    }

    fn poll(&mut self, slot: usize, context: &mut Context<'_>) -> Poll<Status> {
        loop {
            self.reap();
            if let Slot::Done(status) = self.slots[slot] {
                self.slots[slot] = Slot::Free;
                self.free.push(slot);
                self.hand_on();
                return Poll::Ready(status);
            }
            self.slots[slot] = Slot::Waiting(Some(context.waker().clone()));
            if self.lane.inner_mut().poll_ready(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

/// Future of one request's status.
#[derive(Debug)]
pub struct Outcome<L: Port> {
    lane: Rc<RefCell<Inner<L>>>,
    /// `None` once resolved: the slot may be another request's by then.
    slot: Option<usize>,
}

impl<L: Port> Future for Outcome<L> {
    type Output = Status;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Status> {
        let slot = self.slot.expect("a future is not polled after it is ready");
        let result = self.lane.borrow_mut().poll(slot, context);
        if result.is_ready() {
            self.slot = None;
        }
        result
    }
}

impl<L: Port> Drop for Outcome<L> {
    fn drop(&mut self) {
        let Some(slot) = self.slot else { return };
        let mut inner = self.lane.borrow_mut();
        match std::mem::replace(&mut inner.slots[slot], Slot::Abandoned) {
            Slot::Done(_) => {
                inner.slots[slot] = Slot::Free;
                inner.free.push(slot);
            }
            Slot::Waiting(_) | Slot::Free | Slot::Abandoned => {}
        }
        inner.hand_on();
    }
}
