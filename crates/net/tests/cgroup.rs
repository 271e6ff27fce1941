//! Limits hold, for processes and for the kernel's threads.

#![allow(clippy::unwrap_used, reason = "a test may end so")]

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Pair, is_root};
use lockgate_net::{Cgroup, CgroupError, Journal, Limits, Tag, napi};

fn shell(script: &str) -> Child {
    let mut command = Command::new("timeout");
    command.args(["60", "sh", "-c", script]);
    command.stdout(Stdio::piped());
    sys::process::spawn_dying_with_us(command).unwrap()
}

/// `None`, with the reason, where the host has no such controller.
fn create(journal: &Journal, limits: &Limits) -> Option<Cgroup> {
    let name = Tag::fresh().name("limits").unwrap();
    match Cgroup::create(journal, &name, limits) {
        Err(error @ CgroupError::Missing { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        made => Some(made.unwrap()),
    }
}

#[test]
fn a_busy_process_is_throttled_and_gone_with_its_group() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let limits = Limits {
        cpus: Some(0.1),
        ..Limits::default()
    };
    let Some(group) = create(&journal, &limits) else {
        return;
    };
    let mut busy = shell("while :; do :; done");
    group.add(busy.id().cast_signed()).unwrap();
    assert_eq!(group.members().unwrap(), [busy.id().cast_signed()]);
    let deadline = Instant::now() + Duration::from_secs(30);
    // The shell was started before the group had it: its child is not inside.
    let child = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", busy.id()));
    for pid in child.unwrap_or_default().split_whitespace() {
        group.add(pid.parse().unwrap()).unwrap();
    }
    while group.throttling().unwrap().throttled == 0 {
        assert!(
            Instant::now() < deadline,
            "never throttled: {:?}",
            group.throttling()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(group);
    assert_eq!(journal.entries(), []);
    assert!(!busy.wait().unwrap().success(), "it was killed");
}

#[test]
fn only_the_cpus_of_the_set_are_used() {
    if !is_root() {
        return;
    }
    let cpu = *sys::affinity::allowed_cpus().unwrap().last().unwrap();
    let journal = Journal::open().unwrap();
    let limits = Limits {
        cpu_set: Some(vec![cpu]),
        ..Limits::default()
    };
    let Some(group) = create(&journal, &limits) else {
        return;
    };
    let mut process = shell("sleep 50");
    group.add(process.id().cast_signed()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let allowed = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"))
        .unwrap();
    assert_eq!(allowed.split_whitespace().last().unwrap(), cpu.to_string());
    drop(group);
    process.wait().unwrap();
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
        let Some(group) = create(&journal, &limits) else {
            continue;
        };
        let mut process = shell("sleep 50");
        group.add(process.id().cast_signed()).unwrap();
        assert!(!group.members().unwrap().is_empty());
        drop(group);
        process.wait().unwrap();
    }
}

#[test]
fn a_napi_thread_moves_in_and_survives_its_group() {
    if !is_root() {
        return;
    }
    let pair = Pair::up(1);
    let mut netlink = pair.other.netlink().unwrap();
    netlink
        .set_offloads(&pair.other_link, &[("rx-gro", true)])
        .unwrap();
    napi::set_threaded(&pair.other, &pair.other_link, true).unwrap();
    let thread = napi::threads(&pair.other_link, 1).unwrap().remove(0);
    let limits = Limits {
        cpus: Some(0.5),
        ..Limits::default()
    };
    let Some(group) = create(&pair.journal, &limits) else {
        return;
    };
    group.add(thread.pid).unwrap();
    assert_eq!(group.members().unwrap(), [thread.pid]);
    drop(group);
    assert_eq!(napi::threads_now(&pair.other_link), [thread]);
}

#[test]
fn we_are_moved_out_and_not_killed() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let limits = Limits {
        cpus: Some(1000.0),
        ..Limits::default()
    };
    let Some(group) = create(&journal, &limits) else {
        return;
    };
    group.add(std::process::id().cast_signed()).unwrap();
    drop(group);
    assert_eq!(journal.entries(), []);
}

#[test]
fn names_and_processes_that_are_not_there_are_errors() {
    if !is_root() {
        return;
    }
    let journal = Journal::open().unwrap();
    let limits = Limits {
        cpus: Some(1.0),
        ..Limits::default()
    };
    assert!(matches!(
        Cgroup::create(&journal, "../lockgate-x", &limits),
        Err(CgroupError::Name { .. })
    ));
    let Some(group) = create(&journal, &limits) else {
        return;
    };
    assert!(group.add(i32::MAX).is_err());
    let again = Cgroup::create(&journal, group.name(), &limits).unwrap_err();
    assert!(
        again.to_string().contains("make the control group"),
        "{again}"
    );
    assert!(!group.name().is_empty() && group.members().unwrap().is_empty());
}
