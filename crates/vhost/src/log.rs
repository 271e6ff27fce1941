//! How far the entries of queues were begun, for the device that comes after this one.
//!
//! Entries are used in order, so the used index says what is done; it lies in the guest's
//! memory and outlives a device that is killed. What was begun and is not used is done
//! again. That is right unless it writes over its own source, and may have done so
//! already: such entries are failed. The log says which were begun. It lies in memory
//! that the front-end keeps (`VHOST_USER_GET_INFLIGHT_FD`), or else in a file beside the
//! device's socket.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering, fence};

use rustix::fs::OFlags;
use sys::memory::Mapping;

/// Of a queue: its identity, and the entry after the last one that was begun. A cache
/// line each.
const LINE_BYTES: usize = 64;
const IDENTITY_BYTES: usize = 8;

/// Of no queue: nothing is in flight.
const NONE: u64 = 0;

#[derive(Debug)]
pub(crate) struct Logs(Arc<Mapping>);

impl Logs {
    pub(crate) fn bytes(queues: usize) -> usize {
        LINE_BYTES * queues
    }

    pub(crate) fn new(mapping: Mapping) -> Self {
        Self(Arc::new(mapping))
    }

    /// The file of that name, which is its owner's alone.
    pub(crate) fn open(path: &Path, queues: usize) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        let status = file.metadata()?;
        let own = rustix::process::geteuid().as_raw();
        if !status.is_file() || status.uid() != own || status.mode() & 0o022 != 0 {
            let reason = "others may write it; remove it, or use a folder of your own";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
        }
        let bytes = Self::bytes(queues);
        if status.len() < bytes as u64 {
            file.set_len(bytes as u64)?;
        }
        Ok(Self::new(Mapping::own_file(file.as_fd(), bytes)?))
    }

    pub(crate) fn of(&self, queue: usize) -> Log {
        Log {
            mapping: Arc::clone(&self.0),
            offset: queue * LINE_BYTES,
        }
    }
}

/// One queue's.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    mapping: Arc<Mapping>,
    offset: usize,
}

impl Log {
    fn number(&self) -> &AtomicU16 {
        let number = self.mapping.number(self.offset + IDENTITY_BYTES);
        number.expect("a log has a line for each queue")
    }

    fn identity(&self) -> u64 {
        let mut bytes = [0; IDENTITY_BYTES];
        let read = self.mapping.read(self.offset, &mut bytes);
        read.expect("a log has a line for each queue");
        u64::from_le_bytes(bytes)
    }

    fn set_identity(&self, identity: u64) {
        let written = self.mapping.write(self.offset, &identity.to_le_bytes());
        written.expect("a log has a line for each queue");
    }

    /// How far the queue's entries were begun, if it is that one.
    pub(crate) fn begun(&self, identity: u64) -> Option<u16> {
        (self.identity() == identity).then(|| self.number().load(Ordering::Acquire))
    }

    /// From now on it is that queue's.
    pub(crate) fn begin(&self, identity: u64, next: u16) {
        if self.identity() != identity {
            // The number is never another queue's, whenever this is cut off.
            self.end();
            fence(Ordering::SeqCst);
        }
        self.note(next);
        fence(Ordering::SeqCst);
        self.set_identity(identity);
    }

    /// Entries up to there are begun: before any of them is.
    pub(crate) fn note(&self, next: u16) {
        self.number().store(next, Ordering::Release);
    }

    /// Nothing is in flight.
    pub(crate) fn end(&self) {
        self.set_identity(NONE);
    }
}
