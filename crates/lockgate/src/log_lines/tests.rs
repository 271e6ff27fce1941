use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write, pipe};
use std::os::fd::AsFd;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::line_limit::BURST;
use super::*;

/// As a front-end that comes and goes.
fn flood(lines: &LogLines) {
    for _ in 0..100_000 {
        lines.tell("vm1", "a guest connects", || {
            "vm1: a guest\n\u{202e}connects".into()
        });
    }
}

fn read(from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || io::read_to_string(from).unwrap())
}

#[test]
fn a_flood_is_a_bounded_number_of_lines_and_the_rest_is_counted() {
    let (from, to) = pipe().unwrap();
    let reader = read(from);
    let lines = LogLines::start(to).unwrap();
    flood(&lines);
    lines.say("serving\nstill");
    lines.end();
    drop(lines);
    let text = reader.join().unwrap();
    let count = text.matches("vm1: a guest connects").count();
    // On a host that stands still the flood takes longer than a second.
    assert!(count >= BURST as usize && count <= 1000, "{count}");
    let numbers = text.split(|letter: char| !letter.is_ascii_digit());
    let told: usize = numbers.filter_map(|one| one.parse::<usize>().ok()).sum();
    // The name has a number, too.
    assert_eq!(told, 100_000 - count + count, "{text}");
    assert!(text.contains("serving\nstill\n"));
}

/// A pipe that takes nothing more.
fn full() -> (PipeReader, std::io::PipeWriter) {
    let (from, mut to) = pipe().unwrap();
    let flags = fcntl_getfl(&to).unwrap();
    fcntl_setfl(&to, flags | OFlags::NONBLOCK).unwrap();
    while to.write(&[b'.'; 4096]).is_ok() {}
    fcntl_setfl(&to, flags).unwrap();
    (from, to)
}

#[test]
fn a_full_pipe_that_nobody_reads_holds_nobody_up() {
    for is_nonblocking in [false, true] {
        let (from, to) = full();
        if is_nonblocking {
            let flags = fcntl_getfl(&to).unwrap();
            fcntl_setfl(&to, flags | OFlags::NONBLOCK).unwrap();
        }
        let lines = LogLines::start(to.try_clone().unwrap()).unwrap();
        // Bounded: this returns at all.
        flood(&lines);
        for _ in 0..50 {
            lines.say(&"x".repeat(100_000));
        }
        // Whoever waited once in vain does not wait again.
        assert!(lines.state().is_stuck);
        // When somebody reads, lines come again, and say what is missing.
        drop(to);
        let reader = read(from);
        let is_done = || {
            let state = lines.state();
            !state.is_stuck && state.put == state.ended
        };
        testing::until(is_done, |done| *done);
        lines.say("read again");
        lines.end();
        drop(lines);
        let text = reader.join().unwrap();
        assert!(text.contains("read again"), "{is_nonblocking}");
        assert!(text.contains("lines before it were left out)"));
    }
}

#[test]
fn a_closed_pipe_and_a_full_disk_cost_lines_only() {
    let (from, to) = pipe().unwrap();
    drop(from);
    let closed = LogLines::start(to).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let full = LogLines::start(full).unwrap();
    for lines in [closed, full] {
        flood(&lines);
        lines.say("one");
        let mut state = lines.state();
        assert!(!state.is_stuck && state.ended == state.put);
        assert!(state.queue.take_lost() > BURST);
        drop(state);
        lines.end();
    }
}

#[test]
fn what_is_said_is_written_when_it_returns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let lines = LogLines::start(File::create(&path).unwrap()).unwrap();
    for number in 0..100 {
        lines.say(&format!("line {number}"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(&format!("line {number}\n")));
    }
    lines.end();
}

#[test]
fn output_waits_for_a_reader_also_where_the_file_does_not() {
    let (from, to) = full();
    let flags = fcntl_getfl(&to).unwrap();
    fcntl_setfl(&to, flags | OFlags::NONBLOCK).unwrap();
    let reader = read(from);
    let bytes = vec![b'x'; 1 << 20];
    write_all(to.as_fd(), &bytes, None).unwrap();
    drop(to);
    assert!(reader.join().unwrap().ends_with(&"x".repeat(1 << 20)));
}
