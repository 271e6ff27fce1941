//! Children that do not outlive us, and one that does; signals that are ignored.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

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
/// Signals of a terminal (Ctrl-C, its end) are for this process, which then ends its
/// children in order: the child has a process group of its own.
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
    begin_inside(&mut command, namespace);
    spawn(command)
}

/// As [`spawn_inside`]; the child executes its program only after `told` has taken its
/// number. Until then this process's death is the child's, whatever the program
/// becomes: the kernel forgets `PR_SET_PDEATHSIG` when a program changes its user.
///
/// # Errors
/// As [`spawn_inside`]; those of `told`, and then there is no child.
pub fn spawn_inside_told<T>(
    mut command: Command,
    namespace: OwnedFd,
    told: impl FnOnce(u32) -> io::Result<T>,
) -> io::Result<(Child, T)> {
    begin_inside(&mut command, namespace);
    program::vet(&mut command)?;
    end_with_us(&mut command);
    let gate = Gate::before(&mut command)?;
    let answered = start(command)?;
    let number = gate.number();
    let took = number.map(told).transpose();
    gate.open(matches!(took, Ok(Some(_))))?;
    let child = answer(&answered);
    match took? {
        // It says itself why it did not come as far as the gate.
        None => child.and(Err(io::ErrorKind::UnexpectedEof.into())),
        Some(value) => child.map(|child| (child, value)),
    }
}

/// Has the program start as one that stays after this one: in a session of its own, so
/// without a terminal and in no process group of a shell's. Open files are not passed
/// on, but for input, output and errors: which must be no terminal either.
pub fn detach(command: &mut Command) {
    close_on_exec(command);
    // SAFETY: setsid is async-signal-safe, and the child is no group's leader.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
}

/// Marks all descriptors of the child, from the third on, to be closed when it executes
/// its program: files that other code opened without `O_CLOEXEC` are not passed on.
/// What the child is to have must be mapped by a closure that is registered later.
pub fn close_on_exec(command: &mut Command) {
    // SAFETY: only async-signal-safe system calls are made; no memory is allocated.
    unsafe {
        command.pre_exec(mark_all);
    }
}

/// Whether this process, or who started it (nohup(1)), has the kernel drop a signal.
///
/// # Errors
/// `InvalidInput` for what is no signal.
pub fn is_ignored(signal: i32) -> io::Result<bool> {
    // SAFETY: for a sigaction, zeros are a value: no handler, flags or mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only asks; `action` is valid for the answer.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

fn begin_inside(command: &mut Command, namespace: OwnedFd) {
    // SAFETY: between fork and exec only the async-signal-safe setns is
    // called; the file is the closure's own and open, as fork copies it.
    unsafe {
        command.pre_exec(move || enter(&namespace));
    }
}

/// The first descriptor that is none of input, output and errors.
const FIRST: libc::c_uint = 3;
/// Without `close_range`, higher ones are not looked for.
const LAST_BY_HAND: libc::c_int = 65_535;

fn mark_all() -> io::Result<()> {
    let flag = libc::CLOSE_RANGE_CLOEXEC.cast_signed();
    // SAFETY: it changes only this process's table of descriptors.
    if unsafe { libc::close_range(FIRST, libc::c_uint::MAX, flag) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // Linux before 5.11.
    if !matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) {
        return Err(error);
    }
    for descriptor in FIRST.cast_signed()..=LAST_BY_HAND {
        // SAFETY: as above; one that is not open is refused.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Where a child waits before it executes its program.
struct Gate {
    number: io::PipeReader,
    go: io::PipeWriter,
}

impl Gate {
    /// The last thing that the child does.
    fn before(command: &mut Command) -> io::Result<Self> {
        let (number, number_there) = io::pipe()?;
        let (go_there, go) = io::pipe()?;
        // SAFETY: only the async-signal-safe getpid, write and read are called, on files
        // of the closure's own, which fork copies; no memory is allocated.
        unsafe {
            command.pre_exec(move || {
                (&number_there).write_all(&std::process::id().to_ne_bytes())?;
                let mut answer = [0];
                (&go_there).read_exact(&mut answer)?;
                match answer {
                    [0] => Err(io::Error::from_raw_os_error(libc::ECANCELED)),
                    _ => Ok(()),
                }
            });
        }
        Ok(Self { number, go })
    }

    /// What the child that waits has told; `None` when it ended before.
    fn number(&self) -> Option<u32> {
        let mut number = [0; 4];
        (&self.number).read_exact(&mut number).ok()?;
        Some(u32::from_ne_bytes(number))
    }

    fn open(&self, may_go: bool) -> io::Result<()> {
        match (&self.go).write_all(&[u8::from(may_go)]) {
            // It ended before.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
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
    end_with_us(&mut command);
    answer(&start(command)?)
}

fn end_with_us(command: &mut Command) {
    let parent = std::process::id();
    command.process_group(0);
    // SAFETY: between fork and exec only async-signal-safe calls are made:
    // prctl and getppid; no memory is allocated and no lock is taken.
    unsafe {
        command.pre_exec(move || die_with(parent));
    }
}

fn start(mut command: Command) -> io::Result<Receiver<io::Result<Child>>> {
    let (answer, answered) = mpsc::channel();
    let job: Job = Box::new(move || {
        let started = command.spawn();
        // The files of its closures.
        drop(command);
        // Who waited may be gone: then the child is, too.
        if let Err(unwanted) = answer.send(started)
            && let Ok(mut child) = unwanted.0
        {
            let _ = child.kill();
            let _ = child.wait();
        }
    });
    spawner()?
        .send(job)
        .map_err(|_| io::Error::other("the thread that starts processes has ended"))?;
    Ok(answered)
}

fn answer(answered: &Receiver<io::Result<Child>>) -> io::Result<Child> {
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

/// Longest time that the kernel may take to forget threads that were joined.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(1);

/// Counts the threads of this process beside the calling one. The kernel lists a thread
/// for a moment after it was joined, so this waits up to `within` for them to go.
///
/// # Errors
/// `/proc` cannot be read.
pub fn other_threads(within: Duration) -> io::Result<usize> {
    let begin = Instant::now();
    loop {
        let all = std::fs::read_dir("/proc/self/task")?.count();
        let others = all.saturating_sub(1);
        if others == 0 || begin.elapsed() > within {
            return Ok(others);
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Runs `beside` in a copy of this process, fork(2), which ends with it and runs no
/// destructors. Signals are blocked there.
///
/// # Errors
/// `InvalidInput` if this process has other threads, whose locks would stay taken in the
/// copy; from `fork(2)`.
pub fn fork_beside(beside: impl FnOnce()) -> io::Result<()> {
    if other_threads(FORGOTTEN_WITHIN)? > 0 {
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
    if is_ignored(libc::SIGCHLD)? {
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
    fn a_thread_that_was_joined_is_none() {
        // The test's own process has others.
        let alone = || {
            for _ in 0..500 {
                thread::spawn(|| {}).join().unwrap();
                assert_eq!(other_threads(FORGOTTEN_WITHIN).unwrap(), 0);
            }
            thread::spawn(|| thread::sleep(FORGOTTEN_WITHIN * 3600));
            assert_eq!(other_threads(Duration::ZERO).unwrap(), 1);
        };
        // SAFETY: the copy uses what the C library makes good after fork(2): memory and
        // threads.
        match unsafe { libc::fork() } {
            0 => {
                let did = std::panic::catch_unwind(alone);
                // SAFETY: it ends the copy alone.
                unsafe { libc::_exit(i32::from(did.is_err())) }
            }
            child => {
                assert!(child > 0);
                let mut status = -1;
                // SAFETY: it waits for that child, which nobody else does.
                let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
                assert_eq!((waited, status), (child, 0));
            }
        }
    }

    fn here() -> OwnedFd {
        std::fs::File::open("/proc/thread-self/ns/net")
            .unwrap()
            .into()
    }

    fn touching(path: &std::path::Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", ": >\"$0\""]).arg(path);
        command
    }

    #[test]
    fn a_program_begins_after_its_number_was_taken() {
        if !testing::is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("touched");
        let told = |number: u32| {
            let line = std::fs::read(format!("/proc/{number}/cmdline"))?;
            Ok((number, line, path.exists()))
        };
        let (mut child, told) = spawn_inside_told(touching(&path), here(), told).unwrap();
        let (number, line, is_touched) = told;
        assert!(child.wait().unwrap().success() && path.exists());
        assert_eq!(number, child.id());
        assert!(!line.starts_with(b"sh\0") && !is_touched, "{line:?}");
    }

    #[test]
    fn a_program_whose_number_was_refused_does_not_begin() {
        if !testing::is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("touched");
        let told = |_| Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull));
        let refused = spawn_inside_told(touching(&path), here(), told).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
        // Nor is it asked for the number of one that is not there.
        let none = Command::new("/nowhere/lockgate-none");
        let told = |number| Ok(number);
        let error = spawn_inside_told(none, here(), told).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_is_in_no_group_of_ours() {
        let mut command = Command::new("sleep");
        command.arg("30");
        let mut child = spawn_dying_with_us(command).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        assert_eq!(rustix::process::getpgid(Some(pid)).unwrap(), pid);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_detached_child_has_a_session_and_no_files_of_ours() {
        let (_reader, writer) = io::pipe().unwrap();
        // As by code that knows no O_CLOEXEC.
        rustix::io::fcntl_setfd(&writer, rustix::io::FdFlags::empty()).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&writer);
        let script = format!("cat /proc/$$/stat; test -e /proc/$$/fd/{number} && echo open");
        let ask = |is_detached: bool| {
            let mut command = Command::new("sh");
            command
                .args(["-c", &script])
                .stdin(std::process::Stdio::null());
            if is_detached {
                detach(&mut command);
            }
            let said = command.output().unwrap().stdout;
            let said = String::from_utf8(said).unwrap();
            said.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        // Its session is named after it, and has no terminal: proc_pid_stat(5).
        let own = ask(true);
        assert_eq!(own.len(), 1, "{own:?}");
        let fields: Vec<&str> = own[0].split(' ').collect();
        assert_eq!(fields[5..7], [fields[0], "0"]);
        assert_eq!(ask(false)[1], "open");
    }

    #[test]
    fn what_is_ignored_is_known() {
        assert!(is_ignored(libc::SIGPIPE).unwrap());
        assert!(!is_ignored(libc::SIGSEGV).unwrap());
        assert!(is_ignored(-1).is_err());
    }

    #[test]
    fn what_cannot_start_is_an_error() {
        let command = Command::new("/nowhere/lockgate-none");
        let error = spawn_dying_with_us(command).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
