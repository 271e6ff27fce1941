//! Control groups.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::{LOOK_EVERY, UNDO_WAIT, process};

/// A control group can be removed only when it is empty. Its own groups go first.
pub fn remove(path: &Path) -> io::Result<()> {
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
    for thread in threads_inside(path)? {
        match process::process_of(thread) {
            Some(pid) if process::is_kernel_thread(pid) || is_own(pid) => move_out(path, thread),
            Some(pid) => process::kill(pid)?,
            None => {}
        }
    }
    Ok(())
}

fn is_own(pid: i32) -> bool {
    pid == std::process::id().cast_signed()
}

/// The threads in a group, not those in its own groups.
pub fn threads_inside(path: &Path) -> io::Result<Vec<i32>> {
    let text = std::fs::read_to_string(path.join(threads_file(path)))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn threads_file(path: &Path) -> &'static str {
    match path.join("tasks").exists() {
        true => "tasks",
        false => "cgroup.threads",
    }
}

/// Moves a thread alone to the group above; other threads of its process stay. Out of
/// a group of whole processes, which only version 2 has, the process moves. It may
/// end meanwhile.
fn move_out(path: &Path, thread: i32) {
    if process::is_kernel_thread(thread) {
        let _ = sys::schedule::as_usual(thread);
    }
    let above = path.parent().unwrap_or(path);
    let alone = std::fs::write(above.join(threads_file(path)), thread.to_string());
    if alone.is_err() {
        let _ = std::fs::write(above.join("cgroup.procs"), thread.to_string());
    }
}
