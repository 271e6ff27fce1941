//! Temporary folders: of a random name, this user's alone, locked (flock(2))
//! for as long as their owner lives. Whoever can lock one has found a dead owner.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::trusted;

/// What mkdtemp(3) puts behind a prefix.
const RANDOM: &str = "XXXXXX";
/// How often another process's sweep may come between making and locking.
const TRIES_MAX: u32 = 100;

/// A temporary folder; removed with all that is in it when dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes a folder in the one for temporary files; `prefix` is this program's own.
    /// Folders that dead owners left there under that prefix are removed.
    ///
    /// # Errors
    /// What the file system says; `PermissionDenied` where another user could
    /// replace what is made there.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    /// As [`Folder::new`], in the given folder.
    pub fn new_in(folder: &Path, prefix: &str) -> io::Result<Self> {
        let folder = trusted::check_shared(folder)?;
        sweep(&folder, prefix);
        for _ in 0..TRIES_MAX {
            let path = make(&folder, prefix)?;
            match lock(&path) {
                Ok(Some(lock)) => return Ok(Self { path, _lock: lock }),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now, the next one sweeps.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn make(folder: &Path, prefix: &str) -> io::Result<PathBuf> {
    let path = folder.join(format!("{prefix}{RANDOM}"));
    let template = CString::new(path.as_os_str().as_bytes())?.into_raw();
    // SAFETY: the string ends with a zero, is this function's own, and keeps
    // its length: mkdtemp writes over the last six characters.
    let (made, template) = unsafe {
        let made = !libc::mkdtemp(template).is_null();
        (made, CString::from_raw(template))
    };
    if !made {
        return Err(io::Error::last_os_error());
    }
    Ok(std::ffi::OsString::from_vec(template.into_bytes()).into())
}

/// The lock of a folder of this user; `None` where another process has it, or had it
/// and removed the folder.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let folder = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)?;
    let own = folder.metadata()?;
    if own.uid() != trusted::effective_user() {
        return Ok(None);
    }
    match folder.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let named = fs::symlink_metadata(path)?;
    Ok((named.ino() == own.ino() && named.dev() == own.dev()).then_some(folder))
}

fn sweep(folder: &Path, prefix: &str) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_named(&entry.file_name(), prefix)) {
        // Held until all is gone; what fails is not ours, or lives.
        if let Ok(Some(_lock)) = lock(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_named(name: &std::ffi::OsStr, prefix: &str) -> bool {
    let rest = name.as_bytes().strip_prefix(prefix.as_bytes());
    rest.is_some_and(|rest| {
        rest.len() == RANDOM.len() && rest.iter().all(u8::is_ascii_alphanumeric)
    })
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const PREFIX: &str = "lockgate-live-";

    fn place() -> Folder {
        Folder::new("lockgate-test-").unwrap()
    }

    fn dead(place: &Folder, name: &str) -> PathBuf {
        let path = place.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("file"), "").unwrap();
        path
    }

    #[test]
    fn a_folder_is_new_random_and_this_users_alone() {
        let place = place();
        let folders = [(); 8].map(|()| Folder::new_in(place.path(), PREFIX).unwrap());
        for folder in &folders {
            let found = fs::symlink_metadata(folder.path()).unwrap();
            assert_eq!(found.permissions().mode() & 0o7777, 0o700);
            assert_eq!(found.uid(), trusted::effective_user());
            assert!(is_named(folder.path().file_name().unwrap(), PREFIX));
        }
        let mut paths: Vec<_> = folders.iter().map(Folder::path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), folders.len());
        drop(folders);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_sweep_removes_what_nobody_holds_and_leaves_what_lives() {
        let place = place();
        let live = Folder::new_in(place.path(), PREFIX).unwrap();
        let gone = dead(&place, "lockgate-live-abcDE1");
        let others = [
            "lockgate-live-notes",
            "lockgate-live-a.b.c.",
            "lockgate-else-abcdef",
        ]
        .map(|name| dead(&place, name));
        let next = Folder::new_in(place.path(), PREFIX).unwrap();
        assert!(!gone.exists() && live.path().exists() && next.path().exists());
        assert!(others.iter().all(|folder| folder.exists()));
        // Its owner is alive, whatever its number is by now.
        assert!(lock(live.path()).unwrap().is_none());
    }

    #[test]
    fn a_link_under_the_expected_name_is_not_followed() {
        let place = place();
        let elsewhere = dead(&place, "elsewhere");
        let link = place.path().join("lockgate-live-abcdef");
        symlink(&elsewhere, &link).unwrap();
        sweep(place.path(), PREFIX);
        assert!(elsewhere.join("file").exists() && link.is_symlink());
    }

    #[test]
    fn folders_of_others_are_neither_swept_nor_used() {
        if !testing::is_root() {
            return;
        }
        let place = place();
        let theirs = dead(&place, "lockgate-live-abcdef");
        chown(&theirs, Some(12_345), None).unwrap();
        sweep(place.path(), PREFIX);
        assert!(theirs.join("file").exists());
        let refused = Folder::new_in(&theirs, PREFIX).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    }
}
