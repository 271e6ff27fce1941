//! In a process of its own: a fork by another test keeps a program open that is written
//! here, and then it does not start (ETXTBSY).
//!
//! Finding QEMU, with programs that only say they are.

#![allow(clippy::unwrap_used, reason = "a test may end so")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lockgate_vm::{Cache, Qemu, QemuError, QemuOrigin};
use tempfile::TempDir;

/// Held by each test: a child forked by one while another writes its program would
/// keep that file open for writing, and then it cannot be started (ETXTBSY).
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A shell script as a program; the folder is removed with the returned value.
fn program(script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("qemu-system-x86_64");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

#[test]
fn the_version_is_what_the_program_says() {
    let _alone = alone();
    let (_folder, path) =
        program("[ \"$*\" = --version ] && echo 'QEMU emulator version 10.0.2 (x)'");
    let qemu = Qemu::probe(&path, QemuOrigin::Named).unwrap();
    assert_eq!(qemu.version, (10, 0, 2));
    assert_eq!(qemu.program, path);
}

#[test]
fn another_program_is_no_qemu() {
    let _alone = alone();
    let (_folder, path) = program("echo 'hello world'");
    let error = Qemu::probe(&path, QemuOrigin::Host).unwrap_err();
    testing::assert_matches!(error, QemuError::NotQemu { answer, .. } if answer == "hello world");
    assert!(error.to_string().contains("LOCKGATE_QEMU"));
}

#[test]
fn a_wrapper_s_own_child_is_not_waited_for() {
    let _alone = alone();
    let (folder, path) =
        program("sleep 60 & echo $! >\"${0%/*}/pid\"; echo 'QEMU emulator version 7.2.0'");
    let started = Instant::now();
    let qemu = Qemu::probe(&path, QemuOrigin::Named);
    let sleeper = fs::read_to_string(folder.path().join("pid")).unwrap();
    let kill = format!("kill {}", sleeper.trim());
    let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(killed.success(), "it slept on");
    assert_eq!(qemu.unwrap().version, (7, 2, 0));
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_program_that_does_not_start_says_why() {
    let _alone = alone();
    let (_folder, path) = program("");
    fs::write(&path, "#!/nonexistent/interpreter\n").unwrap();
    let error = Qemu::probe(&path, QemuOrigin::Host).unwrap_err();
    testing::assert_matches!(error, QemuError::NotRunning { .. });
    assert!(error.to_string().contains("apt-get install"));
}

#[test]
fn without_any_the_remedy_is_named() {
    let remedy = QemuError::Absent.to_string();
    assert!(
        remedy.contains("apt-get install qemu-system-x86"),
        "{remedy}"
    );
    assert!(remedy.contains("make setup-guests"), "{remedy}");
}

/// Those of this host start, and `find` takes the first of them.
#[test]
fn those_of_this_host_start() {
    let _alone = alone();
    let cache = Cache::open(&Cache::locate()).ok();
    let found = Qemu::find_all(cache.as_ref());
    match Qemu::find(cache.as_ref()) {
        Ok(qemu) => assert_eq!(Some(&qemu), found.first()),
        Err(error @ QemuError::Absent) => testing::skipped(error),
        Err(error) => panic!("{error}"),
    }
    assert!(found.iter().all(|qemu| qemu.program.is_absolute()));
    for cached in cache.iter().flat_map(|cache| cache.qemus()) {
        let qemu = found.iter().find(|qemu| qemu.program == cached.program);
        let (major, minor, micro) = qemu.expect("the cache's QEMU starts").version;
        assert_eq!(format!("{major}.{minor}.{micro}"), cached.version);
    }
}
