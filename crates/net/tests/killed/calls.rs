//! At each system call of who makes things and removes them: ptrace(2).

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use lockgate_net::journal::sweep_folder;
use lockgate_net::{Entry, Journal, Namespace, Tag};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

const VICTIM: &str = "LOCKGATE_TEST_KILLED_AT_A_CALL";
const GO: &str = "go";

/// Not a test: what the process does that is killed.
#[test]
fn victim() {
    let Ok(value) = std::env::var(VICTIM) else {
        return;
    };
    let [folder, living, foreign, role] = value.split(':').collect::<Vec<_>>()[..] else {
        panic!("{value}");
    };
    let folder = Path::new(folder);
    println!("\nready");
    while !folder.join(GO).exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // From this call to the other one.
    let _ = rustix::process::getpgid(None);
    {
        let journal = Journal::open_in(folder).unwrap();
        // What others have is refused, and in no journal afterwards.
        assert!(Namespace::create(&journal, living).is_err());
        assert!(Namespace::create(&journal, foreign).is_err());
        let tag = Tag::fresh();
        let namespace = Namespace::create(&journal, &tag.name(role).unwrap()).unwrap();
        let path = folder.join(tag.name(role).unwrap());
        let record = journal.record(Entry::Folder { path: path.clone() });
        std::fs::create_dir(&path).unwrap();
        drop(namespace);
        drop(record);
    }
    let _ = rustix::process::getsid(None);
}

/// What it is in when it stands still, by number.
fn call(thread: Pid) -> Option<i64> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Runs a victim up to its call of that number; `false` where it ended before.
#[expect(clippy::zombie_processes, reason = "the tracer's loop waits for it")]
fn kills_at(number: usize, value: &str, folder: &Path) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::calls::victim", "--nocapture"])
        .env(VICTIM, value)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let victim = Pid::from_raw(child.id().cast_signed());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"), "it is not ready");
    let options =
        Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    for thread in std::fs::read_dir(format!("/proc/{victim}/task")).unwrap() {
        let thread = thread.unwrap().file_name().into_string().unwrap();
        let thread = Pid::from_raw(thread.parse().unwrap());
        ptrace::seize(thread, options).unwrap();
        ptrace::interrupt(thread).unwrap();
    }
    File::create(folder.join(GO)).unwrap();
    let mut is_inside: HashMap<Pid, bool> = HashMap::new();
    let (mut is_counted, mut count, mut is_killed) = (false, 0, false);
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        let (thread, signal) = match waitpid(None, Some(flags)).unwrap() {
            WaitStatus::Exited(one, _) | WaitStatus::Signaled(one, ..) if one == victim => {
                std::fs::remove_file(folder.join(GO)).unwrap();
                return is_killed;
            }
            WaitStatus::PtraceSyscall(thread) => {
                let inside = is_inside.entry(thread).or_default();
                *inside = !*inside;
                if *inside {
                    let call = call(thread);
                    is_counted |= call == Some(libc::SYS_getpgid);
                    is_counted &= call != Some(libc::SYS_getsid);
                    count += usize::from(is_counted);
                    if is_counted && count > number && !is_killed {
                        // It is not begun: what is killed here has not made it.
                        is_killed = true;
                        kill(victim, Signal::SIGKILL).unwrap();
                        continue;
                    }
                }
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        // It may be dying.
        let _ = ptrace::syscall(thread, signal);
    }
}

#[test]
fn at_each_system_call() {
    if !testing::is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tag = Tag::fresh();
    let [living, foreign] = ["living", "foreign"].map(|role| tag.name(role).unwrap());
    let own = Journal::open_in(folder.path()).unwrap();
    let namespace = Namespace::create(&own, &living).unwrap();
    let other = Path::new("/run/netns").join(&foreign);
    File::create_new(&other).unwrap();
    // Other tests leave things at the same time.
    let role = format!("cut{}", std::process::id());
    let value = format!("{}:{living}:{foreign}:{role}", folder.path().display());
    let torn = || {
        let made = ["/run/netns", folder.path().to_str().unwrap()];
        let names = made
            .into_iter()
            .flat_map(|one| std::fs::read_dir(one).unwrap());
        let names = names.map(|one| one.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.ends_with(&role))
            .collect::<Vec<_>>()
    };
    let (mut calls, mut left) = (0, 0);
    while kills_at(calls, &value, folder.path()) {
        left += torn().len();
        let swept = sweep_folder(folder.path()).unwrap();
        assert!(swept.failed.is_empty(), "call {calls}: {:?}", swept.failed);
        assert_eq!(torn(), [""; 0], "call {calls}");
        let journals = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(journals, 1, "call {calls}");
        assert!(Namespace::named(&living).is_some(), "call {calls}");
        assert!(other.exists(), "call {calls}");
        calls += 1;
    }
    std::fs::remove_file(&other).unwrap();
    drop(namespace);
    eprintln!("{left} things were left at {calls} calls");
    assert!(calls > 50 && left > 10);
}
