//! eventfd: the notification itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A Linux eventfd counter, non-blocking; `wait` adds the blocking.
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// A new event, not signalled.
    ///
    /// # Errors
    /// From `eventfd(2)`: usually too many open files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor; it has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes the thread that waits, now or next: one crossing.
    pub fn signal(&self) {
        let one = 1u64;
        // SAFETY: eight readable bytes, as eventfd wants. It can only fail
        // with EAGAIN when 2^64-2 signals are pending: then it is signalled.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Takes pending signals back; `true` if there were any.
    pub fn clear(&self) -> bool {
        let mut count = 0u64;
        // SAFETY: eight writable bytes, as eventfd wants.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) == 8 }
    }

    /// Sleeps until signalled, at most `timeout`, and clears the signal.
    /// Returns whether it was signalled. Interrupted by a Unix signal it
    /// returns `false` early: callers look at their condition and come back.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let time = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // SAFETY: one pollfd and one timespec, both alive during the call.
        let ready = unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
        ready > 0 && self.clear()
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_kept_until_waited_for() {
        let event = Event::new().unwrap();
        assert!(!event.wait(Duration::ZERO));
        event.signal();
        event.signal();
        assert!(event.wait(Duration::from_secs(5)));
        assert!(!event.clear(), "both signals were taken together");
    }
}
