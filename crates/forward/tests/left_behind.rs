//! In a process of its own: any journal that is opened sweeps what this test plants.
//!
//! What a killed process leaves of its containers, namespaces, control groups and
//! folders ends by itself, or is swept by the next.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::time::Duration;

use lockgate_forward::bench::{Bench, BenchError, Setup};
use lockgate_forward::home::Kind;
use lockgate_forward::router::path;
use testing::Again;

const CHILD: &str = "LOCKGATE_TEST_CHILD";
const PATIENCE: Duration = Duration::from_secs(30);

/// What is killed: a router of each kind that has processes of its own.
const CASES: [(&str, Kind, path::Path); 3] = [
    ("lxc", Kind::Lxc, path::Path::Kernel),
    ("runc", Kind::Runc, path::Path::Kernel),
    ("testpmd", Kind::Namespace, path::Path::Testpmd),
];

#[test]
fn child() {
    let Some(name) = std::env::var_os(CHILD) else {
        return;
    };
    let case = CASES.into_iter().find(|(own, ..)| name == *own);
    let (_, home, path) = case.unwrap();
    let setup = Setup {
        home,
        path,
        cpu_limit: Some(0.5),
        ..Setup::of_host().unwrap()
    };
    match Bench::start(&setup) {
        Err(error @ BenchError::NotSupported { .. }) => testing::skipped(error),
        bench => {
            // Of the container, or without an owner.
            println!("ready {}", bench.unwrap().container().unwrap_or(0));
            std::thread::sleep(PATIENCE);
        }
    }
}

#[test]
fn a_killed_process_leaves_nothing() {
    testing::timed_as_root(|| {
        for (name, ..) in CASES {
            let mut child = Again::start("child", CHILD, name);
            let number = child.id();
            let container = child.lines().find_map(|line| {
                if line.starts_with("skipped") {
                    testing::left_out(&line);
                }
                let (_, number) = line.split_once("ready ")?;
                number.trim().parse::<u32>().ok()
            });
            // Looked at while it lives: afterwards another test's sweep may have
            // been here.
            let is_there = !leftovers(number).is_empty();
            child.kill();
            if let Some(container) = container {
                assert!(is_there, "{name}: nothing was there to be left");
                let is_gone = || container == 0 || has_ended(container);
                testing::until(is_gone, |is_gone| *is_gone);
            }
            // Another test's sweep may be under way: then it is its work.
            net::journal::sweep().unwrap();
            testing::until(|| (name, leftovers(number)), |(_, left)| left.is_empty());
        }
    });
}

/// Gone, or dead and not yet waited for by its new parent.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// What is named after a process, wherever routers have something.
fn leftovers(process: u32) -> Vec<String> {
    // A tag begins with its process, five digits of base 36.
    let tags = ["lockgate-", "lg"].map(|start| format!("{start}{}", base_36(process)));
    let mut found = Vec::new();
    let folders = ["/run/netns", "/run/lockgate", "/run/dpdk", "/sys/fs/cgroup"];
    for folder in folders {
        look(Path::new(folder), &tags, 1, &mut found);
    }
    found
}

fn look(folder: &Path, tags: &[String], depth: u8, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if tags.iter().any(|tag| name.contains(tag)) {
            found.push(entry.path().display().to_string());
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&entry.path(), tags, depth - 1, found);
        }
    }
}

fn base_36(mut value: u32) -> String {
    let mut digits = [b'0'; 5];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(value % 36) as usize];
        value /= 36;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}
