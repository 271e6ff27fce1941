//! Waiting until there is something to read: poll(2) and epoll(7).

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
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
    let within = timespec(within);
    loop {
        match poll(&mut polled, Some(&within)) {
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// Files that are waited for together, each with a number: epoll(7), edge-triggered, so
/// that a file of another party that is always readable wakes once and not for ever, and
/// nothing of it is read.
pub struct Watched {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

// SAFETY: an event may hold a pointer; these hold numbers.
unsafe impl Send for Watched {}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Watched({:?})", self.epoll)
    }
}

impl Watched {
    /// # Errors
    /// From `epoll_create1(2)`: usually too many open files.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
        })
    }

    /// # Errors
    /// From `epoll_ctl(2)`: `EPERM` for a file that cannot be waited for, `EEXIST` for one
    /// that is watched already.
    pub fn add(&self, file: BorrowedFd<'_>, number: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            file,
            epoll::EventData::new_u64(number),
            flags,
        )?)
    }

    /// Takes the file out. It is out by itself when its last descriptor is closed.
    pub fn remove(&self, file: BorrowedFd<'_>) {
        // One that is not in it is out.
        let _ = epoll::delete(&self.epoll, file);
    }

    /// Waits until one has become readable, at most `within`, and gives the numbers of
    /// those that have. A signal of the system ends the wait early.
    pub fn wait(&mut self, within: Duration, mut take: impl FnMut(u64)) {
        let mut within = timespec(within);
        // epoll_wait(2) counts milliseconds, and before Linux 5.11 no other counts less;
        // what a device holds back is due within microseconds.
        if within.tv_nsec % 1_000_000 != 0 && within.tv_sec == 0 {
            let mut polled = [PollFd::new(&self.epoll, PollFlags::IN)];
            // A signal of the system ends the wait early.
            if !poll(&mut polled, Some(&within)).is_ok_and(|ready| ready > 0) {
                return;
            }
            within = timespec(Duration::ZERO);
        }
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        if epoll::wait(&self.epoll, room, Some(&within)).is_ok() {
            self.events.iter().for_each(|event| take(event.data.u64()));
        }
    }
}

/// More are given by the next wait.
const EVENTS_MAX: usize = 64;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::event::Event;

    const NONE: [u64; 0] = [];

    #[test]
    fn each_signal_is_seen_once_and_none_is_read() {
        let (first, second) = (Event::new().unwrap(), Event::new().unwrap());
        let mut watched = Watched::new().unwrap();
        watched.add(first.as_fd(), 7).unwrap();
        watched.add(second.as_fd(), u64::MAX).unwrap();
        assert!(watched.add(first.as_fd(), 8).is_err());
        let seen = |watched: &mut Watched, within| {
            let mut numbers = Vec::new();
            watched.wait(Duration::from_millis(within), |number| numbers.push(number));
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(seen(&mut watched, 0), NONE);
        first.signal();
        second.signal();
        first.signal();
        assert_eq!(seen(&mut watched, 1000), [7, u64::MAX]);
        assert_eq!(seen(&mut watched, 0), NONE);
        first.signal();
        assert_eq!(seen(&mut watched, 1000), [7]);
        assert!(first.clear());
        watched.remove(second.as_fd());
        second.signal();
        assert_eq!(seen(&mut watched, 0), NONE);
        assert_eq!(seen(&mut watched, 1), NONE);
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(watched.add(file.as_fd(), 1).is_err());
    }

    /// As long as it was told to, and no shorter; a host that is busy makes all of them
    /// longer, but hardly a hundred in a row.
    #[test]
    fn a_wait_of_microseconds_is_no_wait_of_a_millisecond() {
        crate::clock::make_timers_exact();
        let mut watched = Watched::new().unwrap();
        let within = Duration::from_micros(50);
        let took = (0..100).map(|_| {
            let begin = std::time::Instant::now();
            watched.wait(within, |_| {});
            begin.elapsed()
        });
        let least = took.min().unwrap();
        assert!(within <= least && least < 10 * within, "{least:?}");
    }
}
