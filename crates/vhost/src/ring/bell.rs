//! What tells a driver that something is done.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{ReadWriteFlags, preadv2, write};

/// The front-end's eventfd; it may be exchanged at any time.
///
/// Writing to it does not block. But the front-end shares the open file: it can clear
/// `O_NONBLOCK`, fill the counter, and so stop the worker and all its tenants. Linux has
/// no write to an eventfd that cannot block whatever the file says. So the device looks
/// how long a write has lasted, and ends it by reading the counter.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    file: Mutex<Option<Arc<OwnedFd>>>,
    /// What is being written to, and since when: by the worker, by the device's thread.
    writes: [Mutex<Option<Write>>; 2],
    /// A front-end that blocked is told no more.
    is_cut: AtomicBool,
}

#[derive(Debug)]
struct Write {
    file: Arc<OwnedFd>,
    begin: Instant,
}

/// A write that lasts longer blocks: others take microseconds, or a few milliseconds of a
/// host that is busy.
const BLOCKED: Duration = Duration::from_millis(200);

/// How long the counter is read again and again: its owner may fill it as often.
const FREED_WITHIN: Duration = Duration::from_millis(200);

impl Bell {
    /// Tells once by the new file: by the old one it may have been in vain.
    pub(crate) fn set(&self, file: Option<OwnedFd>) {
        *lock(&self.file) = file.map(Arc::new);
        self.ring(1);
    }

    /// Tells the driver, on the worker.
    pub(super) fn tell(&self) {
        self.ring(0);
    }

    /// The same, on the device's thread.
    pub(super) fn tell_again(&self) {
        self.ring(1);
    }

    fn ring(&self, side: usize) {
        let Some(file) = lock(&self.file).clone() else {
            return;
        };
        if self.is_cut.load(Ordering::Relaxed) {
            return;
        }
        let begin = Instant::now();
        let now = Write {
            file: Arc::clone(&file),
            begin,
        };
        *lock(&self.writes[side]) = Some(now);
        // A counter that is full has told already; what else can fail is of the
        // front-end's making, and its own loss.
        let _ = write(&*file, &1_u64.to_ne_bytes());
        *lock(&self.writes[side]) = None;
    }

    /// Ends writes that block, and cuts their front-end off; whether there was one, now or
    /// before.
    pub(crate) fn free(&self) -> bool {
        for side in &self.writes {
            let blocked = || {
                let write = lock(side);
                let write = write.as_ref().filter(|one| one.begin.elapsed() > BLOCKED)?;
                Some(Arc::clone(&write.file))
            };
            // A worker that was preempted while it wrote is not blocked.
            if !blocked().is_some_and(|file| is_full(&file)) {
                continue;
            }
            let begin = Instant::now();
            while let Some(file) = blocked()
                && begin.elapsed() < FREED_WITHIN
            {
                self.is_cut.store(true, Ordering::Relaxed);
                let mut count = [0; 8];
                let mut into = [IoSliceMut::new(&mut count)];
                // This does not block, whatever the file says.
                let _ = preadv2(&*file, &mut into, u64::MAX, ReadWriteFlags::NOWAIT);
            }
        }
        self.is_cut.load(Ordering::Relaxed)
    }
}

/// Whether the counter takes no more: that of a front-end that means well never is full.
fn is_full(file: &OwnedFd) -> bool {
    const NOW: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut polled = [PollFd::new(file, PollFlags::OUT)];
    poll(&mut polled, Some(&NOW)).is_ok_and(|ready| ready == 0)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
