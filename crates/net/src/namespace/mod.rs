//! Network namespaces with a name in `/run/netns`, so that `ip netns` sees
//! them, and threads and processes inside.

mod name;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::JoinHandle;

use nix::sched::CloneFlags;
use sys::failure::Failure;

pub use name::FOLDER;
pub(crate) use name::{remove_name, unmount_all};

use crate::journal::{Entry, Journal, Loans, Record, is_our_name};
use crate::netlink::{Netlink, NetlinkError};

/// Why a namespace cannot be made or entered.
/// A network namespace. Clones are the same one. When the last clone of one that was
/// made here is dropped, its name goes, and it ends with the last socket and thread
/// inside.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: String,
    // Before the record, so that it is closed when the name goes.
    file: File,
    record: Option<Record>,
}

impl Namespace {
    /// Makes a new one, journalled, with its loopback up.
    ///
    /// # Errors
    /// [`Failure`], e.g. without root, or when the name is taken.
    pub fn create(journal: &Journal, name: &str) -> Result<Self, Failure> {
        if !is_our_name(name) {
            return Err(Failure::new(format!(
                "'{name}' is not a valid name of a namespace: use 'lockgate-' and up to 55 lower-case letters, digits or '-', e.g. of Tag::name"
            )));
        }
        let record = reserve(journal, name)?;
        let file = name::fill(name).map_err(failed(format!("make the namespace {name}")))?;
        let namespace = Self(Arc::new(Inner {
            name: name.to_owned(),
            file,
            record: Some(record),
        }));
        namespace
            .netlink()
            .and_then(|mut netlink| netlink.set_up("lo"))
            .map_err(Failure::of(format!(
                "cannot set up the loopback of the namespace {name}"
            )))?;
        Ok(namespace)
    }

    /// The calling thread's namespace.
    ///
    /// # Errors
    /// [`Failure`] without `/proc`.
    pub fn current() -> Result<Self, Failure> {
        Self::at("/proc/thread-self/ns/net", "this process's namespace")
    }

    /// A namespace of Lockgate's that still exists, by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::at(&format!("{FOLDER}/{name}"), name).ok()
    }

    fn at(path: &str, name: &str) -> Result<Self, Failure> {
        let file = File::open(path).map_err(failed(format!("open {path}")))?;
        Ok(Self(Arc::new(Inner {
            name: name.to_owned(),
            file,
            record: None,
        })))
    }

    /// Its name in `/run/netns`, or what it is called in messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Moves the calling thread inside, for as long as it lives. Use it at the
    /// start of a thread of your own.
    pub fn enter(&self) -> Result<(), Failure> {
        nix::sched::setns(&self.0.file, CloneFlags::CLONE_NEWNET)
            .map_err(|error| failed(format!("enter {}", self.0.name))(error.into()))
    }

    /// Runs `work` inside, on a separate thread, and waits for it. A panic inside
    /// continues in the caller.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
        std::thread::scope(|scope| {
            let inside = std::thread::Builder::new()
                .name("lockgate-inside".to_owned())
                .spawn_scoped(scope, || self.enter().map(|()| work()))
                .map_err(failed("start a thread".to_owned()))?;
            match inside.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Starts a thread that stays inside.
    ///
    /// # Errors
    /// [`Failure`] when no thread can be started; that it could
    /// not enter is the thread's own result.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Result<T, Failure>>, Failure> {
        let namespace = self.clone();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || namespace.enter().map(|()| work()))
            .map_err(failed(format!("start the thread {name}")))
    }

    /// Starts a process inside that dies with this one. `/sys` inside still
    /// shows the links of outside.
    pub fn spawn_process(&self, command: Command) -> io::Result<Child> {
        let namespace = OwnedFd::from(self.0.file.try_clone()?);
        sys::process::spawn_inside(command, namespace)
    }

    /// As [`Namespace::spawn_process`], journalled before its program begins.
    ///
    /// # Errors
    /// Those of the start, and of the journal: then nothing was started.
    pub fn spawn_journalled(
        &self,
        journal: &Journal,
        command: Command,
    ) -> io::Result<(Child, Record)> {
        let namespace = OwnedFd::from(self.0.file.try_clone()?);
        let told = |number: u32| {
            let entry = Entry::process(number.cast_signed())?;
            journal.record(entry).map_err(io::Error::other)
        };
        sys::process::spawn_inside_told(command, namespace, told)
    }

    /// A netlink socket inside, for links, addresses and routes. As long as it is
    /// open, the namespace lives, even without a name.
    pub fn netlink(&self) -> Result<Netlink, NetlinkError> {
        let mut netlink = self.run(Netlink::open)??;
        netlink.loans = self.loans();
        Ok(netlink)
    }

    /// Where changes of devices that are lent to it are journalled.
    pub(crate) fn loans(&self) -> Loans {
        let journal = self.0.record.as_ref().map(Record::journal);
        journal.map_or_else(Loans::default, |journal| Loans::to(self.name(), journal))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.file.as_fd()
    }
}

fn reserve(journal: &Journal, name: &str) -> Result<Record, Failure> {
    let entry = Entry::Namespace {
        name: name.to_owned(),
    };
    let record = journal
        .record(entry)
        .map_err(Failure::of(format!("cannot journal the namespace {name}")))?;
    match name::reserve(name) {
        Ok(()) => Ok(record),
        Err(source) => {
            if source.kind() == io::ErrorKind::AlreadyExists {
                // It belongs to another program: not to be removed.
                record.forget();
            }
            Err(failed(format!("make {FOLDER}/{name}"))(source))
        }
    }
}

pub(crate) fn failed(what: String) -> impl FnOnce(io::Error) -> Failure {
    Failure::of(format!(
        "cannot {what}; it takes root (CAP_SYS_ADMIN) and a kernel with CONFIG_NET_NS"
    ))
}
