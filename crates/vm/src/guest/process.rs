//! QEMU as a process: watched by one thread that ends it in time, and reaps
//! it. It is only ever named by its pidfd, pidfd_open(2), which cannot come to
//! mean another process.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, pidfd_open, pidfd_send_signal, prlimit,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kill {
    TimeLimit,
    Panic,
    Asked,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) status: ExitStatus,
    pub(super) kill: Option<Kill>,
}

#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    handle: OwnedFd,
    sooner: OwnedFd,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    deadline: Instant,
    late: Kill,
    ending: Option<Ending>,
    kill: Option<Kill>,
}

impl Process {
    /// Starts `command`, and kills it at `deadline`. The thread ends with the
    /// process.
    pub(super) fn start(
        command: Command,
        deadline: Instant,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>)> {
        // The thread comes first, so that no child can be without one.
        let (child_to, child_from) = mpsc::channel();
        let watcher = thread::Builder::new()
            .name("lockgate-guest".to_owned())
            .spawn(move || watch(&child_from))?;
        let sooner = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let mut child = sys::process::spawn_dying_with_us(command)?;
        let handle = match hold(&child) {
            Ok(handle) => handle,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        let process = Arc::new(Self {
            pid: child.id(),
            handle,
            sooner,
            state: Mutex::new(State {
                deadline,
                late: Kill::TimeLimit,
                ending: None,
                kill: None,
            }),
            changed: Condvar::new(),
        });
        child_to
            .send((Arc::clone(&process), child))
            .expect("the watcher waits for this");
        Ok((process, watcher))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn kill(&self, reason: Kill) {
        self.state().kill.get_or_insert(reason);
        // An error says that it has ended already.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }

    /// Kills QEMU for this reason unless it ends by itself before.
    pub(super) fn end_within(&self, limit: Duration, reason: Kill) {
        let mut state = self.state();
        let deadline = Instant::now() + limit;
        if deadline < state.deadline {
            (state.deadline, state.late) = (deadline, reason);
            drop(state);
            // It fails only where the counter is full, and then it wakes, too.
            let _ = rustix::io::write(&self.sooner, &1_u64.to_ne_bytes());
        }
    }

    pub(super) fn ended_within(&self, limit: Duration) -> Option<Ending> {
        let (state, _) = self
            .changed
            .wait_timeout_while(self.state(), limit, |state| state.ending.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        state.ending
    }

    /// Waits for the end or the deadline, which may move; true for the end.
    fn ends_in_time(&self) -> bool {
        loop {
            let deadline = self.state().deadline;
            let left = deadline.saturating_duration_since(Instant::now());
            match self.wait(left) {
                Ok(Waited::Ended) | Err(_) => return true,
                Ok(Waited::Long) => return false,
                Ok(Waited::Woken) => {}
            }
        }
    }

    fn wait(&self, left: Duration) -> rustix::io::Result<Waited> {
        let timeout = Timespec::try_from(left).ok();
        let mut sources = [
            PollFd::new(&self.handle, PollFlags::IN),
            PollFd::new(&self.sooner, PollFlags::IN),
        ];
        match poll(&mut sources, timeout.as_ref()) {
            Ok(0) => return Ok(Waited::Long),
            Err(rustix::io::Errno::INTR) => return Ok(Waited::Woken),
            other => other?,
        };
        if !sources[0].revents().is_empty() {
            return Ok(Waited::Ended);
        }
        let _ = rustix::io::read(&self.sooner, &mut [0_u8; 8]);
        Ok(Waited::Woken)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Waited {
    Ended,
    Long,
    Woken,
}

/// The child's handle; and no core file will be left of it, which would contain the
/// guest's memory.
fn hold(child: &Child) -> io::Result<OwnedFd> {
    // The child is not reaped, so the number is still its own.
    let pid = Pid::from_child(child);
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    match prlimit(Some(pid), Resource::Core, none) {
        Ok(_) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

fn watch(started: &Receiver<(Arc<Process>, Child)>) {
    // No child: it could not be started.
    let Ok((process, mut child)) = started.recv() else {
        return;
    };
    if !process.ends_in_time() {
        let late = process.state().late;
        process.kill(late);
    }
    let status = child.wait().expect("only we wait for our child");
    let mut state = process.state();
    state.ending = Some(Ending {
        status,
        kill: state.kill,
    });
    process.changed.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleep(seconds: &str) -> Command {
        let mut command = Command::new("sleep");
        command.arg(seconds);
        command
    }

    #[test]
    fn the_deadline_kills_and_reaps() {
        let (process, watcher) = Process::start(sleep("60"), Instant::now()).unwrap();
        watcher.join().unwrap();
        let ending = process.ended_within(Duration::ZERO).unwrap();
        assert_eq!(ending.kill, Some(Kill::TimeLimit));
        assert!(!std::path::Path::new(&format!("/proc/{}", process.pid())).exists());
    }

    #[test]
    fn a_deadline_moves_forward_only() {
        let far = Instant::now() + Duration::from_secs(60);
        let (process, watcher) = Process::start(sleep("60"), far).unwrap();
        process.end_within(Duration::from_millis(20), Kill::Panic);
        process.end_within(Duration::from_secs(90), Kill::Asked);
        watcher.join().unwrap();
        let ending = process.ended_within(Duration::ZERO).unwrap();
        assert_eq!(ending.kill, Some(Kill::Panic));
    }

    #[test]
    fn an_end_of_its_own_has_no_reason() {
        let far = Instant::now() + Duration::from_secs(60);
        let (process, watcher) = Process::start(sleep("0"), far).unwrap();
        watcher.join().unwrap();
        process.kill(Kill::Asked);
        let ending = process.ended_within(Duration::ZERO).unwrap();
        assert_eq!((ending.kill, ending.status.code()), (None, Some(0)));
    }

    #[test]
    fn what_cannot_start_leaves_no_thread() {
        let far = Instant::now() + Duration::from_secs(60);
        let error = Process::start(Command::new("/nowhere/qemu"), far).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
