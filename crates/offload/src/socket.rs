//! The socket: what quinn sends is sealed here, and sent with what follows it.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use crate::drive;
use crate::inbox::Inbox;
use crate::outbox::Unmatched;
use crate::outlet::{Outlet, Sent};
use crate::worker::Post;

/// quinn sends so many datagrams at once where it has more.
const SEGMENTS_TO_HOLD: usize = 10;
/// A datagram is held no longer, in the hope of others that go the same way.
const HELD_MAX: Duration = Duration::from_micros(50);
/// Messages that wait to be sent: with so many, what quinn builds is sealed at once, so
/// that it may wait with quinn.
const WAITING: usize = 8;
/// With so many, quinn waits.
const WAITING_MAX: usize = 16;

pub(crate) struct Socket {
    pub outlet: Arc<Outlet>,
    /// Whose worker seals and sends.
    pub post: Option<Post>,
    pub inbox: Option<Inbox>,
    pub only_loopback: bool,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = text.debug_struct("Socket");
        text.field("inner", &self.outlet.inner)
            .finish_non_exhaustive()
    }
}

impl Socket {
    /// What sends that which is held when the runtime's turn ends; to be spawned.
    pub(crate) fn flusher(self: &Arc<Self>) -> Flusher {
        Flusher {
            socket: Arc::downgrade(self),
            poller: None,
        }
    }

    fn take(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let (outlet, counters) = (&self.outlet, &self.outlet.counters);
        let mut state = outlet.state();
        drive::taken(|key, unsealed| {
            // Only what no connection of quinn's sends comes here although there is no room.
            if key.is_none() && state.outbox.messages() >= 2 * WAITING_MAX {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match state.outbox.take(transmit, key, unsealed) {
                Ok(taken) => {
                    counters.sealed_together.add(taken.sealed);
                    counters.not_sealed.add(taken.not_sealed);
                }
                Err(Unmatched) => counters.unmatched.add(1),
            }
            Ok::<_, io::Error>(())
        })?;
        let segments = transmit.contents.len() / transmit.segment_size.unwrap_or(usize::MAX);
        // Else the connection has nothing more to send now.
        let holds = segments >= SEGMENTS_TO_HOLD && {
            let now = Instant::now();
            now.duration_since(*state.since.get_or_insert(now)) < HELD_MAX
        };
        outlet.send(&mut state, self.post.as_ref(), holds);
        if state.outbox.messages() > 0 && !std::mem::replace(&mut state.is_growing, true) {
            let flusher = state.flusher.take();
            drop(state);
            if let Some(flusher) = flusher {
                flusher.wake();
            }
        }
        Ok(())
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
        self.take(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let inner = &*self.outlet.inner;
        match &self.inbox {
            Some(inbox) => inbox.poll_recv(inner, context, buffers, metas),
            None => inner.poll_recv(context, buffers, metas),
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.outlet.inner.local_addr()
    }

    /// quinn asks in each turn, before it builds packets.
    fn max_transmit_segments(&self) -> usize {
        drive::take_from_now(self.outlet.state().outbox.messages() < WAITING);
        self.outlet.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.outlet.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.outlet.inner.may_fragment()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.outlet.state();
        // The last that anyone can do for them.
        self.outlet.send(&mut state, self.post.as_ref(), false);
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
        let mut state = self.socket.outlet.state();
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
        let outlet = &socket.outlet;
        let mut state = outlet.state();
        let is_growing = std::mem::replace(&mut state.is_growing, false);
        let is_late = state.since.is_some_and(|since| since.elapsed() >= HELD_MAX);
        if is_growing && !is_late {
            // Behind the tasks that are ready now.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        state.flusher = Some(context.waker().clone());
        loop {
            match outlet.send(&mut state, socket.post.as_ref(), false) {
                Sent::All => {
                    self.poller = None;
                    return Poll::Pending;
                }
                Sent::UntilWoken => return Poll::Pending,
                Sent::UntilWritable => {
                    let new = || outlet.inner.clone().create_io_poller();
                    let poller = self.poller.get_or_insert_with(new);
                    match poller.as_mut().poll_writable(context) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(_)) | Poll::Pending => return Poll::Pending,
                    }
                }
            }
        }
    }
}
