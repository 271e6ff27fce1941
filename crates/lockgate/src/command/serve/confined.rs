//! The rights that are left to a daemon that serves: its guests are strangers.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use confine::{Calls, Capabilities, Confinement, Files, User};

use crate::cli::ServeArguments;
use crate::confinement;
use crate::console::Console;
use crate::exit::{Failure, OrExit};

use super::config::Served;

/// The most files that are open at a time, of all guests.
const FILES_MAX: u64 = 1 << 20;

/// The longest time that the process beside may take to remove files.
const REMOVED_WITHIN: Duration = Duration::from_secs(5);

/// The user it runs as, and the files that it leaves to nobody.
pub struct Plan {
    /// Another user than the one that started it.
    user: Option<User>,
    files: Vec<PathBuf>,
    is_confined: bool,
}

impl Plan {
    pub fn of(arguments: &ServeArguments, served: &Served) -> Result<Self, Failure> {
        let named = arguments.user.as_ref().or(served.user.as_ref());
        let named = named.map(|name| User::named(name)).transpose();
        let own = rustix::process::geteuid();
        let user = match named.or_usage()? {
            Some(user) if !own.is_root() && user.uid != own.as_raw() => {
                let reason = anyhow!("only root can become user {user}; leave `user` out");
                return Err(reason).or_usage();
            }
            Some(user) => own.is_root().then_some(user),
            None => own.is_root().then(User::of_service),
        };
        let sockets = served.functions.iter().map(|one| &one.device.socket.path);
        Ok(Self {
            user,
            files: sockets
                .flat_map(|path| [path.clone(), vhost::log_path(path)])
                .collect(),
            is_confined: !arguments.no_confinement,
        })
    }

    /// For who reads how it would run.
    pub fn in_words(&self) -> String {
        match &self.user {
            _ if !self.is_confined => "Runs with all rights of the user that starts it.".to_owned(),
            Some(user) => format!("Runs as user {user}, confined."),
            None => "Runs as the user that starts it, confined.".to_owned(),
        }
    }

    /// A process that removes the files at the end, where this one will not be able to.
    /// Called before there are other threads.
    pub fn remover(&self, console: &Console) -> Result<Option<Remover>, Failure> {
        let is_needed = self.is_confined && self.user.as_ref().is_some_and(|user| user.uid != 0);
        if !is_needed {
            return Ok(None);
        }
        let started = console
            .lines()
            .without_writer(|| Remover::start(&self.files))
            .flatten();
        started
            .map(Some)
            .context("cannot start the process that removes the sockets at the end")
            .or_failed()
    }

    /// Confines this process; threads that start later keep what their role needs.
    pub fn enter(&self, console: &Console) -> Result<(), Failure> {
        if !self.is_confined {
            console.warning(
                "not confined: who finds a fault in this program has all rights of its user, and core dumps show keys",
            );
            return Ok(());
        }
        let is_root = rustix::process::geteuid().is_root();
        sys::secret::reserve()
            .context("cannot reserve memory for keys")
            .or_failed()?;
        let rights = Confinement {
            files: Some(Files {
                removed_in: folders(match &self.user {
                    // The process beside removes them.
                    Some(user) if user.uid != 0 => &[],
                    _ => &self.files,
                }),
                // Where workers wait in the kernel: a stall is told by it.
                read_in: vec!["/proc/self/task".into()],
            }),
            user: self.user.clone(),
            keep: Capabilities::empty(),
            has_network: !is_root,
            files_max: Some(FILES_MAX),
            calls: Calls::Roles,
        };
        confinement::enter(&rights, console)
    }
}

/// Says so where keys may be swapped.
pub fn unlocked() -> Option<String> {
    let secrets = sys::secret::secrets();
    let is_all = secrets.unlocked_bytes == 0 && secrets.elsewhere == 0;
    (!is_all).then(|| {
        format!(
            "{} bytes of memory for keys are locked, {} are not and may be swapped: raise the limit of locked memory (`ulimit -l`, LimitMEMLOCK= of systemd)",
            secrets.locked_bytes, secrets.unlocked_bytes
        )
    })
}

fn folders(files: &[PathBuf]) -> Vec<PathBuf> {
    let folders: BTreeSet<PathBuf> = files
        .iter()
        .filter_map(|file| file.parent().map(PathBuf::from))
        .collect();
    folders.into_iter().collect()
}

/// A copy of this process that keeps the right to remove some files, and nothing else. It
/// learns one thing only: whether this process ends in order. If it does not, the files
/// stay, for the one that comes after it.
pub struct Remover(UnixStream);

impl Remover {
    fn start(files: &[PathBuf]) -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        own.set_read_timeout(Some(REMOVED_WITHIN))?;
        let confinement = Confinement {
            user: None,
            // Folders are anybody's.
            keep: Capabilities::DAC_OVERRIDE | Capabilities::FOWNER,
            files: Some(Files {
                removed_in: folders(files),
                read_in: Vec::new(),
            }),
            has_network: false,
            files_max: None,
            calls: Calls::Remover,
        };
        let files = files.to_owned();
        let mut own = Some(own);
        sys::process::fork_beside(|| {
            // Its end is the end of what it is read from.
            drop(own.take());
            let confined = confinement.enter_process();
            let is_asked = matches!((&other).read(&mut [0]), Ok(1));
            if confined.is_ok() && is_asked {
                for file in &files {
                    // One that somebody else removed is gone.
                    let _ = std::fs::remove_file(file);
                }
            }
        })?;
        Ok(Self(own.take().expect("the copy alone took it")))
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        // When nobody reads, nobody removes: the next one clears away.
        let _ = self.0.write_all(b"e");
        let _ = self.0.read(&mut [0]);
    }
}
