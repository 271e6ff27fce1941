//! Clients that live on their worker's own thread.
//!
//! What comes from outside the process (a guest's rings, say) needs someone who takes it
//! in and submits it. A thread for that would be another hop between two cores. So a
//! [`Resident`] holds its lane's client end and is called by the worker itself: before a
//! breath to take in what came, and after completions were published to carry them out.
//! Shares, quotas, pieces and moderation are those of any lane. What differs is whom a
//! notification is for: the resident says what its client has not seen yet, whether it
//! wants to be told, and tells it.

use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use sys::clock::now_ns;
use sys::event::Event;
use sys::readable::Watched;

use crate::lane::Shared;
use crate::pool::{Command, Control};

/// What a resident took in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intake {
    /// Whether there was anything.
    pub is_some: bool,
    /// What taking it took, ns, about: its virtual function is charged.
    pub work_ns: u64,
}

/// A client on its worker's thread. The worker calls these methods between its own steps;
/// each must end soon, and none may block.
pub trait Resident: Any + Send {
    /// What becomes readable when the client has something new after
    /// [`arm`](Self::arm).
    fn kick(&self) -> BorrowedFd<'_>;

    /// Takes in some of what came, and submits it; shows it with
    /// [`CryptoLane::show_here`](crate::CryptoLane::show_here).
    fn inhale(&mut self) -> Intake;

    /// Reaps all completions and carries them out, where the client can see them.
    fn exhale(&mut self);

    /// Asks the client for a kick when it has something new; whether there is already
    /// something that could be taken in now.
    fn arm(&mut self) -> bool;

    /// Completions carried out that the client may not have seen yet.
    fn unreaped(&mut self) -> u32;

    /// Requests that the client keeps in flight, as far as its last turns showed: more
    /// may follow one that is alone now.
    fn depth(&self) -> u32 {
        0
    }

    /// When to tell a client that is to be told of several at once, if nothing more is
    /// carried out until then; in the past: now.
    fn due_ns(&mut self, now_ns: u64) -> u64 {
        now_ns
    }

    /// As [`arm`](Self::arm), where the worker looks again by itself before long: a kick
    /// need not come before as many are there as are expected.
    fn arm_late(&mut self) -> bool {
        self.arm()
    }

    /// Until when more is expected of the client.
    fn expected_ns(&self) -> u64 {
        0
    }

    /// Whether the client wants to be told of what was carried out since it was last
    /// told.
    fn is_awaited(&mut self) -> bool;

    /// Tells the client, if it wants that; whether it did. What was carried out
    /// before counts as told either way.
    fn tell(&mut self) -> bool;
}

/// Why a resident did not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvictError {
    #[error("the worker has requests of the resident left after {0:?}")]
    TimedOut(Duration),
    #[error("the worker or the virtual function has ended, and the resident with it")]
    Ended,
}

/// A resident on its worker, as its owner holds it. Dropping it evicts the resident and
/// waits for nothing.
#[derive(Debug)]
pub struct Tenancy<R: Copy + Send, T: Resident> {
    control: Arc<Control<R>>,
    shared: Arc<Shared<R>>,
    back: Option<Receiver<Box<dyn Resident>>>,
    is_over: bool,
    kind: PhantomData<fn() -> T>,
}

impl<R: Copy + Send, T: Resident> Tenancy<R, T> {
    pub(crate) fn new(control: Arc<Control<R>>, shared: Arc<Shared<R>>) -> Self {
        Self {
            control,
            shared,
            back: None,
            is_over: false,
            kind: PhantomData,
        }
    }

    /// Has the resident take in nothing more, and gives it back when all that it
    /// submitted is carried out. After [`EvictError::TimedOut`] it can be called again.
    ///
    /// # Errors
    /// [`EvictError`].
    pub fn evict(&mut self, is_cancelling: bool, timeout: Duration) -> Result<Box<T>, EvictError> {
        let back = match self.back.take() {
            Some(back) if !is_cancelling => back,
            earlier => self.send(is_cancelling, earlier)?,
        };
        let came = back.recv_timeout(timeout);
        if matches!(came, Err(RecvTimeoutError::Timeout)) {
            self.back = Some(back);
            return Err(EvictError::TimedOut(timeout));
        }
        self.is_over = true;
        let any: Box<dyn Any> = came.map_err(|_| EvictError::Ended)?;
        Ok(any.downcast().expect("it is what was moved in"))
    }

    fn send(
        &self,
        is_cancelling: bool,
        earlier: Option<Receiver<Box<dyn Resident>>>,
    ) -> Result<Receiver<Box<dyn Resident>>, EvictError> {
        let (to, back) = channel();
        // Who is leaving already comes back by the first way.
        let (to, back) = match earlier {
            Some(earlier) => (None, earlier),
            None => (Some(to), back),
        };
        let eviction = Eviction {
            shared: Arc::clone(&self.shared),
            is_cancelling,
            to,
        };
        let sent = self.control.send(Command::Evict(eviction));
        sent.map_err(|_| EvictError::Ended)?;
        Ok(back)
    }
}

impl<R: Copy + Send, T: Resident> Drop for Tenancy<R, T> {
    fn drop(&mut self) {
        if !self.is_over {
            let earlier = self.back.take();
            // With the worker the resident has ended, too.
            let _ = self.send(true, earlier);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Eviction<R> {
    pub(crate) shared: Arc<Shared<R>>,
    pub(crate) is_cancelling: bool,
    /// None of one that is leaving already.
    pub(crate) to: Option<Sender<Box<dyn Resident>>>,
}

/// A resident in its lane.
pub(crate) struct Home {
    pub(crate) resident: Box<dyn Resident>,
    pub(crate) stay: Stay,
    leaves_by: Option<Sender<Box<dyn Resident>>>,
    idle_looks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// The worker looks for what came.
    Looked,
    /// Its client kicks.
    Armed,
    Leaving,
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Home({:?})", self.stay)
    }
}

impl Home {
    pub(crate) fn new(resident: Box<dyn Resident>) -> Self {
        Self {
            resident,
            stay: Stay::Looked,
            leaves_by: None,
            idle_looks: 0,
        }
    }

    pub(crate) fn leave<R>(&mut self, eviction: Eviction<R>) {
        self.stay = Stay::Leaving;
        if let Some(to) = eviction.to {
            self.leaves_by = Some(to);
        }
    }

    pub(crate) fn hand_back(self) {
        if let Some(to) = self.leaves_by {
            // An owner that does not wait for it does not want it.
            let _ = to.send(self.resident);
        }
    }

    /// Looks for what came; who brought nothing for long is left to its kicks.
    pub(crate) fn inhale(&mut self) -> Intake {
        let intake = self.resident.inhale();
        if intake.is_some {
            self.idle_looks = 0;
        } else {
            self.idle_looks += 1;
            if self.idle_looks >= IDLE_LOOKS && !self.resident.arm() {
                self.stay = Stay::Armed;
            }
        }
        intake
    }
}

/// Looks in vain after which a resident's client is asked to kick.
const IDLE_LOOKS: u32 = 256;

/// How often a busy worker looks for kicks, ns.
const KICKS_NS: u64 = 20_000;

/// In the place of a slot: the worker's own event.
const OWN: u64 = u64::MAX;

/// A worker's residents.
#[derive(Debug, Default)]
pub(crate) struct Residents {
    watched: Option<Watched>,
    /// Slots of those that the worker looks at.
    pub(crate) looked: Vec<u32>,
    pub(crate) armed: usize,
    pub(crate) leaving: Vec<u32>,
    pub(crate) kicked: Vec<u32>,
    count: usize,
    next_look_ns: u64,
}

impl Residents {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn add(&mut self, slot: u32, home: &Home, own: &Event) -> io::Result<()> {
        let watched = match &mut self.watched {
            Some(watched) => watched,
            none => {
                let watched = Watched::new()?;
                watched.add(own.as_fd(), OWN)?;
                none.insert(watched)
            }
        };
        watched.add(home.resident.kick(), slot.into())?;
        self.looked.push(slot);
        self.count += 1;
        Ok(())
    }

    pub(crate) fn remove(&mut self, slot: u32, home: &Home) {
        if let Some(watched) = &self.watched {
            watched.remove(home.resident.kick());
        }
        self.looked.retain(|other| *other != slot);
        self.leaving.retain(|other| *other != slot);
        self.armed -= usize::from(home.stay == Stay::Armed);
        self.count -= 1;
    }

    /// Nobody looks at it for now. Its kicks are left where they are.
    pub(crate) fn set_aside(&mut self, slot: u32, stay: Stay) {
        self.looked.retain(|other| *other != slot);
        self.leaving.retain(|other| *other != slot);
        self.armed -= usize::from(stay == Stay::Armed);
    }

    /// So many that were set aside do not come back.
    pub(crate) fn forget(&mut self, count: usize) {
        self.count -= count;
    }

    /// Whether some could have kicked since the worker last looked.
    pub(crate) fn is_due(&mut self) -> bool {
        if self.armed == 0 {
            return false;
        }
        let now_ns = now_ns();
        let is_due = now_ns >= self.next_look_ns;
        if is_due {
            self.next_look_ns = now_ns + KICKS_NS;
        }
        is_due
    }

    /// Collects who has kicked, and waits for one or for the worker's event.
    pub(crate) fn wait(&mut self, within: Duration) {
        let Self {
            watched, kicked, ..
        } = self;
        if let Some(watched) = watched {
            watched.wait(within, |number| {
                if number != OWN {
                    kicked.push(u32::try_from(number).expect("a slot"));
                }
            });
        }
    }
}
