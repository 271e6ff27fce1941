//! Where messages leave: by the application's thread, or by a worker's.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use quinn::AsyncUdpSocket;

use crate::counters::Counters;
use crate::keys::NotSealed;
use crate::outbox::{Buffer, Message, Outbox, buffer};
use crate::worker::Post;

/// With fewer datagrams a message is not worth a crossing.
const WORTH_A_CROSSING: usize = 4;
/// How often a worker asks a kernel that takes no more, and how long before.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_micros(100);

pub(crate) struct Outlet {
    pub inner: Arc<dyn AsyncUdpSocket>,
    pub counters: Arc<Counters>,
    state: Mutex<State>,
    /// Messages that a worker has.
    under_way: AtomicUsize,
    /// Whether the flusher waits until a worker is done with one.
    is_awaited: AtomicBool,
}

pub(crate) struct State {
    pub outbox: Outbox,
    /// Where packets are sealed to, of messages that were meant for a worker.
    sealed: Option<Buffer>,
    /// When the oldest datagram was taken that is held.
    pub since: Option<Instant>,
    /// Datagrams were taken since the flusher looked.
    pub is_growing: bool,
    pub flusher: Option<Waker>,
    /// Tasks that wait until messages are gone.
    pub blocked: Vec<Waker>,
}

/// How far messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// The kernel takes no more now.
    UntilWritable,
    /// The worker takes no more now: it wakes the flusher.
    UntilWoken,
}

impl Outlet {
    pub(crate) fn new(
        inner: Arc<dyn AsyncUdpSocket>,
        counters: &Arc<Counters>,
        seals_later: bool,
    ) -> Arc<Self> {
        let outbox = Outbox::new(inner.max_transmit_segments(), seals_later);
        Arc::new(Self {
            inner,
            counters: counters.clone(),
            state: Mutex::new(State {
                outbox,
                sealed: None,
                since: None,
                is_growing: false,
                flusher: None,
                blocked: Vec::new(),
            }),
            under_way: AtomicUsize::new(0),
            is_awaited: AtomicBool::new(false),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends messages, or hands them over to `post`'s worker.
    pub(crate) fn send(
        self: &Arc<Self>,
        state: &mut State,
        post: Option<&Post>,
        only_complete: bool,
    ) -> Sent {
        let before = state.outbox.messages();
        let sent = loop {
            let Some(message) = state.outbox.next(only_complete) else {
                break Sent::All;
            };
            let sent = match post {
                Some(post) => self.hand_over(state, post, message),
                None => self.send_here(state, message),
            };
            if sent != Sent::All {
                break sent;
            }
        };
        if state.outbox.messages() < before {
            state.blocked.drain(..).for_each(Waker::wake);
        }
        if state.outbox.messages() == 0 {
            state.since = None;
        }
        sent
    }

    fn hand_over(self: &Arc<Self>, state: &mut State, post: &Post, message: Message) -> Sent {
        let is_first = self.under_way.load(Ordering::SeqCst) == 0;
        if is_first && (message.count < WORTH_A_CROSSING || !post.is_open()) {
            return self.send_here(state, message);
        }
        let refused = match post.submit(self, message) {
            Ok(spent) => {
                if let Some(spent) = spent {
                    state.outbox.recycle(spent);
                }
                return Sent::All;
            }
            Err(refused) => refused,
        };
        // Who ends the next one sees this, or it is seen here that all have ended.
        self.is_awaited.store(true, Ordering::SeqCst);
        // What a worker had when it broke is lost, as datagrams may be.
        if self.under_way.load(Ordering::SeqCst) == 0 || !post.is_open() {
            return self.send_here(state, refused);
        }
        state.outbox.put_back(refused);
        Sent::UntilWoken
    }

    /// Sends a message by this thread.
    fn send_here(&self, state: &mut State, mut message: Message) -> Sent {
        if !self.seal(&mut message, state.sealed.get_or_insert_with(buffer)) {
            state.outbox.recycle(message);
            return Sent::All;
        }
        match self.try_send(&message) {
            true => state.outbox.recycle(message),
            false => {
                state.outbox.put_back(message);
                return Sent::UntilWritable;
            }
        }
        Sent::All
    }

    /// `false` where nothing of the message may be sent: it is lost, as datagrams may be.
    fn seal(&self, message: &mut Message, sealed: &mut Buffer) -> bool {
        let ended = message.seal(sealed);
        match &ended {
            Ok(packets) => self.counters.sealed_together.add(*packets),
            Err(NotSealed { packets }) => self.counters.not_sealed.add(*packets),
        }
        ended.is_ok()
    }

    /// `false` where the message would have to wait. What fails otherwise is gone, as
    /// datagrams may be.
    fn try_send(&self, message: &Message) -> bool {
        match self.inner.try_send(&message.transmit()) {
            Ok(()) => {
                self.counters.datagrams.add(message.count);
                self.counters.messages.add(1);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => self.counters.failed_messages.add(1),
        }
        true
    }

    /// A worker has one more message.
    pub(crate) fn begin(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
    }

    /// It did not get it. Wakes nobody: the caller holds the state.
    pub(crate) fn refused(&self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }

    /// And one less.
    pub(crate) fn end(&self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        if self.is_awaited.swap(false, Ordering::SeqCst)
            && let Some(flusher) = self.state().flusher.take()
        {
            flusher.wake();
        }
    }

    /// Seals and sends a message by a worker's thread; what is left of it, unless the kernel
    /// takes no more for long: then the socket has it again.
    pub(crate) fn send_on_worker(
        &self,
        mut message: Message,
        sealed: &mut Buffer,
    ) -> Option<Message> {
        if !self.seal(&mut message, sealed) {
            return Some(message);
        }
        for _ in 0..TRIES {
            if self.try_send(&message) {
                return Some(message);
            }
            // Those behind it wait, too: they must not overtake it.
            thread::sleep(PAUSE);
        }
        let mut state = self.state();
        state.outbox.put_back(message);
        let flusher = state.flusher.take();
        drop(state);
        if let Some(flusher) = flusher {
            flusher.wake();
        }
        None
    }
}
