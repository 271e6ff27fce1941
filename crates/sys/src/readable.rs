//! Waiting until there is something to read: poll(2).

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Whether one of these has something to read within a time. A signal begins the time
/// again.
///
/// # Errors
/// From `poll(2)`.
pub fn any(files: &[BorrowedFd<'_>], within: Duration) -> io::Result<bool> {
    let polled = files
        .iter()
        .map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN));
    let mut polled: Vec<_> = polled.collect();
    let within = Timespec {
        tv_sec: within.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: within.subsec_nanos().into(),
    };
    loop {
        match poll(&mut polled, Some(&within)) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}
