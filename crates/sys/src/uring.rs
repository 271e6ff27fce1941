//! io_uring with nothing to do: what one trip through its rings costs.

use std::io;

use io_uring::{IoUring, opcode};

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

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
