//! What tells a front-end something, and cannot hold up whoever tells it.
//!
//! A notifier is the front-end's: it shares the open file, and with it its flags. It can
//! make an eventfd block and fill its counter; it can read a pipe into memory that never
//! comes, and every write waits for that reader, whatever its flags say. So an eventfd is
//! signalled by the kernel, through a ring of ours, which waits for nothing. Where
//! io_uring is forbidden, and for a pipe, a thread of the notifier's own writes, which may
//! wait for ever and is waited for by nobody.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sys::event::Event;
use sys::role::Role;
use sys::uring::EventSignal;

use crate::backend::SetupError;
use crate::queue::Broken;

/// Sleeps of a notifier's thread; a signal wakes it.
const LOOK: Duration = Duration::from_secs(3600);

/// The pause before a failed call is tried again.
const AGAIN: Duration = Duration::from_millis(1);

/// What kind of file a front-end handed over, by its name in `/proc`: to ask the file
/// itself may mean to ask the front-end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Event,
    Pipe,
    Other,
}

fn kind(file: &OwnedFd) -> io::Result<Kind> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let target = std::fs::read_link(link)?;
    let target = target.as_os_str().as_encoded_bytes();
    Ok(match target {
        b"anon_inode:[eventfd]" => Kind::Event,
        _ if target.starts_with(b"pipe:[") => Kind::Pipe,
        _ => Kind::Other,
    })
}

/// A kick: an eventfd, which the worker waits for and never reads.
pub(crate) fn kick(file: OwnedFd) -> Result<OwnedFd, SetupError> {
    match kind(&file)? {
        Kind::Event => Ok(file),
        _ => Err(SetupError::NoEvent),
    }
}

/// Threads of notifiers: those that wait for a front-end stay.
#[derive(Debug)]
pub(crate) struct Threads {
    running: AtomicUsize,
    most: usize,
}

impl Threads {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            running: AtomicUsize::new(0),
            most,
        })
    }

    fn begin(self: &Arc<Self>) -> Result<Running, SetupError> {
        let running = self.running.fetch_add(1, Ordering::Relaxed);
        let begun = Running(Arc::clone(self));
        if running >= self.most {
            let limit = self.most;
            return Err(SetupError::Notifiers { limit });
        }
        Ok(begun)
    }
}

struct Running(Arc<Threads>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One of the front-end's notifiers.
#[derive(Debug)]
pub(crate) enum Notifier {
    Ring(EventSignal),
    Thread(Writer),
}

/// A thread that writes to the front-end's file.
#[derive(Debug)]
pub(crate) struct Writer {
    event: Arc<Event>,
    is_over: Arc<AtomicBool>,
}

impl Notifier {
    pub(crate) fn new(file: OwnedFd, threads: &Arc<Threads>) -> Result<Self, SetupError> {
        match kind(&file)? {
            Kind::Other => return Err(SetupError::NoEvent),
            Kind::Event => {
                if let Ok(ring) = EventSignal::new(file.as_fd()) {
                    return Ok(Self::Ring(ring));
                }
            }
            Kind::Pipe => {}
        }
        Writer::start(file, threads).map(Self::Thread)
    }

    /// Returns whether it was signalled: the kernel may lack memory, or forbid it.
    #[must_use]
    fn signal(&mut self) -> bool {
        match self {
            Self::Ring(ring) => ring.signal().is_ok(),
            Self::Thread(writer) => {
                writer.event.signal();
                true
            }
        }
    }
}

impl Writer {
    fn start(file: OwnedFd, threads: &Arc<Threads>) -> Result<Self, SetupError> {
        let running = threads.begin()?;
        let own = Self {
            event: Arc::new(Event::new()?),
            is_over: Arc::default(),
        };
        let (event, is_over) = (Arc::clone(&own.event), Arc::clone(&own.is_over));
        std::thread::Builder::new()
            .name("lockgate-tell".to_owned())
            .spawn(move || {
                let _running = running;
                sys::role::enter(Role::Control);
                while !is_over.load(Ordering::Acquire) {
                    if event.wait(LOOK) && !is_over.load(Ordering::Acquire) {
                        // What fails is of the front-end's making, and its own loss.
                        let _ = rustix::io::write(&file, &1_u64.to_ne_bytes());
                    }
                }
            })?;
        Ok(own)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.event.signal();
    }
}

/// The notifiers of one queue; each may be exchanged at any time.
#[derive(Debug)]
pub(crate) struct Notifiers {
    call: Mutex<Option<Notifier>>,
    error: Mutex<Option<Notifier>>,
    broken: Mutex<Option<Broken>>,
    is_broken: AtomicBool,
    /// A call that failed: the device's thread calls again.
    is_owed: AtomicBool,
    /// The device's own: its thread is to look.
    attention: Arc<Event>,
}

impl Notifiers {
    pub(crate) fn new(attention: Arc<Event>) -> Self {
        Self {
            call: Mutex::default(),
            error: Mutex::default(),
            broken: Mutex::default(),
            is_broken: AtomicBool::new(false),
            is_owed: AtomicBool::new(false),
            attention,
        }
    }

    /// Tells once by the new notifier: by the old one it may have been in vain.
    pub(crate) fn set_call(&self, notifier: Option<Notifier>) {
        let mut call = lock(&self.call);
        let before = std::mem::replace(&mut *call, notifier);
        drop(call);
        self.call();
        // A ring is taken down; nobody waits for that.
        drop(before);
    }

    pub(crate) fn set_error(&self, notifier: Option<Notifier>) {
        let mut error = lock(&self.error);
        *error = notifier;
        if self.is_broken() {
            // It is in the log, too.
            let _is_told = signal(&mut error);
        }
    }

    /// Tells the driver that something is done.
    pub(crate) fn call(&self) {
        if !signal(&mut lock(&self.call)) {
            self.is_owed.store(true, Ordering::Release);
            self.attention.signal();
        }
    }

    /// Calls again where it failed, on the device's thread; whether it did.
    pub(crate) fn make_up(&self) -> bool {
        let was_owed = self.is_owed.swap(false, Ordering::AcqRel);
        if was_owed {
            std::thread::sleep(AGAIN);
            self.call();
        }
        was_owed
    }

    /// The queue takes nothing more.
    pub(crate) fn broke(&self, broken: Broken) {
        *lock(&self.broken) = Some(broken);
        self.is_broken.store(true, Ordering::Release);
        self.attention.signal();
    }

    /// What broke the queue, once; the front-end is told.
    pub(crate) fn take_broken(&self) -> Option<Broken> {
        let broken = lock(&self.broken).take()?;
        let _is_told = signal(&mut lock(&self.error));
        Some(broken)
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// It is set up anew.
    pub(crate) fn mend(&self) {
        self.is_broken.store(false, Ordering::Release);
    }
}

/// A front-end without one wants to know nothing.
#[must_use]
fn signal(notifier: &mut Option<Notifier>) -> bool {
    notifier.as_mut().is_none_or(Notifier::signal)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use rustix::fs::OFlags;

    use super::*;

    fn full(flags: OFlags) -> OwnedFd {
        let event = Event::new().unwrap();
        rustix::fs::fcntl_setfl(&event, flags).unwrap();
        rustix::io::write(&event, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        event.as_fd().try_clone_to_owned().unwrap()
    }

    #[test]
    fn a_full_counter_that_blocks_holds_nobody_up() {
        let threads = Threads::new(1);
        let file = full(OFlags::empty());
        let own = file.try_clone().unwrap();
        let by_thread = Notifier::Thread(Writer::start(own, &threads).unwrap());
        for notifier in [
            Notifier::new(file.try_clone().unwrap(), &threads),
            Ok(by_thread),
        ] {
            let notifiers = Notifiers::new(Arc::new(Event::new().unwrap()));
            notifiers.set_call(Some(notifier.unwrap()));
            for _ in 0..100 {
                notifiers.call();
            }
        }
        // The thread that waits is counted until it is freed.
        let refused = Writer::start(file.try_clone().unwrap(), &threads);
        testing::assert_matches!(refused, Err(SetupError::Notifiers { limit: 1 }));
        let mut count = [0; 8];
        testing::until(
            || {
                let _ = rustix::io::read(full_reader(&file), &mut count);
                threads.running.load(Ordering::Relaxed)
            },
            |running| *running == 0,
        );
    }

    /// The same file, to be read without waiting.
    fn full_reader(file: &OwnedFd) -> OwnedFd {
        rustix::fs::fcntl_setfl(file, OFlags::NONBLOCK).unwrap();
        file.try_clone().unwrap()
    }

    #[test]
    fn a_pipe_is_told_as_an_eventfd_is() {
        let threads = Threads::new(1);
        let (mut reader, writer) = io::pipe().unwrap();
        let notifiers = Notifiers::new(Arc::new(Event::new().unwrap()));
        notifiers.set_call(Some(Notifier::new(writer.into(), &threads).unwrap()));
        for _ in 0..3 {
            let mut bytes = [0; 8];
            reader.read_exact(&mut bytes).unwrap();
            assert_eq!(u64::from_ne_bytes(bytes), 1);
            notifiers.call();
        }
        // The writer's end is closed once it is exchanged.
        notifiers.set_call(None);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert!(rest.len() <= 8, "{rest:?}");
    }

    #[test]
    fn what_is_neither_is_refused() {
        let threads = Threads::new(1);
        let socket = std::os::unix::net::UnixStream::pair().unwrap().0;
        let file = || std::fs::File::open("/proc/self/exe").unwrap();
        for other in [OwnedFd::from(socket), file().into()] {
            testing::assert_matches!(Notifier::new(other, &threads), Err(SetupError::NoEvent));
        }
        testing::assert_matches!(kick(file().into()), Err(SetupError::NoEvent));
    }

    #[test]
    fn a_broken_queue_is_told_once_and_by_a_notifier_that_comes_late() {
        let attention = Arc::new(Event::new().unwrap());
        let notifiers = Notifiers::new(Arc::clone(&attention));
        let broken = Broken::Head { head: 9, size: 8 };
        notifiers.broke(broken);
        assert!(attention.clear());
        assert_eq!(notifiers.take_broken(), Some(broken));
        assert_eq!(notifiers.take_broken(), None);
        let late = Event::new().unwrap();
        let file = late.as_fd().try_clone_to_owned().unwrap();
        let notifier = Notifier::new(file, &Threads::new(1)).unwrap();
        notifiers.set_error(Some(notifier));
        assert!(late.wait(Duration::from_secs(20)));
        notifiers.mend();
        assert!(!notifiers.is_broken());
    }
}
