//! Each attempt from each kind of thread, in a process of its own: a refusal ends it. The
//! same attempts without confinement show that it is the confinement that refuses.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use lockgate_confine::{Calls, Capabilities, Confined, Confinement, Files, User};
use sys::role::Role;

use crate::attempts::{ATTEMPTS, Attempt, Stage};

const WHAT: &str = "LOCKGATE_TEST_ATTEMPT";
const OUTSIDE: &str = "LOCKGATE_TEST_OUTSIDE";

fn confinement(folder: &Path) -> Confinement {
    Confinement {
        user: Some(User::of_service()),
        keep: Capabilities::empty(),
        files: Some(Files {
            removed_in: vec![folder.to_owned()],
            read_in: vec!["/proc/self/task".into()],
        }),
        has_network: false,
        files_max: None,
        calls: Calls::Roles,
    }
}

/// How an attempt in a child ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    /// It did what it tried.
    Did,
    /// With that error of the system.
    Errno(i32),
    /// The process ended, with that call's number.
    Call(i64),
    /// By a signal, and whether memory was dumped.
    Signal(i32, bool),
    Otherwise(String),
}

fn ended(output: &Output) -> Ended {
    let (said, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let number = |text: &str, before: &str| {
        let rest = text.split(before).nth(1)?;
        rest.split_whitespace().next()?.parse::<i64>().ok()
    };
    if let Some(signal) = output.status.signal() {
        return Ended::Signal(signal, output.status.core_dumped());
    }
    match output.status.code() {
        Some(3) => match number(&told, "lockgate: system call ") {
            Some(call) if told.contains("is refused to the confined thread") => Ended::Call(call),
            _ => Ended::Otherwise(told.into_owned()),
        },
        // A program that took its place says nothing.
        Some(0) => match number(&said, "errno ") {
            Some(errno) => Ended::Errno(errno as i32),
            None => Ended::Did,
        },
        _ => Ended::Otherwise(format!("{:?}: {said}{told}", output.status)),
    }
}

struct Folders {
    own: tempfile::TempDir,
    outside: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folders = Self {
            own: tempfile::tempdir().unwrap(),
            outside: tempfile::tempdir().unwrap(),
        };
        // Whatever the user, only the confinement stands between.
        for folder in [&folders.own, &folders.outside] {
            let all = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(folder.path(), all).unwrap();
            std::fs::write(folder.path().join("file"), "").unwrap();
        }
        folders
    }

    fn attempt(&self, role: Option<Role>, attempt: &Attempt) -> Ended {
        let role = role.map_or("none".to_owned(), |role| format!("{role:?}"));
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "refused::child", "--nocapture"])
            .env(WHAT, format!("{role} {}", attempt.name))
            .env(OUTSIDE, self.outside.path())
            .current_dir(self.own.path())
            .output()
            .unwrap();
        ended(&output)
    }
}

/// Not a test of its own: what the others start.
#[test]
fn child() {
    let Ok(what) = std::env::var(WHAT) else {
        return;
    };
    let (role, name) = what.split_once(' ').unwrap();
    let attempt = ATTEMPTS.iter().find(|one| one.name == name).unwrap();
    let stage = Arc::new(Stage::new(Path::new(&std::env::var(OUTSIDE).unwrap())));
    let role = Role::ALL.into_iter().find(|one| format!("{one:?}") == role);
    let Some(role) = role else {
        attempt.make(&stage);
    };
    let confined = confinement(&std::env::current_dir().unwrap()).enter_process();
    let confined = confined.unwrap();
    assert!(
        confined.lacks.iter().all(|lack| lack.contains("threads")),
        "{confined:?}"
    );
    if role == Role::Main {
        attempt.make(&stage);
    }
    std::thread::spawn(move || {
        confined.enter_thread(role).unwrap();
        attempt.make(&stage)
    })
    .join()
    .unwrap();
}

fn is_refusal(attempt: &Attempt, ended: &Ended) -> bool {
    match ended {
        Ended::Call(call) => attempt.calls.contains(call),
        Ended::Errno(errno) => {
            [libc::EPERM, libc::EACCES].contains(errno) || attempt.also.contains(errno)
        }
        Ended::Signal(libc::SIGABRT, is_dumped) => attempt.name == "core dump" && !is_dumped,
        _ => false,
    }
}

#[test]
fn everything_is_refused_to_every_kind_of_thread() {
    if !testing::is_root() {
        return;
    }
    let folders = Folders::new();
    let mut wrong = Vec::new();
    for attempt in ATTEMPTS {
        for role in Role::ALL {
            let ended = folders.attempt(Some(role), attempt);
            if !is_refusal(attempt, &ended) {
                wrong.push(format!("{}, {role:?}: {ended:?}", attempt.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(folders.outside.path().join("file").exists());
    assert!(ATTEMPTS.len() >= 30);
}

/// What was refused for another reason than the confinement would prove nothing.
#[test]
fn without_confinement_none_of_it_is_refused() {
    if !testing::is_root() {
        return;
    }
    let mut wrong = Vec::new();
    for attempt in ATTEMPTS {
        let ended = Folders::new().attempt(None, attempt);
        // Some hosts do not let root do that, or have no such call.
        let is_missing = matches!(ended, Ended::Errno(libc::ENOSYS | libc::EOPNOTSUPP));
        if is_refusal(attempt, &ended) && !is_missing {
            wrong.push(format!("{}: {ended:?}", attempt.name));
        }
        if let Ended::Otherwise(words) = ended {
            wrong.push(format!("{}: {words}", attempt.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is asked of a thread and is not a refusal: a worker that panics with a trace, an
/// abort, memory, threads, sleeping.
#[test]
fn what_threads_need_is_there() {
    if !testing::is_root() {
        return;
    }
    let folders = Folders::new();
    for role in Role::ALL {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "refused::working_child", "--nocapture"])
            .env(WHAT, format!("{role:?}"))
            .env("RUST_BACKTRACE", "full")
            .current_dir(folders.own.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{role:?}: {told}");
        assert!(told.contains("planted"), "{told}");
    }
    // The main thread may remove what is in its folders.
    assert!(!folders.own.path().join("file").exists());
}

/// Not a test of its own.
#[test]
fn working_child() {
    let Ok(role) = std::env::var(WHAT) else {
        return;
    };
    let role = Role::ALL.into_iter().find(|one| format!("{one:?}") == role);
    let Some(role) = role else {
        return;
    };
    let folder = std::env::current_dir().unwrap();
    let confined = Arc::new(confinement(&folder).enter_process().unwrap());
    if role == Role::Main {
        std::fs::remove_file(folder.join("file")).unwrap();
    }
    if [Role::Main, Role::Control].contains(&role) {
        // A thread that is started later confines itself further.
        let own = Arc::clone(&confined);
        inside(&confined, role, move || {
            std::thread::spawn(move || own.enter_thread(Role::Worker).unwrap())
                .join()
                .unwrap();
        });
    }
    inside(&confined, role, move || {
        let large: Vec<Vec<u8>> = (0..64).map(|one| vec![one; 1 << 20]).collect();
        drop(std::hint::black_box(large));
        std::thread::sleep(std::time::Duration::from_millis(1));
        std::thread::yield_now();
        if [Role::Main, Role::Control].contains(&role) {
            drop(sys::event::Event::new().unwrap());
        }
    });
    let panicked = std::panic::catch_unwind(|| {
        let own = &confined;
        inside(own, role, || panic!("planted"));
    });
    assert!(panicked.is_err());
    // SAFETY: it ends the process; the harness's other threads have nothing to finish.
    unsafe { libc::_exit(0) };
}

fn inside(confined: &Arc<Confined>, role: Role, work: impl FnOnce() + Send + 'static) {
    let own = Arc::clone(confined);
    let thread = std::thread::spawn(move || {
        // While it is set up, a thread may look at what the kernel says of it.
        let own_state = || std::fs::File::open("/proc/thread-self/wchan");
        own_state().unwrap();
        own.enter_thread(role).unwrap();
        assert_eq!(own_state().is_ok(), role == Role::Main, "{role:?}");
        work();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
