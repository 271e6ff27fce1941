//! Control groups.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::{LOOK_EVERY, UNDO_WAIT, process};

/// A control group can be removed only when nobody is inside. Its own groups
/// go first.
pub(in super::super) fn remove(path: &Path) -> io::Result<()> {
    let deadline = Instant::now() + UNDO_WAIT;
    loop {
        match std::fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::ResourceBusy => return Err(error),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => empty(path)?,
            Ok(()) => return Ok(()),
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn empty(path: &Path) -> io::Result<()> {
    for inner in std::fs::read_dir(path)? {
        let inner = inner?;
        if inner.file_type()?.is_dir() {
            remove(&inner.path())?;
        }
    }
    let members = std::fs::read_to_string(path.join("cgroup.procs"))?;
    let parent = path.parent().unwrap_or(path).join("cgroup.procs");
    for pid in members.lines().filter_map(|line| line.parse::<i32>().ok()) {
        if process::is_kernel_thread(pid) || pid == std::process::id().cast_signed() {
            // It may end while it is moved.
            let _ = std::fs::write(&parent, pid.to_string());
        } else {
            process::kill(pid)?;
        }
    }
    Ok(())
}
