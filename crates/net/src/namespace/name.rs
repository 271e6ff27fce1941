//! A namespace's name: a file in `/run/netns` that it is mounted on, as
//! `ip-netns(8)` does.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use nix::sched::CloneFlags;
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::journal::absent_is_fine;

pub const FOLDER: &str = "/run/netns";

/// Makes the file, so that the name is reserved.
pub(super) fn reserve(name: &str) -> io::Result<()> {
    std::fs::create_dir_all(FOLDER)?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(Path::new(FOLDER).join(name))
        .map(drop)
}

pub(super) fn fill(name: &str) -> io::Result<File> {
    let path = Path::new(FOLDER).join(name);
    // The thread ends, so that only the file keeps it.
    let inside = || {
        nix::sched::unshare(CloneFlags::CLONE_NEWNET)?;
        let file = File::open("/proc/thread-self/ns/net")?;
        rustix::mount::mount_bind("/proc/thread-self/ns/net", &path)?;
        Ok(file)
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, inside)?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub(crate) fn remove_name(name: &str) -> io::Result<()> {
    let path = Path::new(FOLDER).join(name);
    unmount_all(&path)?;
    absent_is_fine(std::fs::remove_file(path))
}

/// Unmounts whatever is mounted there, lazily, so that no process inside can prevent
/// it.
pub(crate) fn unmount_all(path: &Path) -> io::Result<()> {
    loop {
        match rustix::mount::unmount(path, UnmountFlags::DETACH) {
            Ok(()) => {}
            // Nothing is mounted there, or nothing is there.
            Err(Errno::INVAL | Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
