//! The thread that counts, for every port that user space drives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sys::clock::now_ns;

use super::{PortError, Received, Receiver};
use crate::pinned::Pinned;
use crate::tester::accounting::Account;
use crate::tester::stream::Stream;

/// How long a sleeping collector may not see a stop.
const SLEEP_MAX: Duration = Duration::from_millis(20);

pub(super) trait Inlet: Send {
    /// Waits for frames, `timeout` at most, and gives what is there, a batch at
    /// most. Returns how many; frames are as they lie in memory.
    fn collect(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, PortError>;
}

#[derive(Debug)]
struct Shared {
    account: Mutex<Account>,
    stop: AtomicBool,
}

impl Shared {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts from a thread of its own. Stops when dropped.
pub(super) struct Collector {
    shared: Arc<Shared>,
    thread: Pinned<Result<(), PortError>>,
}

impl Collector {
    /// Starts to count what comes from `inlet`, on one CPU if one is given.
    pub(super) fn start(
        inlet: impl Inlet + 'static,
        cpu: Option<usize>,
    ) -> Result<Self, PortError> {
        let shared = Arc::new(Shared {
            account: Mutex::new(Account::new(0, 0)),
            stop: AtomicBool::new(false),
        });
        let counted = Arc::clone(&shared);
        let work = move || count(inlet, &counted);
        let thread = Pinned::start("lockgate-count", cpu, work)?;
        Ok(Self { shared, thread })
    }

    fn check(&mut self) -> Result<(), PortError> {
        match self.thread.ended() {
            Some(returned) => returned.unwrap_or_else(|_| Err(ended())),
            None if self.thread.is_open() => Ok(()),
            None => Err(ended()),
        }
    }
}

fn ended() -> PortError {
    PortError::new("the counting thread has ended; its error came before")
}

fn count(mut inlet: impl Inlet, shared: &Shared) -> Result<(), PortError> {
    while !shared.stop.load(Ordering::Relaxed) {
        // The clock once a batch: frames of one batch came while the last one
        // was counted.
        let mut held: Option<(MutexGuard<'_, Account>, u64)> = None;
        inlet.collect(SLEEP_MAX, &mut |frame| {
            let (account, now) = held.get_or_insert_with(|| (shared.account(), now_ns()));
            account.record(frame, *now);
        })?;
    }
    Ok(())
}

impl Receiver for Collector {
    fn begin(&mut self, stream: &Stream) -> Result<(), PortError> {
        self.check()?;
        *self.shared.account() = Account::new(stream.trial, stream.id);
        Ok(())
    }

    fn counts(&mut self) -> Result<Received, PortError> {
        self.check()?;
        Ok(self.shared.account().counts().clone())
    }

    fn cpu_ns(&mut self) -> Result<u64, PortError> {
        self.check()?;
        Ok(self.thread.cpu_ns())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.join();
    }
}
