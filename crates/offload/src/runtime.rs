//! quinn's runtime, whose tasks say when their turns begin and end.

use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use quinn::{AsyncTimer, AsyncUdpSocket, Runtime};

use crate::counters::Counters;
use crate::drive;
use crate::receive::Receiving;
use crate::socket::Socket;

pub(crate) struct Turns {
    pub inner: Arc<dyn Runtime>,
    /// Where packets are opened as they arrive.
    pub receiving: Option<Arc<Receiving>>,
    /// Whether packets may be sealed as they are sent.
    pub seals: bool,
    pub counters: Arc<Counters>,
    /// Sockets send to loopback addresses alone.
    pub only_loopback: bool,
}

impl std::fmt::Debug for Turns {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(text)
    }
}

impl Runtime for Turns {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        self.inner.new_timer(at)
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.inner.spawn(match self.seals {
            true => Box::pin(Turn(task)),
            false => task,
        });
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let socket = Socket::new(
            self.inner.wrap_udp_socket(socket)?,
            self.receiving.clone(),
            &self.counters,
            self.only_loopback,
        );
        self.inner.spawn(Box::pin(socket.flusher()));
        Ok(socket)
    }

    fn now(&self) -> Instant {
        self.inner.now()
    }
}

struct Turn(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        drive::turn(|| self.0.as_mut().poll(context))
    }
}
