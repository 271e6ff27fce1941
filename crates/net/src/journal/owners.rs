//! Who has a journal in a folder: dead owners, whose files can be locked, and living
//! ones, who hold what their files name.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::claim::Claim;
use super::undo::process;
use super::{Entry, FOLDER, JournalError, Locked, left_in, line};
use crate::tag::Tag;

/// Reading the journals of a folder takes milliseconds.
const TURN_WAIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// While it is held nobody else in that folder reserves a name, or takes an owner for
/// dead.
pub(super) fn turn(folder: &Path) -> Result<Locked, JournalError> {
    let failed = |source| JournalError::Open {
        folder: folder.to_owned(),
        source,
    };
    let began = Instant::now();
    loop {
        let file = File::open(folder).map_err(failed)?;
        match Locked::lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(turn) => return Ok(turn),
            Err(Errno::WOULDBLOCK) if began.elapsed() < TURN_WAIT => {
                std::thread::sleep(LOOK_EVERY);
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(JournalError::Busy {
                    folder: folder.to_owned(),
                    waited: TURN_WAIT,
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
    }
}

/// Who holds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// By its number.
    Process(i32),
    /// It was killed, and what it left is about to be removed.
    Ending,
}

impl fmt::Display for Holder {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(number) => write!(text, "the process {number}"),
            Self::Ending => text.write_str("a program that is just ending; try again"),
        }
    }
}

/// The living owner under [`FOLDER`] that has what an entry names.
///
/// # Errors
/// [`JournalError`] when that cannot be seen.
pub fn holder(entry: &Entry) -> Result<Option<Holder>, JournalError> {
    let folder = Path::new(FOLDER);
    if !folder.exists() {
        return Ok(None);
    }
    let _turn = turn(folder)?;
    Ok(Owners::in_folder(folder, None)?.holder(entry))
}

#[derive(Debug)]
struct Living {
    by: Holder,
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
pub(super) struct Owners {
    living: Vec<Living>,
    /// Locked now: as long as they are, what they name is reserved for who sweeps.
    pub(super) dead: Vec<(PathBuf, Locked)>,
    /// Journals that cannot be opened.
    pub(super) failed: Vec<(PathBuf, io::Error)>,
}

impl Owners {
    /// All but the one at `own`. The caller has the [`turn`].
    pub(super) fn in_folder(folder: &Path, own: Option<&Path>) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Open {
            folder: folder.to_owned(),
            source,
        };
        let mut owners = Self::default();
        for file in std::fs::read_dir(folder).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            if path.extension().is_some_and(|is| is == "journal") && own != Some(&path) {
                owners.add(path)?;
            }
        }
        Ok(owners)
    }

    fn add(&mut self, path: PathBuf) -> Result<(), JournalError> {
        // What a sweep removed is struck out there.
        let opened = File::options().read(true).append(true).open(&path);
        let file = match opened {
            Ok(file) => file,
            // Its owner ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.failed.push((path, error));
                return Ok(());
            }
        };
        let read = file.try_clone();
        match Locked::lock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(locked) => self.dead.push((path, locked)),
            Err(Errno::WOULDBLOCK) => {
                let text = read.and_then(|mut file| line::read(&mut file));
                match text {
                    Ok(text) => self.living.push(Living {
                        by: owner(&path),
                        entries: left_in(&text).entries,
                    }),
                    Err(source) => return Err(JournalError::Unreadable { path, source }),
                }
            }
            Err(error) => self.failed.push((path, error.into())),
        }
        Ok(())
    }

    pub(super) fn holder(&self, entry: &Entry) -> Option<Holder> {
        let mut living = self.living.iter();
        let holds = living.find(|one| one.claim(entry) != Claim::Free)?;
        Some(holds.by)
    }

    /// Of a dead owner's entry: the strongest that a living one has against it.
    pub(super) fn claim(&self, entry: &Entry) -> Claim {
        let claims = self.living.iter().map(|one| one.claim(entry));
        claims.max().unwrap_or(Claim::Free)
    }
}

impl Living {
    fn claim(&self, entry: &Entry) -> Claim {
        // Itself it does not write down, nor those that die with it.
        if let (Entry::Process { pid, .. }, Holder::Process(own)) = (entry, self.by)
            && (*pid == own || process::parent_of(*pid) == Some(own))
        {
            return Claim::Theirs;
        }
        let claims = self.entries.iter().map(|theirs| entry.against(theirs));
        claims.max().unwrap_or(Claim::Free)
    }
}

/// Of a journal that somebody holds locked, by its name. Where that one has ended, a
/// sweep holds it, or a child that was just forked.
fn owner(path: &Path) -> Holder {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let number = stem.and_then(Tag::process_in);
    match number.filter(|&number| process::is_alive(number)) {
        Some(number) => Holder::Process(number),
        None => Holder::Ending,
    }
}
