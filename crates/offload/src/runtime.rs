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
use crate::inbox::Inbox;
use crate::outlet::Outlet;
use crate::receive::Receiving;
use crate::socket::Socket;
use crate::worker::Worker;

pub(crate) struct Turns {
    pub inner: Arc<dyn Runtime>,
    pub sockets: Sockets,
}

/// What sockets are made with.
#[derive(Clone)]
pub(crate) struct Sockets {
    /// Where packets are opened as they arrive.
    pub receiving: Option<Arc<Receiving>>,
    /// Whether packets may be sealed as they are sent.
    pub seals: bool,
    /// Who seals and sends them.
    pub worker: Option<Arc<Worker>>,
    pub counters: Arc<Counters>,
    /// Sockets send to loopback addresses alone.
    pub only_loopback: bool,
}

impl Sockets {
    fn socket(&self, inner: Arc<dyn AsyncUdpSocket>) -> io::Result<Arc<Socket>> {
        let post = self.worker.as_ref().map(Worker::post).transpose();
        let post = post.map_err(io::Error::other)?;
        let outlet = Outlet::new(inner, &self.counters, post.is_some());
        Ok(Arc::new(Socket {
            outlet,
            post,
            inbox: self.receiving.clone().map(Inbox::new),
            only_loopback: self.only_loopback,
        }))
    }
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
        self.inner.spawn(match self.sockets.seals {
            true => Box::pin(Turn(task)),
            false => task,
        });
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let socket = self.sockets.socket(self.inner.wrap_udp_socket(socket)?)?;
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
