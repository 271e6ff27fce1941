//! io_uring with nothing to do: what one trip through its rings costs, and an eventfd that
//! the kernel signals.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, register::Restriction};

/// A ring for requests that do nothing (`IORING_OP_NOP`).
pub struct Nops(IoUring);

impl Nops {
    /// A ring without a polling thread of the kernel.
    ///
    /// # Errors
    /// From `io_uring_setup(2)`: `ENOSYS` of a kernel without io_uring, `EPERM` where
    /// `kernel.io_uring_disabled` forbids it; either of a container whose filter does.
    pub fn new() -> io::Result<Self> {
        Ok(Self(IoUring::new(2)?))
    }

    /// Submits one request that does nothing and takes its completion, in one
    /// `io_uring_enter(2)`.
    ///
    /// # Errors
    /// From `io_uring_enter(2)`, e.g. a container whose filter forbids this call only;
    /// or the request itself failed.
    #[inline]
    pub fn submit_and_reap(&mut self) -> io::Result<()> {
        let nop = opcode::Nop::new().build();
        // SAFETY: a NOP has neither a descriptor nor memory that must outlive it.
        unsafe { self.0.submission().push(&nop) }.map_err(io::Error::other)?;
        self.0.submit_and_wait(1)?;
        match self.0.completion().next().map(|done| done.result()) {
            Some(failure @ ..0) => Err(io::Error::from_raw_os_error(-failure)),
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

/// Signals an eventfd that others hold, too, and never waits for it.
///
/// Its flags belong to the open file: whoever shares it can clear `O_NONBLOCK` and fill
/// the counter, and `write(2)` waits. The kernel, which tells by it that a request of this
/// ring is complete (`IORING_REGISTER_EVENTFD`), does not. The ring takes requests that do
/// nothing, and no others.
pub struct EventSignal(Box<IoUring>);

impl std::fmt::Debug for EventSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EventSignal({})", self.0.as_raw_fd())
    }
}

impl EventSignal {
    /// Takes the eventfd itself; the descriptor may be closed.
    ///
    /// # Errors
    /// `EINVAL` of what is no eventfd; else as [`Nops::new`].
    pub fn new(event: BorrowedFd<'_>) -> io::Result<Self> {
        let ring = IoUring::builder().setup_r_disabled().build(2)?;
        let submitter = ring.submitter();
        submitter.register_eventfd(event.as_raw_fd())?;
        let nops = Restriction::sqe_op(opcode::Nop::CODE);
        submitter.register_restrictions(&mut [nops])?;
        submitter.register_enable_rings()?;
        Ok(Self(Box::new(ring)))
    }

    /// Adds 1 to the counter, unless it is full: whoever reads it is told already.
    ///
    /// # Errors
    /// From `io_uring_enter(2)`, e.g. where a filter forbids it since, or there is no
    /// memory. The next call makes up for it.
    #[inline]
    pub fn signal(&mut self) -> io::Result<()> {
        if self.0.submission().is_empty() {
            let nop = opcode::Nop::new().build();
            // SAFETY: a NOP has neither a descriptor nor memory that must outlive it.
            unsafe { self.0.submission().push(&nop) }.map_err(io::Error::other)?;
        }
        let submitted = self.0.submit();
        self.0.completion().for_each(drop);
        match submitted? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::event::Event;

    fn count(event: &Event) -> u64 {
        let mut bytes = [0; 8];
        match rustix::io::read(event, &mut bytes) {
            Ok(_) => u64::from_ne_bytes(bytes),
            Err(_) => 0,
        }
    }

    #[test]
    fn an_eventfd_that_blocks_and_is_full_is_not_waited_for() {
        let event = Event::new().unwrap();
        let mut signal = match EventSignal::new(event.as_fd()) {
            Ok(signal) => signal,
            Err(error) => return testing::skipped(format!("io_uring is forbidden: {error}")),
        };
        signal.signal().unwrap();
        signal.signal().unwrap();
        assert_eq!(count(&event), 2);
        rustix::fs::fcntl_setfl(&event, rustix::fs::OFlags::empty()).unwrap();
        rustix::io::write(&event, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        for _ in 0..100 {
            signal.signal().unwrap();
        }
        // The kernel may fill what `write(2)` leaves free: the last one.
        assert!(count(&event) >= u64::MAX - 1);
        signal.signal().unwrap();
        assert_eq!(count(&event), 1);
        // One that a call left behind, which failed, goes with the next.
        let nop = opcode::Nop::new().build();
        // SAFETY: as in `signal`.
        unsafe { signal.0.submission().push(&nop) }.unwrap();
        signal.signal().unwrap();
        assert_eq!((count(&event), signal.0.submission().len()), (1, 0));
        let pipe = std::io::pipe().unwrap();
        let refused = EventSignal::new(pipe.1.as_fd()).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn every_request_is_reaped_or_io_uring_is_forbidden() {
        let mut nops = match Nops::new() {
            Ok(nops) => nops,
            Err(error) => {
                let errno = error.raw_os_error().unwrap();
                let forbidden = [libc::ENOSYS, libc::EPERM, libc::EACCES, libc::ENOMEM];
                assert!(forbidden.contains(&errno), "{error}");
                return;
            }
        };
        for _ in 0..10 {
            nops.submit_and_reap().unwrap();
        }
        assert!(nops.0.completion().is_empty());
    }
}
