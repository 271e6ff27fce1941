//! Processes.

use std::io;
use std::time::Instant;

use rustix::process::{Pid, Signal};

use super::{LOOK_EVERY, UNDO_WAIT};

/// Fields of `/proc/PID/stat`, proc(5).
const STATE: usize = 3;
const PARENT: usize = 4;
const FLAGS: usize = 9;
pub const NICE: usize = 19;
const STARTED: usize = 22;
pub const PRIORITY: usize = 40;
pub const POLICY: usize = 41;
const PF_KTHREAD: u32 = 0x0020_0000;

pub fn kill(pid: i32) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pid) else {
        return Ok(());
    };
    match rustix::process::kill_process(pid, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// When a process started, in clock ticks since boot.
pub fn started_at(pid: i32) -> io::Result<u64> {
    field(pid, STARTED)?
        .parse()
        .map_err(|_| io::Error::other(format!("/proc/{pid}/stat has no time of start")))
}

pub fn is_kernel_thread(pid: i32) -> bool {
    field(pid, FLAGS).is_ok_and(|flags| {
        flags
            .parse::<u32>()
            .is_ok_and(|flags| flags & PF_KTHREAD != 0)
    })
}

/// The process of a thread; `None` when it has ended.
pub fn process_of(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// A field of `/proc/PID/stat`, counted from 1 as in proc(5). The name in field
/// 2 may hold anything, so it is counted from its last bracket.
pub fn field(pid: i32, number: usize) -> io::Result<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    stat.rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().nth(number - 3))
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat has no field {number}")))
}

pub fn end(pid: i32, started: u64) -> io::Result<()> {
    let deadline = Instant::now() + UNDO_WAIT;
    while started_at(pid).is_ok_and(|now| now == started) && !is_zombie(pid) {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        kill(pid)?;
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Whether there is one of that number that has not ended.
pub fn is_alive(pid: i32) -> bool {
    field(pid, STATE).is_ok_and(|state| state != "Z")
}

pub fn parent_of(pid: i32) -> Option<i32> {
    field(pid, PARENT).ok()?.parse().ok()
}

fn is_zombie(pid: i32) -> bool {
    field(pid, STATE).is_ok_and(|state| state == "Z")
}
