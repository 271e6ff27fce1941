//! What arrives is opened on its way from buffers of ours to quinn's.

use std::io::{self, IoSliceMut};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use quic::table::Path;
use quinn::AsyncUdpSocket;
use quinn::udp::RecvMeta;

use crate::receive::Receiving;

/// What one message carries.
const MESSAGE_BYTES: usize = 1 << 16;
/// Messages that are received by one call.
const MESSAGES: usize = 8;

pub(crate) struct Inbox {
    receiving: Arc<Receiving>,
    buffers: Mutex<Vec<Box<[u8]>>>,
}

impl Inbox {
    pub(crate) fn new(receiving: Arc<Receiving>) -> Self {
        Self {
            receiving,
            buffers: Mutex::new(vec![vec![0; MESSAGE_BYTES].into(); MESSAGES]),
        }
    }

    pub(crate) fn poll_recv(
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
            ready!(socket.poll_recv(context, &mut slices, metas))?
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
