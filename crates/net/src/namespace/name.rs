//! A namespace's name: a file in `/run/netns` that it is mounted on, as
//! `ip-netns(8)` does.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sched::CloneFlags;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change};

use crate::journal::absent_is_fine;

pub const FOLDER: &str = "/run/netns";
/// ip-netns(8) is done in microseconds.
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// Makes the file, so that the name is reserved.
pub(super) fn reserve(name: &str) -> io::Result<()> {
    std::fs::create_dir_all(FOLDER)?;
    make_shared()?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(Path::new(FOLDER).join(name))
        .map(drop)
}

/// As ip-netns(8) leaves it: a mount of its own, and shared. Otherwise the next `ip netns
/// add` of anybody makes it one, and hides the names that were there before under it:
/// they could be neither unmounted nor removed.
fn make_shared() -> io::Result<()> {
    let share = || {
        mount_change(
            FOLDER,
            MountPropagationFlags::SHARED | MountPropagationFlags::REC,
        )
    };
    match share() {
        Err(Errno::INVAL) => {}
        shared => return Ok(shared?),
    }
    // It is no mount of its own. ip-netns(8) takes this lock, too; but so may anybody, and
    // for ever.
    let folder = File::open(FOLDER)?;
    let began = Instant::now();
    while rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err()
        && began.elapsed() < LOCK_WAIT
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    if share() == Err(Errno::INVAL) {
        rustix::mount::mount_bind_recursive(FOLDER, FOLDER)?;
    }
    Ok(share()?)
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
