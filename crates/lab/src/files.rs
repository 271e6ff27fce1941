//! Files that are either whole or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// Writes `bytes` so that a reader sees the old file or the new one, never
/// half of one: a temporary file beside it, then a rename. What a link points
/// to is replaced, not the link. Something that is there and no regular file
/// (a pipe, `/dev/null`, `/dev/stdout`) is written in place. With `durable`,
/// the bytes are on the disk before the old file goes.
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
        Destination::Replaced(path) => {
            let temporary = temporary_beside(&path)?;
            File::create(&temporary)?;
            fs::remove_file(&temporary)
        }
    }
}

/// How a path is written.
enum Destination {
    /// By writing to what is there.
    InPlace,
    /// By replacing this file.
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
    if is_systems || !there.is_file() {
        return Ok(Destination::InPlace);
    }
    path.canonicalize().map(Destination::Replaced)
}

fn open_in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let written = write_new(&temporary, bytes, durable).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: the first error is the one that matters.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    if durable { file.sync_all() } else { Ok(()) }
}

/// A name in the same folder (a rename cannot cross file systems) that no
/// other process of ours uses.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let name = format!(".{}.lockgate-{}", name.to_string_lossy(), process::id());
    Ok(path.with_file_name(name))
}

#[cfg(test)]
mod tests {
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
