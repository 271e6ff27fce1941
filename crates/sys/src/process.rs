//! Children that do not outlive us.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock};
use std::thread;

use crate::program;

type Job = Box<dyn FnOnce() + Send>;

/// Starts `command` so that the kernel kills the child (SIGKILL) when this process
/// ends, in any way: `PR_SET_PDEATHSIG`, prctl(2).
///
/// The kernel means the *thread* that started the child, so one thread that
/// never ends starts them all.
///
/// Where this process was started with SIGCHLD ignored (a shell's
/// `trap '' CHLD`) it gets the default back: children that cannot be waited for
/// have no exit status, waitpid(2), "NOTES".
///
/// Programs that another user may have put there are not started, and what a
/// child finds by its environment is made sure of likewise: [`program::vet`].
///
/// # Errors
/// As [`Command::spawn`] and [`program::vet`]; `Other` if the thread could not
/// be started.
pub fn spawn_dying_with_us(command: Command) -> io::Result<Child> {
    spawn(command)
}

/// As [`spawn_dying_with_us`], in a network namespace: what an open file of
/// `/run/netns` or `/proc/PID/ns/net` names, setns(2).
///
/// # Errors
/// As [`spawn_dying_with_us`]; `PermissionDenied` without `CAP_SYS_ADMIN`.
pub fn spawn_inside(mut command: Command, namespace: OwnedFd) -> io::Result<Child> {
    // SAFETY: between fork and exec only the async-signal-safe setns is
    // called; the file is the closure's own and open, as fork copies it.
    unsafe {
        command.pre_exec(move || enter(&namespace));
    }
    spawn(command)
}

fn enter(namespace: &OwnedFd) -> io::Result<()> {
    let kind = Some(rustix::thread::LinkNameSpaceType::Network);
    Ok(rustix::thread::move_into_link_name_space(
        namespace.as_fd(),
        kind,
    )?)
}

fn spawn(mut command: Command) -> io::Result<Child> {
    program::vet(&mut command)?;
    let parent = std::process::id();
    // SAFETY: between fork and exec only async-signal-safe calls are made:
    // prctl and getppid; no memory is allocated and no lock is taken.
    unsafe {
        command.pre_exec(move || die_with(parent));
    }
    let (answer, answered) = mpsc::channel();
    let job: Job = Box::new(move || {
        // Who waited may be gone: then the child is, too.
        if let Err(unwanted) = answer.send(command.spawn())
            && let Ok(mut child) = unwanted.0
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    });
    spawner()?
        .send(job)
        .map_err(|_| io::Error::other("the thread that starts processes has ended"))?;
    answered
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts processes died")))
}

fn die_with(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // The parent may have died before the call, and then no signal comes.
    // SAFETY: getppid has no preconditions.
    if unsafe { libc::getppid() }.cast_unsigned() != parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// How many threads this process has.
///
/// # Errors
/// `/proc` cannot be read.
pub fn threads() -> io::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/task")?.count())
}

/// Runs `beside` in a copy of this process, fork(2), which ends with it and runs no
/// destructors. Signals are blocked there.
///
/// # Errors
/// `InvalidInput` if this process has other threads, whose locks would stay taken in the
/// copy; from `fork(2)`.
pub fn fork_beside(beside: impl FnOnce()) -> io::Result<()> {
    if threads()? > 1 {
        let reason = "a process with several threads cannot be copied";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    // SAFETY: there is one thread, so the copy is as whole as this process is.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: the set is filled before it is used; no old one is asked for.
            unsafe {
                let mut all: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut all);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
            }
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(beside));
            // SAFETY: it ends the copy alone.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        _ => Ok(()),
    }
}

/// Moves the calling thread, and those that it starts, into a network of its own, which
/// has nothing but a loopback that is down: unshare(2). Sockets that are open stay.
///
/// # Errors
/// `PermissionDenied` without `CAP_SYS_ADMIN`; from `unshare(2)`.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: the flag changes no table of files or memory that threads share.
    let left = unsafe { libc::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWIPC) };
    if left == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn let_children_be_waited_for() -> io::Result<()> {
    // SAFETY: for a sigaction, zeros are a value: no handler, flags or mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only asks; `action` is valid for the answer.
    let asked = unsafe { libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut action) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    if action.sa_sigaction == libc::SIG_IGN {
        // SAFETY: it installs no handler of ours, and nothing here relies on
        // the signal being ignored.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
    Ok(())
}

fn spawner() -> io::Result<Sender<Job>> {
    static SPAWNER: OnceLock<Mutex<Option<Sender<Job>>>> = OnceLock::new();
    let mut slot = SPAWNER
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(sender) = slot.as_ref() {
        return Ok(sender.clone());
    }
    let (sender, jobs) = mpsc::channel::<Job>();
    let_children_be_waited_for()?;
    thread::Builder::new()
        .name("lockgate-spawner".to_owned())
        .spawn(move || jobs.iter().for_each(|job| job()))?;
    *slot = Some(sender.clone());
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let ask = || {
            let mut command = Command::new("sleep");
            command.arg("30");
            spawn_dying_with_us(command).unwrap()
        };
        let mut child = thread::spawn(ask).join().unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_cannot_start_is_an_error() {
        let command = Command::new("/nowhere/lockgate-none");
        let error = spawn_dying_with_us(command).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
