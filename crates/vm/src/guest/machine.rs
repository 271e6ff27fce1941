//! A started QEMU with the threads that watch and read it: dropped, it is
//! killed and reaped, and the threads have ended.

use std::io::{self, PipeReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::console::{Console, follow};
use super::error::GuestError;
use super::process::{Ending, Kill, Process};
use super::qmp::QmpError;
use crate::protocol::ChannelError;

/// A kernel that has panicked reboots at once, which ends QEMU; one that hangs
/// over it does not.
const PANIC_LIMIT: Duration = Duration::from_secs(2);

/// The kernel ends a killed process within this time, unless it is stuck in
/// a driver.
const DEATH_LIMIT: Duration = Duration::from_secs(30);

/// A QEMU whose channel closed is reaped within this time.
const REAP_LIMIT: Duration = Duration::from_secs(10);

/// The readers come to the end of a dead QEMU's output within this time, on a
/// host that is busy; what they have not read yet may be why it died.
const READERS_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) process: Arc<Process>,
    pub(super) console: Arc<Console>,
    pub(super) errors: Arc<Console>,
    threads: Vec<JoinHandle<()>>,
}

impl Machine {
    pub(super) fn new(process: Arc<Process>, watcher: JoinHandle<()>) -> Self {
        Self {
            process,
            console: Arc::default(),
            errors: Arc::default(),
            threads: vec![watcher],
        }
    }

    pub(super) fn read(&mut self, console: UnixStream, errors: PipeReader) -> io::Result<()> {
        let process = Arc::clone(&self.process);
        let on_output = move |console: &Console| {
            if console.panic().is_some() {
                process.end_within(PANIC_LIMIT, Kill::Panic);
            }
        };
        let log = Arc::clone(&self.console);
        let reader = follow("lockgate-console", console, log, on_output)?;
        self.threads.push(reader);
        let log = Arc::clone(&self.errors);
        let reader = follow("lockgate-stderr", errors, log, |_| {})?;
        self.threads.push(reader);
        Ok(())
    }

    /// How QEMU ended, if it does so within `limit`; the consoles are whole
    /// then.
    pub(super) fn ended_within(&mut self, limit: Duration) -> Option<Ending> {
        let ending = self.process.ended_within(limit)?;
        self.join();
        Some(ending)
    }

    /// How QEMU ended, where that may be the cause of `error`: a closed channel means
    /// that it is ending; other errors can come from a guest that continues.
    pub(super) fn ended_behind(&mut self, error: &GuestError) -> Option<Ending> {
        let is_closed = matches!(
            error,
            GuestError::Channel(ChannelError::Closed | ChannelError::Stream(_))
                | GuestError::Qmp(QmpError::Closed { .. } | QmpError::Io { .. })
        );
        self.ended_within(if is_closed {
            REAP_LIMIT
        } else {
            Duration::ZERO
        })
    }

    pub(super) fn death(&self, ending: &Ending, limit: Duration) -> GuestError {
        let console = self.console.tail();
        if let Some(line) = self.console.panic() {
            return GuestError::Panicked { line, console };
        }
        if ending.kill == Some(Kill::TimeLimit) {
            return GuestError::TimeLimit { limit, console };
        }
        GuestError::Died {
            status: ending.status,
            stderr: self.errors.tail(),
            console,
        }
    }

    pub(super) fn kill(&mut self) -> Option<Ending> {
        self.process.kill(Kill::Asked);
        self.ended_within(DEATH_LIMIT)
    }

    fn join(&mut self) {
        let deadline = Instant::now() + READERS_LIMIT;
        let all_ended = |threads: &[JoinHandle<()>]| threads.iter().all(JoinHandle::is_finished);
        while !all_ended(&self.threads) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // What holds a reader now is a child of QEMU's that has its stderr.
        let (ended, _detached): (Vec<_>, Vec<_>) = std::mem::take(&mut self.threads)
            .into_iter()
            .partition(JoinHandle::is_finished);
        for thread in ended {
            let _ = thread.join();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}
