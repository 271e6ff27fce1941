//! Files that are either whole or not there.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

/// Writes `bytes` so that a reader sees the old file or the new one, never half of
/// one: a temporary file beside it, then a rename. A link's target is replaced, not
/// the link, unless the link or a part of its path belongs to another user: then the
/// link is. An existing path that is no regular file (a pipe, `/dev/null`,
/// `/dev/stdout`) is written in place. With `durable`, the bytes are on the disk
/// before the old file goes.
///
/// # Errors
/// Whatever the file system says; the temporary file is removed.
pub fn write_atomically(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    match destination(path)? {
        Destination::InPlace => open_in_place(path)?.write_all(bytes),
        Destination::Replaced(path) => replace(&path, bytes, durable),
    }
}

/// Whether [`write_atomically`] could write there now; leaves nothing behind.
///
/// # Errors
/// What writing would run into.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match destination(path)? {
        Destination::InPlace => open_in_place(path).map(drop),
        Destination::Replaced(path) => Pending::with_mode(&path, READABLE).map(drop),
    }
}

/// Links to this process's open files.
const OPEN_FILES: &str = "/proc/self/fd";
/// Mode of a file that others may read, as far as the user's mask lets them.
const READABLE: u32 = 0o666;

enum Destination {
    InPlace,
    Replaced(PathBuf),
}

fn destination(path: &Path) -> io::Result<Destination> {
    let Ok(there) = fs::metadata(path) else {
        return Ok(Destination::Replaced(path.to_owned()));
    };
    if there.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // A link of the system's, such as /dev/stdout, stands for an open file
    // that others write too: replacing either end would break it.
    let is_systems = path.is_symlink() && (path.starts_with("/dev") || path.starts_with("/proc"));
    let is_foreign = |path| crate::trusted::check(path).is_err_and(|error| error.is_foreign());
    if !is_systems && path.is_symlink() && is_foreign(path) {
        return Ok(Destination::Replaced(path.to_owned()));
    }
    if is_systems || !there.is_file() {
        return Ok(Destination::InPlace);
    }
    path.canonicalize().map(Destination::Replaced)
}

fn open_in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let mut pending = Pending::with_mode(path, READABLE)?;
    pending.file.write_all(bytes)?;
    if durable {
        pending.file.sync_all()?;
    }
    pending.appear(true)
}

/// A new file in the same folder (a rename cannot cross file systems), with an
/// unpredictable name: no link that another user left is followed.
fn new_beside(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let path = beside(path)?;
    // With its mode from the start: who opens it before a change reads on after it.
    let new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)?;
    Ok((new, path))
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let random = RandomState::new().build_hasher().finish();
    let name = format!(".{}.lockgate-{random:016x}", name.to_string_lossy());
    Ok(path.with_file_name(name))
}

/// A new file in the same folder without a name, of which nothing is left however this
/// process ends. `None` where the file system has none, or no name could be given later.
fn new_nameless(path: &Path, mode: u32) -> io::Result<Option<File>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.file_name().is_none() || !Path::new(OPEN_FILES).exists() {
        return Ok(None);
    }
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(mode)
        .open(folder);
    match opened {
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)
            ) =>
        {
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

/// A file that is written piece by piece and then appears whole, or not at all: until
/// then it has no name, or where the file system has no such files one of its own,
/// beside. Only its owner can read it.
#[derive(Debug)]
pub struct Pending {
    file: File,
    /// Where it has a name, beside.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl Pending {
    /// # Errors
    /// Whatever the file system says.
    pub fn new(path: &Path) -> io::Result<Self> {
        Self::with_mode(path, 0o600)
    }

    fn with_mode(path: &Path, mode: u32) -> io::Result<Self> {
        let (file, temporary) = match new_nameless(path, mode)? {
            Some(file) => (file, None),
            None => {
                let (file, temporary) = new_beside(path, mode)?;
                (file, Some(temporary))
            }
        };
        Ok(Self {
            file,
            temporary,
            path: path.to_owned(),
        })
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it its name, once its bytes are on the disk; a file of that name goes only
    /// if it may be replaced.
    ///
    /// # Errors
    /// Whatever the file system says; the temporary file is removed.
    pub fn commit(self, may_replace: bool) -> io::Result<()> {
        self.file.sync_all()?;
        self.appear(may_replace)
    }

    fn appear(mut self, may_replace: bool) -> io::Result<()> {
        let temporary = match self.temporary.take() {
            Some(temporary) => temporary,
            None => match self.link(&self.path) {
                // Only a name can replace another.
                Err(error) if may_replace && error.kind() == io::ErrorKind::AlreadyExists => {
                    let temporary = beside(&self.path)?;
                    self.link(&temporary)?;
                    temporary
                }
                linked => return linked,
            },
        };
        let temporary = self.temporary.insert(temporary);
        if may_replace {
            return fs::rename(temporary, &self.path);
        }
        match renameat_with(CWD, &*temporary, CWD, &self.path, RenameFlags::NOREPLACE) {
            // Not every file system has it. A link fails, too, where the name is taken.
            Err(Errno::INVAL) => fs::hard_link(temporary, &self.path),
            renamed => Ok(renamed?),
        }
    }

    /// Gives a file without a name one that is not taken.
    fn link(&self, path: &Path) -> io::Result<()> {
        let open = Path::new(OPEN_FILES).join(self.file.as_raw_fd().to_string());
        Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Gone already where it was renamed.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        write_atomically(&path, b"first", false).unwrap();
        write_atomically(&path, b"second", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        check_writable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pending_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.img");
        let written = |text: &[u8]| {
            let mut pending = Pending::new(&path).unwrap();
            pending.file().write_all(text).unwrap();
            let names = fs::read_dir(folder.path()).unwrap().count();
            let own = usize::from(pending.temporary.is_some());
            assert_eq!(names, own + usize::from(path.exists()));
            pending
        };
        drop(written(b"never"));
        assert!(!path.exists());
        written(b"first").commit(false).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let refused = written(b"second").commit(false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        written(b"third").commit(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// As where the file system has no files without names.
    #[test]
    fn a_pending_file_with_a_name_beside_does_as_one_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.img");
        let written = |text: &[u8]| {
            let (mut file, temporary) = new_beside(&path, 0o600).unwrap();
            file.write_all(text).unwrap();
            let (temporary, path) = (Some(temporary), path.clone());
            Pending {
                file,
                temporary,
                path,
            }
        };
        drop(written(b"never"));
        written(b"first").commit(false).unwrap();
        let refused = written(b"second").commit(false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        written(b"third").commit(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_being_written_has_no_name_where_that_can_be() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("plain.img");
        // tmpfs has them.
        let pending = Pending::new(&path).unwrap();
        assert_eq!(pending.temporary, None);
        // As killed: nothing of ours runs.
        std::mem::forget(pending);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("report.html");
        fs::create_dir(&directory).unwrap();
        assert!(check_writable(&directory).is_err());
        assert!(write_atomically(&directory, b"x", false).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_an_error_before_and_when_writing() {
        let path = Path::new("/dev/null/no/such/result.json");
        assert!(check_writable(path).is_err());
        assert!(write_atomically(path, b"x", false).is_err());
        assert!(check_writable(Path::new("/")).is_err());
    }

    #[test]
    fn a_device_is_written_in_place() {
        let null = Path::new("/dev/null");
        check_writable(null).unwrap();
        write_atomically(null, b"x", false).unwrap();
        assert!(!null.is_file());
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_atomically(&link, b"new", false).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_link_of_another_user_is_replaced_and_not_followed() {
        if !testing::is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "root's").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
        write_atomically(&link, b"new", false).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"root's");
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(!link.is_symlink());
    }

    #[test]
    fn temporary_files_are_new_and_named_anew_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        let names = [(); 8].map(|()| new_beside(&path, READABLE).unwrap().1);
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert!(File::create_new(&names[0]).is_err(), "it is there");
    }

    #[test]
    fn links_of_the_system_are_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("file")).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let link = PathBuf::from(format!("/proc/self/fd/{number}"));
        assert!(matches!(destination(&link), Ok(Destination::InPlace)));
        write_atomically(&link, b"x", false).unwrap();
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"x");
    }
}
