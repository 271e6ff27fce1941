//! The socket: what quinn sends is sealed here, and sent with what follows it.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use quic::table::Path;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use crate::counters::Counters;
use crate::drive;
use crate::outbox::{Outbox, Unmatched};
use crate::receive::Receiving;

/// quinn sends so many datagrams at once where it has more.
const SEGMENTS_TO_HOLD: usize = 10;
/// A datagram is held no longer, in the hope of others that go the same way.
const HELD_MAX: Duration = Duration::from_micros(50);
/// Messages that the kernel did not take yet: with so many, what quinn builds is sealed at
/// once, so that it may wait with quinn.
const WAITING: usize = 8;
/// What one message carries.
const DATAGRAMS_BYTES: usize = 1 << 16;
/// Messages that are received by one call.
const BUFFERS: usize = 8;
/// With so many, quinn waits.
const WAITING_MAX: usize = 16;

pub(crate) struct Socket {
    inner: Arc<dyn AsyncUdpSocket>,
    counters: Arc<Counters>,
    only_loopback: bool,
    state: Mutex<State>,
    inbox: Option<Inbox>,
}

/// What arrives is opened on its way from these buffers to quinn's.
struct Inbox {
    receiving: Arc<Receiving>,
    buffers: Mutex<Vec<Box<[u8]>>>,
}

struct State {
    outbox: Outbox,
    /// When the oldest datagram was taken that is held.
    since: Option<Instant>,
    /// Datagrams were taken since the flusher looked.
    is_growing: bool,
    flusher: Option<Waker>,
    /// Tasks that wait until messages are gone.
    blocked: Vec<Waker>,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = text.debug_struct("Socket");
        text.field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Socket {
    pub(crate) fn new(
        inner: Arc<dyn AsyncUdpSocket>,
        receiving: Option<Arc<Receiving>>,
        counters: &Arc<Counters>,
        only_loopback: bool,
    ) -> Arc<Self> {
        let segments_max = inner.max_transmit_segments();
        let inbox = |receiving| Inbox {
            receiving,
            buffers: Mutex::new(vec![vec![0; DATAGRAMS_BYTES].into(); BUFFERS]),
        };
        Arc::new(Self {
            inbox: receiving.map(inbox),
            inner,
            counters: counters.clone(),
            only_loopback,
            state: Mutex::new(State {
                outbox: Outbox::new(segments_max),
                since: None,
                is_growing: false,
                flusher: None,
                blocked: Vec::new(),
            }),
        })
    }

    /// What sends that which is held when the runtime's turn ends; to be spawned.
    pub(crate) fn flusher(self: &Arc<Self>) -> Flusher {
        Flusher {
            socket: Arc::downgrade(self),
            poller: None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends messages; `false` where the kernel takes no more now.
    fn send(&self, state: &mut State, only_complete: bool) -> bool {
        let before = state.outbox.messages();
        let send = |transmit: &Transmit<'_>| self.inner.try_send(transmit);
        let is_sent = state.outbox.send(only_complete, &self.counters, send);
        if state.outbox.messages() < before {
            state.blocked.drain(..).for_each(Waker::wake);
        }
        if state.outbox.messages() == 0 {
            state.since = None;
        }
        is_sent
    }
}

impl Inbox {
    fn poll_recv(
        &self,
        socket: &dyn AsyncUdpSocket,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut own = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = own.len().min(buffers.len()).min(metas.len());
        let count = {
            // quinn's may be shorter: what they would cut off is cut off here.
            let fit = own.iter_mut().zip(&*buffers).take(count);
            let slices = fit.map(|(own, theirs)| {
                let bytes = own.len().min(theirs.len());
                IoSliceMut::new(&mut own[..bytes])
            });
            let mut slices: Vec<_> = slices.collect();
            std::task::ready!(socket.poll_recv(context, &mut slices, metas))?
        };
        let messages = own.iter().zip(buffers.iter_mut()).zip(&*metas).take(count);
        let datagrams = messages.flat_map(|((from, to), meta)| {
            let path = Path::new(meta.addr, 0);
            let stride = meta.stride.max(1);
            let from = from[..meta.len].chunks(stride);
            let to = to[..meta.len].chunks_mut(stride);
            from.zip(to).map(move |(from, to)| (path, from, to))
        });
        self.receiving.open(datagrams, sys::clock::now_ns());
        Poll::Ready(Ok(count))
    }
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Room { socket: self })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if self.only_loopback && !transmit.destination.ip().to_canonical().is_loopback() {
            return Err(io::Error::other(format!(
                "packets that nothing protects stay on loopback: {}",
                transmit.destination
            )));
        }
        let mut state = self.state();
        drive::taken(|key, unsealed| {
            // Only what no connection of quinn's sends comes here although there is no room.
            if key.is_none() && state.outbox.messages() >= 2 * WAITING_MAX {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match state.outbox.take(transmit, key, unsealed) {
                Ok(()) => self.counters.sealed_together.add(unsealed.len()),
                Err(Unmatched) => self.counters.unmatched.add(1),
            }
            Ok::<_, io::Error>(())
        })?;
        let segments = transmit.contents.len() / transmit.segment_size.unwrap_or(usize::MAX);
        if segments < SEGMENTS_TO_HOLD {
            // The connection has nothing more to send now.
            self.send(&mut state, false);
        } else {
            let now = Instant::now();
            let since = *state.since.get_or_insert(now);
            self.send(&mut state, now.duration_since(since) < HELD_MAX);
        }
        if state.outbox.messages() > 0 && !std::mem::replace(&mut state.is_growing, true) {
            let flusher = state.flusher.take();
            drop(state);
            if let Some(flusher) = flusher {
                flusher.wake();
            }
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        match &self.inbox {
            Some(inbox) => inbox.poll_recv(&*self.inner, context, buffers, metas),
            None => self.inner.poll_recv(context, buffers, metas),
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// quinn asks in each turn, before it builds packets.
    fn max_transmit_segments(&self) -> usize {
        drive::take_from_now(self.state().outbox.messages() < WAITING);
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The last that anyone can do for them.
        let send = |transmit: &Transmit<'_>| self.inner.try_send(transmit);
        state.outbox.send(false, &self.counters, send);
        if let Some(flusher) = state.flusher.take() {
            flusher.wake();
        }
    }
}

/// Whether the socket has room.
#[derive(Debug)]
struct Room {
    socket: Arc<Socket>,
}

impl UdpPoller for Room {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is not sealed is never kept waiting.
        if drive::is_taken() {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.socket.state();
        if state.outbox.messages() < WAITING_MAX {
            return Poll::Ready(Ok(()));
        }
        let waker = context.waker();
        if !state.blocked.iter().any(|one| one.will_wake(waker)) {
            state.blocked.push(waker.clone());
        }
        Poll::Pending
    }
}

/// Sends what is held: when nothing more came since its last turn, or after [`HELD_MAX`].
pub(crate) struct Flusher {
    socket: Weak<Socket>,
    /// Of the kernel's socket, while that takes no more.
    poller: Option<Pin<Box<dyn UdpPoller>>>,
}

impl Future for Flusher {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(socket) = self.socket.upgrade() else {
            return Poll::Ready(());
        };
        let mut state = socket.state();
        let is_growing = std::mem::replace(&mut state.is_growing, false);
        let is_late = state.since.is_some_and(|since| since.elapsed() >= HELD_MAX);
        if is_growing && !is_late {
            // Behind the tasks that are ready now.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        state.flusher = Some(context.waker().clone());
        while !socket.send(&mut state, false) {
            let new = || socket.inner.clone().create_io_poller();
            let poller = self.poller.get_or_insert_with(new);
            match poller.as_mut().poll_writable(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) | Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }
}
