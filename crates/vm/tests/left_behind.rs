//! In a process of its own: it counts the process's children, threads and descriptors.
//!
//! Whatever dies, nothing of a guest stays: no process, no zombie, no
//! descriptor, no file. One guest at a time, since all of these are counted.

#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lockgate_vm::{BootError, Guest, GuestError, Run};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use common::{Lab, printed, small};

const PATIENCE: Duration = Duration::from_secs(60);

/// Set in the process that owns a guest and is killed.
const OWNER: &str = "LOCKGATE_TEST_OWNS_A_GUEST";

/// What this process has, and what lies where a guest could leave something.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    children: Vec<u32>,
    descriptors: BTreeSet<String>,
    threads: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
}

impl Traces {
    fn now(lab: &Lab) -> Self {
        let mut files = BTreeSet::new();
        for folder in [Path::new("."), lab.cache.folder()] {
            list(folder, &mut files);
        }
        Self {
            children: children(),
            descriptors: links("/proc/self/fd"),
            threads: threads(),
            files,
        }
    }

    fn assert_still(&self, lab: &Lab) {
        let started = Instant::now();
        // What the starting thread held for the child goes a moment later.
        while Self::now(lab) != *self && started.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(Self::now(lab), *self);
    }
}

fn list(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        files.insert(entry.path());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(&entry.path(), files);
        }
    }
}

fn links(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let link = |path: PathBuf| {
        let target = fs::read_link(&path).ok()?;
        Some(format!("{} -> {}", path.display(), target.display()))
    };
    let own = format!("/proc/{}/fd", std::process::id());
    entries
        .filter_map(|entry| link(entry.path()))
        // The one by which this folder is read.
        .filter(|link| !link.ends_with(&own))
        .collect()
}

fn threads() -> BTreeSet<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("lockgate-"))
        .collect()
}

/// Children, dead or alive: parent is the second field behind the name.
fn children() -> Vec<u32> {
    let me = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        if fields.split(' ').nth(1) == Some(&me) {
            found.extend(entry.file_name().to_string_lossy().parse::<u32>());
        }
    }
    found
}

/// Boots one guest, so that what is made once is there.
fn warmed_up(lab: &Lab) -> Traces {
    lab.boot(&small()).shutdown().unwrap();
    thread::sleep(Duration::from_millis(100));
    Traces::now(lab)
}

/// Numbers that look random and are the same each time (splitmix64).
fn random(seed: u64) -> u64 {
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Kills this process's only child, once there is one, after `delay`.
fn kill_child(delay: Duration) {
    let started = Instant::now();
    let child = loop {
        if let [child] = children()[..] {
            break child;
        }
        assert!(started.elapsed() < PATIENCE, "no QEMU was started");
        thread::sleep(Duration::from_millis(1));
    };
    let pid = Pid::from_raw(child.cast_signed()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    thread::sleep(delay);
    let _ = pidfd_send_signal(handle, Signal::KILL);
}

fn live(lab: &Lab, image: &[u8]) -> GuestError {
    let mut guest = match Guest::boot(lab.qemu(), lab.kernel(), image, &small()) {
        Ok(guest) => guest,
        Err(BootError::Guest(error)) => return error,
        Err(error) => panic!("{error}"),
    };
    loop {
        if let Err(error) = guest.run(&Run::new("sleep 0.1; seq 1 1000")) {
            return error;
        }
    }
}

#[test]
fn random_kills_of_qemu_leave_nothing() {
    testing::alone(|| {
        let Some(lab) = Lab::find() else { return };
        let (times, delay_ms_max) = match testing::is_thorough() {
            true => (100, 6000),
            false => (2, 4000),
        };
        let image = lab.image();
        let before = warmed_up(&lab);
        for time in 0..times {
            let delay = Duration::from_millis(random(time) % delay_ms_max);
            let killer = thread::spawn(move || kill_child(delay));
            let started = Instant::now();
            let error = live(&lab, &image);
            killer.join().unwrap();
            testing::assert_matches!(
                error,
                GuestError::Died { status, .. } if status.to_string().contains("SIGKILL"),
                "kill {time} after {delay:?}"
            );
            println!(
                "kill {time} after {delay:?}: all over in {:?}",
                started.elapsed()
            );
            before.assert_still(&lab);
        }
    });
}

#[test]
fn ends_of_every_kind_leave_nothing() {
    testing::alone(|| {
        let Some(lab) = Lab::find() else { return };
        let before = warmed_up(&lab);
        let mut guest = lab.boot(&small());
        has_no_names(&lab, guest.process_id());
        let panic = Run::new("echo c >/proc/sysrq-trigger; sleep 1000");
        testing::assert_matches!(guest.run(&panic), Err(GuestError::Panicked { .. }));
        drop(guest);
        before.assert_still(&lab);
        let mut guest = lab.boot(&small());
        assert_eq!(printed(&mut guest, "echo up"), "up");
        drop(guest);
        before.assert_still(&lab);
        let early = Duration::from_millis(100);
        Guest::boot_within(early, lab.qemu(), lab.kernel(), &lab.image(), &small()).unwrap_err();
        before.assert_still(&lab);
    });
}

/// All that QEMU can write to has no name on any disk; nor will a core file.
fn has_no_names(lab: &Lab, qemu: u32) {
    for link in links(&format!("/proc/{qemu}/fd")) {
        let target = link.split(" -> ").nth(1).unwrap();
        let is_nameless = ["/memfd:", "socket:", "pipe:", "anon_inode:", "/dev/null"];
        let may_be = is_nameless.iter().any(|start| target.starts_with(start));
        assert!(may_be || target.ends_with(" (deleted)"), "{link}");
        assert!(!target.starts_with(lab.cache.folder().to_str().unwrap()));
    }
    let limits = fs::read_to_string(format!("/proc/{qemu}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file"));
    let words: Vec<&str> = core.unwrap().split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{core:?}");
}

/// A file that code without `O_CLOEXEC` opened, as one of this process's libraries may.
struct Stray {
    file: tempfile::NamedTempFile,
    /// Beyond the numbers that QEMU's own take.
    _high: std::os::fd::OwnedFd,
}

impl Stray {
    fn open() -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        let high = rustix::io::fcntl_dupfd_cloexec(&file, 100).unwrap();
        rustix::io::fcntl_setfd(&high, rustix::io::FdFlags::empty()).unwrap();
        Self { file, _high: high }
    }

    fn is_with(&self, process: u32) -> bool {
        let path = self.file.path().to_str().unwrap();
        let links = fs::read_dir(format!("/proc/{process}/fd"));
        let mut links = links.into_iter().flatten().flatten();
        links.any(|link| fs::read_link(link.path()).is_ok_and(|to| to.ends_with(path)))
    }
}

#[test]
fn no_file_of_ours_is_passed_on_to_a_guest() {
    testing::alone(|| {
        let Some(lab) = Lab::find() else { return };
        let stray = Stray::open();
        // It is one that a program inherits.
        let mut heir = Command::new("sleep").arg("60").spawn().unwrap();
        testing::certainly!(stray.is_with(heir.id()));
        heir.kill().unwrap();
        heir.wait().unwrap();
        let mut guest = lab.boot(&small());
        testing::certainly!(!stray.is_with(guest.process_id()));
        // What it was given on purpose is there.
        assert_eq!(printed(&mut guest, "echo up"), "up");
        drop(guest);
        // Nor to a QEMU that is only asked.
        let ended = std::sync::atomic::AtomicBool::new(false);
        let load = std::sync::atomic::Ordering::SeqCst;
        let is_qemu = |process: &u32| {
            let program = fs::read_link(format!("/proc/{process}/exe"));
            program.is_ok_and(|program| program == lab.qemu().program.canonicalize().unwrap())
        };
        thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let models = lab.qemu().cpu_models(cpu::guest::Accelerator::Tcg);
                ended.store(true, load);
                models.map(drop)
            });
            let mut looks = 0;
            while !ended.load(load) {
                for qemu in children().into_iter().filter(is_qemu) {
                    looks += 1;
                    testing::certainly!(!stray.is_with(qemu));
                }
            }
            asking.join().unwrap().unwrap();
            assert!(looks > 0, "nobody was seen");
        });
    });
}

#[test]
fn owner() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let lab = Lab::find().expect("the parent has it");
    let guest = lab.boot(&small());
    println!("\nqemu={}", guest.process_id());
    thread::sleep(PATIENCE);
}

#[test]
fn the_death_of_the_owner_ends_qemu() {
    testing::alone(|| {
        let Some(_) = Lab::find() else { return };
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "owner", "--nocapture"])
            .env(OWNER, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
        let qemu: i32 = lines
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("qemu=")?.parse().ok())
            .expect("the owner says its QEMU");
        let handle = pidfd_open(Pid::from_raw(qemu).unwrap(), PidfdFlags::empty()).unwrap();
        owner.kill().unwrap();
        owner.wait().unwrap();
        let mut ended = [rustix::event::PollFd::new(
            &handle,
            rustix::event::PollFlags::IN,
        )];
        let limit = rustix::event::Timespec {
            tv_sec: PATIENCE.as_secs().cast_signed(),
            tv_nsec: 0,
        };
        assert_eq!(rustix::event::poll(&mut ended, Some(&limit)), Ok(1));
    });
}
