//! The half of a socket that sends: the transmit ring gives the kernel packets,
//! the completion ring brings their frames back.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::map::Descriptor;
use super::ring::{Consumer, Producer};
use super::umem::{Frame, Pool, Umem};

/// Calls in a row that send nothing before [`Transmit::flush`] gives up for now.
const IDLE_CALLS_MAX: u32 = 2;

#[derive(Debug)]
pub struct Transmit {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) umem: Arc<Umem>,
    pub(super) ring: Producer<Descriptor>,
    pub(super) completion: Consumer<u64>,
    pub(super) entries: u32,
    /// Staged and not yet completed: at most `entries`, so that the completion
    /// ring always has room.
    pub(super) in_flight: u32,
    pub(super) budget: u32,
    pub(super) is_zero_copy: bool,
    pub(super) calls: u64,
    pub(super) invalid: u64,
}

impl Transmit {
    /// Puts a packet into the ring without sending it.
    ///
    /// # Errors
    /// The frame, where the ring is full: [`reclaim`](Self::reclaim), or drop the
    /// packet and count it.
    ///
    /// # Panics
    /// If the frame is another UMEM's.
    pub fn stage(&mut self, frame: Frame) -> Result<(), Frame> {
        assert!(self.umem.owns(&frame), "a frame of another UMEM");
        if self.in_flight >= self.entries {
            return Err(frame);
        }
        let descriptor = Descriptor {
            address: frame.address(),
            len: frame.len() as u32,
            options: 0,
        };
        match self.ring.stage(descriptor) {
            Ok(()) => {
                self.in_flight += 1;
                Ok(())
            }
            Err(_) => Err(frame),
        }
    }

    /// Sends all that was staged. It calls the kernel, which takes a budget's worth a
    /// call where it copies, until it has all, or takes no more for now (its socket
    /// buffer or the interface's queue is full). Returns how many it left; they stay
    /// in the ring, and the next flush tries again.
    ///
    /// # Errors
    /// When the interface is gone or down.
    pub fn flush(&mut self) -> io::Result<u32> {
        self.ring.publish();
        let mut left = self.ring.pending();
        let mut idle_calls = 0;
        while left > 0 && self.ring.needs_wakeup() {
            self.calls += 1;
            match send(&*self.socket, &[], SendFlags::DONTWAIT) {
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
            let now = self.ring.pending();
            idle_calls = if now < left { 0 } else { idle_calls + 1 };
            left = now;
            if idle_calls >= IDLE_CALLS_MAX {
                break;
            }
        }
        Ok(left)
    }

    /// Takes the frames of packets that were sent back to `pool`. Returns how many.
    pub fn reclaim(&mut self, pool: &mut Pool) -> u32 {
        if self.in_flight == 0 {
            return 0;
        }
        let (umem, invalid) = (&self.umem, &mut self.invalid);
        let taken = self
            .completion
            .drain(self.in_flight, |address| match umem.claim(address, 0) {
                Some(frame) => pool.put(frame),
                None => *invalid += 1,
            });
        self.in_flight -= taken;
        taken
    }

    /// Packets staged whose frames have not come back.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Packets staged that the link has not taken. Where the kernel copies, a packet
    /// is taken once it left the transmit ring: the completion comes only when the
    /// receiver of the copy is done with it. Where the driver sends from the UMEM, it
    /// is taken with the completion: [`reclaim`](Self::reclaim) first.
    pub fn waiting(&self) -> u32 {
        if self.is_zero_copy {
            self.in_flight
        } else {
            self.ring.pending()
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Packets that one call takes at most where frames are copied.
    pub fn budget(&self) -> u32 {
        self.budget
    }

    /// Completions that lay outside the UMEM, and were ignored: 0 unless the
    /// kernel is broken.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }
}
