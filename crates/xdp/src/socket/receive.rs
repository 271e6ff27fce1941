//! The half of a socket that receives: the fill ring gives the kernel frames,
//! the receive ring brings them back with packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::net::xdp::XdpStatistics;
use rustix::net::{RecvFlags, recv, sockopt};

use super::map::Descriptor;
use super::options::napi_id;
use super::ring::{Consumer, Producer};
use super::umem::{Frame, Pool, Umem};

#[derive(Debug)]
pub struct Receive {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) umem: Arc<Umem>,
    pub(super) ring: Consumer<Descriptor>,
    pub(super) fill: Producer<u64>,
    /// Descriptors that lay outside the UMEM; the kernel never writes any.
    pub(super) invalid: u64,
}

impl Receive {
    /// Gives the kernel frames of `pool` to receive into, until it has `level` of
    /// them, the ring is full or the pool is empty. Returns how many.
    ///
    /// A low level keeps the memory that packets pass through in a cache; a high one
    /// takes longer bursts.
    ///
    /// # Panics
    /// If the pool is another UMEM's.
    pub fn refill(&mut self, pool: &mut Pool, level: u32) -> u32 {
        let wanted = level.saturating_sub(self.fill.pending());
        let room = self.fill.free(wanted).min(wanted);
        let mut given = 0;
        while given < room {
            let Some(frame) = pool.take() else { break };
            assert!(self.umem.owns(&frame), "a frame of another UMEM");
            self.fill.stage(frame.address()).expect("there is room");
            given += 1;
        }
        self.fill.publish();
        given
    }

    /// Takes up to `max` packets, in order, to the end of `into`.
    pub fn receive(&mut self, max: u32, into: &mut Vec<Frame>) -> u32 {
        let (umem, invalid) = (&self.umem, &mut self.invalid);
        let before = into.len();
        self.ring.drain(max, |descriptor| {
            match umem.claim(descriptor.address, descriptor.len) {
                Some(frame) => into.push(frame),
                None => *invalid += 1,
            }
        });
        (into.len() - before) as u32
    }

    /// Calls the driver if it asked for that, having run out of frames.
    pub fn wake(&self) {
        if self.fill.needs_wakeup() {
            self.call();
        }
    }

    /// Calls the driver: with busy polling it runs its polling loop now.
    pub fn call(&self) {
        let nothing: &mut [u8] = &mut [];
        // What it returns says only whether there was something.
        let _ = recv(&*self.socket, nothing, RecvFlags::DONTWAIT);
    }

    /// Whether busy polling can work: the kernel knows which polling loop (NAPI) of
    /// the driver fills this queue. Linux learns it from the first packet until 6.12,
    /// and from the driver when the socket is bound since 6.14; some drivers do not
    /// report it, veth among them in 6.18.
    ///
    /// # Errors
    /// From `getsockopt(2)`.
    pub fn can_busy_poll(&self) -> io::Result<bool> {
        Ok(napi_id(&self.socket)?.is_some())
    }

    /// What the kernel counted: packets it dropped, and why; of both halves.
    ///
    /// # Errors
    /// From `getsockopt(2)`.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        Ok(sockopt::xdp_statistics(&*self.socket)?)
    }

    /// Descriptors that lay outside the UMEM, and were ignored: 0 unless the
    /// kernel is broken.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }
}

impl AsFd for Receive {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
