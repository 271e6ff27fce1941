//! How the kernel schedules a thread (`sched(7)`).

use std::io;

/// Schedules a thread in real time, first in first out, at the lowest priority
/// of that class: before every usual thread.
///
/// # Errors
/// From `sched_setscheduler(2)`: `EPERM` without root, or where the thread's
/// control group has no real-time share; `ESRCH` when it has ended.
pub fn in_real_time(thread: i32) -> io::Result<()> {
    set(thread, libc::SCHED_FIFO, 1)
}

/// Schedules a thread as usual, with the nice value that it had before.
pub fn as_usual(thread: i32) -> io::Result<()> {
    set(thread, libc::SCHED_OTHER, 0)
}

/// Whether a thread is scheduled in real time.
///
/// # Errors
/// `ESRCH` when it has ended.
pub fn is_in_real_time(thread: i32) -> io::Result<bool> {
    // SAFETY: no memory is passed; the kernel checks the number.
    let policy = unsafe { libc::sched_getscheduler(thread) };
    match policy {
        -1 => Err(io::Error::last_os_error()),
        policy => Ok(policy == libc::SCHED_FIFO),
    }
}

/// From now on the calling thread yields to others by that much: `setpriority(2)`, for
/// this thread alone. Linux gives a thread 0.8 of the CPU time for each step.
///
/// # Errors
/// `EACCES` for a number below its own without `CAP_SYS_NICE`.
pub fn be_nice(nice: i32) -> io::Result<()> {
    // SAFETY: no memory is passed; 0 is the calling thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn set(thread: i32, policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: one readable sched_param; the kernel checks the number.
    match unsafe { libc::sched_setscheduler(thread, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        let gone = i32::MAX;
        let errors = [in_real_time(gone), as_usual(gone)].map(Result::unwrap_err);
        let missing = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
        assert!(errors.iter().all(missing), "{errors:?}");
        assert!(!is_in_real_time(0).unwrap(), "tests are usual threads");
    }
}
