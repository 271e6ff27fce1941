//! Limits hold, for processes and for the kernel's threads.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::{OTHER_ADDRESS, Pair};
use lockgate_net::{Cgroup, CgroupError, Entry, Journal, Limits, Tag, napi};
use sys::packet::{Batch, PacketSocket};
use testing::is_root;

/// A process that ends with its test and its children: otherwise they would keep a
/// CPU busy, and the tests' output open.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        for pid in child(&self.0) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn shell(script: &str) -> Shell {
    let mut command = Command::new("timeout");
    command.args(["60", "sh", "-c", script]);
    command.stdout(Stdio::piped());
    Shell(sys::process::spawn_dying_with_us(command).unwrap())
}

fn child(of: &Child) -> Vec<i32> {
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", of.id()));
    let children = children.unwrap_or_default();
    children
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn cpus(cpus: f64) -> Limits {
    Limits {
        cpus: Some(cpus),
        ..Limits::default()
    }
}

/// `None`, with the reason, where the host has no such controller.
fn create(journal: &Journal, limits: &Limits) -> Option<Cgroup> {
    let name = Tag::fresh().name("limits").unwrap();
    match Cgroup::create(journal, &name, limits) {
        Err(error @ CgroupError::Missing { .. }) => {
            testing::skipped(error);
            None
        }
        made => Some(made.unwrap()),
    }
}

#[test]
fn a_busy_process_is_throttled_and_free_without_its_group() {
    testing::timed_as_root(|| {
        let journal = Journal::open().unwrap();
        let limits = cpus(0.1);
        let Some(mut group) = create(&journal, &limits) else {
            return;
        };
        let mut busy = shell("while :; do :; done");
        group.add(busy.0.id().cast_signed()).unwrap();
        // It may have its child already.
        let members = group.members().unwrap();
        assert!(members.contains(&busy.0.id().cast_signed()), "{members:?}");
        // The shell was started before the group had it: its child is not inside.
        for pid in child(&busy.0) {
            group.add(pid).unwrap();
        }
        testing::until(|| group.throttling().unwrap(), |now| now.throttled > 0);
        drop(group);
        assert_eq!(journal.entries(), []);
        assert!(busy.0.try_wait().unwrap().is_none(), "it goes on");
    });
}

#[test]
fn only_the_cpus_of_the_set_are_used() {
    testing::timed_as_root(|| {
        let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
        let journal = Journal::open().unwrap();
        let limits = Limits {
            cpu_set: Some(vec![cpu]),
            ..Limits::default()
        };
        let Some(mut group) = create(&journal, &limits) else {
            return;
        };
        let process = shell("exec sleep 50");
        group.add(process.0.id().cast_signed()).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.0.id())).unwrap();
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert_eq!(allowed.unwrap().trim(), cpu.to_string());
        drop(group);
    });
}

#[test]
fn memory_and_processes_are_limited() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    for limits in [
        Limits {
            memory_bytes: Some(64 << 20),
            ..Limits::default()
        },
        Limits {
            processes: Some(3),
            ..Limits::default()
        },
    ] {
        let Some(mut group) = create(&journal, &limits) else {
            continue;
        };
        let process = shell("exec sleep 50");
        group.add(process.0.id().cast_signed()).unwrap();
        assert!(!group.members().unwrap().is_empty());
        drop(group);
    }
}

#[test]
fn a_napi_thread_moves_in_and_survives_its_group() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        let (mut netlink, mut found) = pair.threaded(1);
        let thread = found.remove(0);
        let limits = cpus(0.5);
        let Some(mut group) = create(&pair.journal, &limits) else {
            return;
        };
        group.add(thread.pid).unwrap();
        assert_eq!(group.members().unwrap(), [thread.pid]);
        drop(group);
        assert_eq!(napi::threads_now(&mut netlink, &pair.other_link), [thread]);
    });
}

/// The tree of limits of CPU time, where it is a tree of version 1.
fn cpu_tree() -> Option<PathBuf> {
    let trees = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
    let tree = trees
        .map(PathBuf::from)
        .into_iter()
        .find(|tree| tree.join("tasks").exists());
    if tree.is_none() {
        testing::skipped("no cpu controller of version 1");
    }
    tree
}

fn place(task: i32) -> String {
    let groups = std::fs::read_to_string(format!("/proc/{task}/cgroup")).unwrap();
    let line = groups.lines().find(|line| {
        let controllers = line.split(':').nth(1).unwrap();
        controllers.split(',').any(|name| name == "cpu")
    });
    line.unwrap().splitn(3, ':').nth(2).unwrap().to_owned()
}

/// A group of another program, with this task inside; removed at the end.
struct Theirs(PathBuf);

impl Theirs {
    fn with(tree: &Path, door: &str, task: i32) -> Self {
        let path = tree.join(Tag::fresh().name("theirs").unwrap());
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join(door), task.to_string()).unwrap();
        Self(path)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        Entry::Cgroup {
            path: self.0.clone(),
        }
        .undo()
        .unwrap();
    }
}

#[test]
fn a_process_goes_back_to_where_it_was_and_goes_on() {
    if !is_root() {
        return;
    }
    let Some(tree) = cpu_tree() else { return };
    let journal = Journal::open().unwrap();
    let mut process = shell("exec sleep 50");
    let pid = process.0.id().cast_signed();
    let theirs = Theirs::with(&tree, "cgroup.procs", pid);
    let before = place(pid);
    // Twice, as when a limit is changed.
    for _ in 0..2 {
        let mut group = create(&journal, &cpus(1000.0)).unwrap();
        group.add(pid).unwrap();
        assert!(place(pid).ends_with(group.name()), "{}", place(pid));
        drop(group);
        assert_eq!(place(pid), before);
    }
    assert!(process.0.try_wait().unwrap().is_none(), "it was killed");
    drop(theirs);
}

const MOVED: &str = "LOCKGATE_TEST_MOVED";

/// In a process of its own: what is started from a group, by any thread, is
/// inside, and killed with the group.
#[test]
fn a_thread_of_ours_goes_back_alone() {
    if !is_root() || cpu_tree().is_none() {
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cgroup::moved", "--nocapture"])
        .env(MOVED, "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Not a test of its own: what the one above starts.
#[test]
fn moved() {
    let Some(tree) = std::env::var_os(MOVED).and_then(|_| cpu_tree()) else {
        return;
    };
    let journal = Journal::open().unwrap();
    let (stop, wait) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = tell.send(rustix::thread::gettid().as_raw_nonzero().get());
        let _ = wait.recv();
    });
    let number = told.recv().unwrap();
    let own = std::process::id().cast_signed();
    // The process is not in the root group, its thread is.
    let theirs = Theirs::with(&tree, "tasks", own);
    let (home, thread_home) = (place(own), place(number));
    assert_ne!(home, thread_home);
    for is_swept in [false, true] {
        let mut group = create(&journal, &cpus(1000.0)).unwrap();
        group.add_thread(number).unwrap();
        assert!(place(number).ends_with(group.name()));
        if is_swept {
            let path = tree.join(group.name());
            Entry::Cgroup { path }.undo().unwrap();
        } else {
            drop(group);
        }
        assert_eq!(place(number), thread_home, "swept: {is_swept}");
        assert_eq!(place(own), home, "the process stayed; swept: {is_swept}");
    }
    drop((theirs, stop));
    thread.join().unwrap();
    assert_eq!(journal.entries(), []);
}

/// Sends frames that the other end drops, until it is stopped.
fn flood(pair: &Pair, stop: &AtomicBool) {
    let index = pair.one.netlink().unwrap();
    let index = { index }.link(&pair.one_link).unwrap().index;
    let socket = pair.one.run(|| PacketSocket::open(index)).unwrap().unwrap();
    let mut frame = OTHER_ADDRESS.to_vec();
    frame.extend([2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    frame.resize(60, 0);
    let mut batch = Batch::new(64);
    while !stop.load(Ordering::Relaxed) {
        while batch.push(&frame) {}
        // A full ring is no error here.
        let _ = socket.send(&mut batch);
        batch.clear();
    }
}

fn used(thread: &napi::NapiThread) -> f64 {
    let (begun, before) = (Instant::now(), thread.cpu_ns().unwrap());
    std::thread::sleep(Duration::from_secs(1));
    let used = thread.cpu_ns().unwrap() - before;
    used as f64 / begun.elapsed().as_nanos() as f64
}

#[test]
fn a_limit_binds_the_kernels_threads() {
    testing::timed(|| {
        let Some(pair) = Pair::up(1) else { return };
        // Else only TCP comes by NAPI.
        let off = [
            ("tx-tcp-segmentation", false),
            ("tx-tcp-ecn-segmentation", false),
            ("tx-tcp-mangleid-segmentation", false),
            ("tx-tcp6-segmentation", false),
        ];
        let mut netlink = pair.one.netlink().unwrap();
        netlink.set_offloads(&pair.one_link, &off).unwrap();
        let (_, mut found) = pair.threaded(1);
        let thread = found.remove(0);
        let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
        thread.pin(&[cpu]).unwrap();
        // It has much to do, also where others are busy.
        let urgent = rustix::process::Pid::from_raw(thread.pid);
        rustix::process::setpriority_process(urgent, -20).unwrap();
        let limits = cpus(0.1);
        let Some(mut group) = create(&pair.journal, &limits) else {
            return;
        };
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| flood(&pair, &stop));
            let free = used(&thread);
            let added = group.add(thread.pid);
            let bound = added.is_ok().then(|| used(&thread));
            drop(group);
            let after = used(&thread);
            stop.store(true, Ordering::Relaxed);
            match added {
                Err(error @ (CgroupError::KernelThreads | CgroupError::RealTimeShare { .. })) => {
                    testing::skipped(error);
                }
                added => added.unwrap(),
            }
            println!("CPUs used: {free:.3}, limited {bound:?}, after it {after:.3}");
            // A tick of the kernel's (10 ms at most) may be more than its share.
            assert!(bound.is_none_or(|bound| bound < 0.1 + 0.02), "{bound:?}");
        });
        assert!(!sys::schedule::is_in_real_time(thread.pid).unwrap());
    });
}

#[test]
fn names_and_processes_that_are_not_there_are_errors() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let limits = cpus(1.0);
    assert!(matches!(
        Cgroup::create(&journal, "../lockgate-x", &limits),
        Err(CgroupError::Name { .. })
    ));
    let Some(mut group) = create(&journal, &limits) else {
        return;
    };
    assert!(group.add(i32::MAX).is_err());
    let again = Cgroup::create(&journal, group.name(), &limits).unwrap_err();
    let source = again.source().expect("why").to_string();
    let own = format!("is held by the process {}", std::process::id());
    assert!(source.contains(&own), "{source}");
    assert!(!group.name().is_empty() && group.members().unwrap().is_empty());
}
