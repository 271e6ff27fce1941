//! One queue of both ports: a socket at each, over memory that both share, so
//! that a frame leaves from where it came to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use xdp::socket::{Frame, OpenError, Pool, Socket, SocketOptions, Umem};

use super::rewrite::{Hop, send_on};
use super::thread::Tally;

/// Frames that the kernel has of a queue to receive into.
pub(super) const FILL_LEVEL: u32 = 1024;

pub(super) const RING_ENTRIES: u32 = 2048;

/// Frames of memory that a lane needs at both ports: to receive into, and being sent.
pub(super) const LANE_FRAMES: u32 = 2 * (FILL_LEVEL + RING_ENTRIES);

pub(super) struct Lane {
    sockets: [Socket; 2],
    hops: [Hop; 2],
}

impl Lane {
    pub(super) fn open(
        umem: &Arc<Umem>,
        interfaces: [u32; 2],
        queue: u32,
        hops: [Hop; 2],
        options: &SocketOptions,
    ) -> Result<Self, OpenError> {
        let open = |interface| Socket::open(umem, interface, queue, options);
        Ok(Self {
            sockets: [open(interfaces[0])?, open(interfaces[1])?],
            hops,
        })
    }

    pub(super) fn socket(&self, port: usize) -> &Socket {
        &self.sockets[port]
    }

    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [0, 1].map(|port| self.sockets[port].receive.as_fd())
    }

    pub(super) fn refill(&mut self, pool: &mut Pool) {
        for socket in &mut self.sockets {
            socket.receive.refill(pool, FILL_LEVEL);
        }
    }

    pub(super) fn call_drivers(&self) {
        for socket in &self.sockets {
            socket.receive.call();
        }
    }
}

pub(super) struct Hands {
    pub(super) umem: Arc<Umem>,
    pub(super) pool: Pool,
    pub(super) frames: Vec<Frame>,
    pub(super) batch: u32,
    pub(super) tally: Arc<Tally>,
}

impl Lane {
    /// Takes a batch at one port and sends it by the other. Returns how many came.
    pub(super) fn pass(&mut self, from: usize, hands: &mut Hands) -> io::Result<u32> {
        let [zero, one] = &mut self.sockets;
        let (input, output) = match from {
            0 => (zero, one),
            _ => (one, zero),
        };
        let count = input.receive.receive(hands.batch, &mut hands.frames);
        if count == 0 {
            // What the kernel refused before.
            if output.transmit.in_flight() > 0 {
                output.transmit.flush()?;
                output.transmit.reclaim(&mut hands.pool);
            }
            return Ok(0);
        }
        let hop = self.hops[1 - from];
        let mut sent = 0;
        for mut frame in hands.frames.drain(..) {
            let is_sent = send_on(hands.umem.bytes_mut(&mut frame), &hop);
            let left = if is_sent {
                output.transmit.stage(frame)
            } else {
                Err(frame)
            };
            match left {
                Ok(()) => sent += 1,
                Err(frame) => hands.pool.put(frame),
            }
        }
        output.transmit.flush()?;
        output.transmit.reclaim(&mut hands.pool);
        input.receive.refill(&mut hands.pool, FILL_LEVEL);
        let Tally {
            forwarded, dropped, ..
        } = &*hands.tally;
        forwarded.fetch_add(sent, Ordering::Relaxed);
        if sent < u64::from(count) {
            dropped.fetch_add(u64::from(count) - sent, Ordering::Relaxed);
        }
        Ok(count)
    }
}
