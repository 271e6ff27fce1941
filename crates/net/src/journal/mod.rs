//! What outlives a process, written down before it is made: one file an owner
//! under `/run/lockgate`, locked (flock(2)) for as long as the owner lives.
//!
//! A file is lines, each one change with its length and checksum: an entry with its
//! number, or a number whose entry is gone; a number that comes again has a new entry.
//! Whoever can lock a file has found a dead owner, and undoes what it left: [`sweep()`].
//!
//! An entry reserves what it names: no other living owner can journal the same, and a
//! sweep removes nothing that a living owner's journal names, whatever others say.

mod claim;
mod entry;
mod line;
mod loans;
mod owners;
mod sweep;
mod undo;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use claim::Claim;
pub use entry::{Entry, Runtime, UndoError};
pub(crate) use entry::{absent_is_fine, is_our_name};
use line::Line;
pub use line::{Left, left_in};
pub(crate) use loans::Loans;
pub use owners::{Holder, holder};
use owners::{Owners, turn};
pub use sweep::{Swept, sweep, sweep_folder};
pub(crate) use undo::cgroup::threads_inside;
pub(crate) use undo::process::{self, is_kernel_thread, process_of};

use crate::tag::Tag;

/// Where journals lie: root's own folder, gone with the next boot, as everything that
/// they name.
pub const FOLDER: &str = "/run/lockgate";

/// Why the journal cannot be written; nothing may be created then.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot open a journal in {}; run as root, and check that the folder is root's and on a file system with room", folder.display())]
    Open {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not this user's own folder (its mode is {mode:o}, its owner {owner}); remove it, or set its mode to 700", folder.display())]
    Foreign {
        folder: PathBuf,
        /// Its permission bits.
        mode: u32,
        owner: u32,
    },
    #[error(
        "another program has held {} for {} s; 'fuser -v' names it: end it", folder.display(), waited.as_secs()
    )]
    Busy { folder: PathBuf, waited: Duration },
    /// A living owner's journal, without which nothing can be told apart.
    #[error("cannot read the journal {} of a program that runs; look at it", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Another living owner has it.
    #[error("{what} is held by {by}")]
    Held { what: String, by: Holder },
    #[error(
        "{what} is there already, and no program that runs has made it; remove it, or choose another name"
    )]
    Exists { what: String },
    #[error("cannot write the journal {}; make room on its file system", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// One owner's journal. Clones are the same journal; when the last one is dropped,
/// what is still in it is undone, and the file removed.
#[derive(Clone, Debug)]
pub struct Journal(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: Locked,
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

impl Journal {
    /// A new one in [`FOLDER`].
    ///
    /// # Errors
    /// [`JournalError::Open`], e.g. without root; [`JournalError::Foreign`].
    pub fn open() -> Result<Self, JournalError> {
        Self::open_in(Path::new(FOLDER))
    }

    /// Opens a new one in the given folder, made if it is missing.
    pub fn open_in(folder: &Path) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Open {
            folder: folder.to_owned(),
            source,
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        check_folder(folder)?;
        loop {
            let path = folder.join(format!("{}.journal", Tag::fresh()));
            if let Some(file) = create_locked(&path).map_err(failed)? {
                let state = Mutex::new(State {
                    file,
                    next: 0,
                    entries: BTreeMap::new(),
                });
                return Ok(Self(Arc::new(Inner { path, state })));
            }
        }
    }

    /// Reserves and journals what is about to be made, and returns the record that undoes
    /// it when dropped. An entry whose thing is never made does no harm.
    ///
    /// # Errors
    /// Make nothing then: [`JournalError::Write`]; [`JournalError::Held`] and
    /// [`JournalError::Exists`] where it is not ours to make.
    pub fn record(&self, entry: Entry) -> Result<Record, JournalError> {
        // Until it is written: of two who want the same only one finds it free.
        let _turn = self.reserve(&entry)?;
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        self.0.write(&mut state.file, number, &entry)?;
        state.next += 1;
        state.entries.insert(number, entry);
        Ok(Record {
            journal: self.clone(),
            number,
        })
    }

    fn reserve(&self, entry: &Entry) -> Result<Option<Locked>, JournalError> {
        if !entry.is_exclusive() {
            return Ok(None);
        }
        let folder = self.0.path.parent().expect("it is in a folder");
        let turn = turn(folder)?;
        let owners = Owners::in_folder(folder, Some(&self.0.path))?;
        // Of its own it may have parts: a container in a folder.
        let mut own = self.entries().into_iter();
        let is_own = own.any(|own| entry.against(&own) == Claim::Theirs);
        let this = || Holder::Process(std::process::id().cast_signed());
        if let Some(by) = owners.holder(entry).or_else(|| is_own.then(this)) {
            let what = entry.to_string();
            return Err(JournalError::Held { what, by });
        }
        if entry.is_there() {
            let what = entry.to_string();
            return Err(JournalError::Exists { what });
        }
        Ok(Some(turn))
    }

    /// Entries of this journal and all others in its folder, of dead owners too.
    /// Journals that cannot be read are left out.
    pub(crate) fn neighbours(&self) -> Vec<Entry> {
        let files = self.0.path.parent().map(std::fs::read_dir);
        let files = files.into_iter().flatten().flatten().flatten();
        let texts = files.filter_map(|file| line::read(&mut File::open(file.path()).ok()?).ok());
        texts.flat_map(|text| left_in(&text).entries).collect()
    }

    /// What is in it, in the order of its making.
    pub fn entries(&self) -> Vec<Entry> {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.entries.values().cloned().collect()
    }
}

/// A journalled thing. Dropping the record undoes the thing and strikes it out; what
/// cannot be undone stays in the journal for the next sweep.
#[derive(Debug)]
pub struct Record {
    journal: Journal,
    number: u64,
}

impl Record {
    /// Undoes it now and returns the error that dropping would ignore.
    ///
    /// # Errors
    /// [`UndoError`]; it stays in the journal, and is tried again at the end.
    pub fn undo(&self) -> Result<(), UndoError> {
        self.journal.0.undo(self.number)
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Strikes it out without undoing it: it is gone by other means, or was another
    /// program's.
    pub fn forget(self) {
        self.journal.0.strike(self.number);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // What fails stays in the journal.
        let _ = self.undo();
    }
}

impl Inner {
    fn write(&self, file: &mut Locked, number: u64, entry: &Entry) -> Result<(), JournalError> {
        let entry = entry.clone();
        let line = Line::Made { number, entry };
        line.write(&mut file.0)
            .map_err(|source| JournalError::Write {
                path: self.path.clone(),
                source,
            })
    }

    fn undo(&self, number: u64) -> Result<(), UndoError> {
        let entry = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(entry) = state.entries.get(&number) else {
                return Ok(());
            };
            entry.may_go(state.entries.values())?;
            entry.clone()
        };
        // Without the lock: it may take seconds.
        let undone = entry.undo();
        match &undone {
            Ok(()) => self.strike(number),
            // It is done, but for what the next sweep is to say.
            Err(UndoError::Kept { said }) => {
                self.replace(number, Entry::Kept { said: said.clone() });
            }
            Err(_) => {}
        }
        undone
    }

    fn replace(&self, number: u64, entry: Entry) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Undone again it would say the same.
        let _ = self.write(&mut state.file, number, &entry);
        state.entries.insert(number, entry);
    }

    fn strike(&self, number: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.entries.remove(&number).is_none() {
            return;
        }
        // A line too many in the file is no harm: undoing twice is none. A file that
        // names nothing any more begins anew, also where its disk is full.
        let _ = match state.entries.is_empty() {
            true => state.file.0.set_len(0),
            false => Line::Gone { number }.write(&mut state.file.0),
        };
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let numbers: Vec<u64> = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.entries.keys().rev().copied().collect()
        };
        let failed = numbers
            .into_iter()
            .filter(|&number| self.undo(number).is_err());
        if failed.count() == 0 {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A journal's file while it is locked. It is unlocked explicitly: a child that
/// another thread has just forked also holds the file, and with it the lock, until it
/// executes its program.
#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    pub(crate) fn lock(file: File, operation: FlockOperation) -> Result<Self, Errno> {
        rustix::fs::flock(&file, operation)?;
        Ok(Self(file))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// `None`: the name is taken, or a sweep took the file for a dead owner's before it
/// was locked.
fn create_locked(path: &Path) -> io::Result<Option<Locked>> {
    let opened = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        other => other?,
    };
    let file = Locked::lock(file, FlockOperation::LockExclusive)?;
    let ours = file.0.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) if named.ino() == ours.ino() => Ok(Some(file)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A journal's entries are undone as root: only its owner may write there.
fn check_folder(folder: &Path) -> Result<(), JournalError> {
    let metadata = std::fs::symlink_metadata(folder).map_err(|source| JournalError::Open {
        folder: folder.to_owned(),
        source,
    })?;
    let owner = rustix::process::geteuid().as_raw();
    if metadata.is_dir() && metadata.uid() == owner && metadata.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(JournalError::Foreign {
        folder: folder.to_owned(),
        mode: metadata.mode() & 0o7777,
        owner: metadata.uid(),
    })
}
