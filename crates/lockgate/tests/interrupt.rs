//! Ctrl-C, SIGTERM and SIGHUP on a real process that measures.
#![cfg(unix)]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Desk, PATIENCE, with_default_signals, words};
use trial::{Run, SectionState};

/// A measurement of many short rounds that is interrupted.
const LONG: &str = "speed --algorithm sha256 --size 64 --mode sync --seconds 0.02 --pairs 900 \
    --no-peers --budget 1h";

const ROUND: Duration = Duration::from_secs(2);

/// The child is ours to end, also when a test fails.
struct Measuring(Child);

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Measuring {
    fn start(desk: &Desk) -> Self {
        let mut command = desk.command();
        command.args(words(LONG));
        let child = with_default_signals(&command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn wait_until_begun(&mut self, desk: &Desk) {
        wait_until("the run is stored", || {
            let ended = self.0.try_wait().unwrap();
            assert_eq!(ended, None, "it measures until it is told to stop");
            stored(desk).is_some()
        });
    }

    fn signal(&self, name: &str) {
        // The shell's own: `kill` as a program is in a package of its own.
        let sent = Command::new("sh")
            .args(["-c", &format!("kill {name} {}", self.0.id())])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    fn code(&mut self) -> Option<i32> {
        let mut code = None;
        wait_until("the process ends", || {
            code = self.0.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        sleep(Duration::from_millis(20));
    }
}

/// The run as it is stored now: whole at any moment, or not there yet.
fn stored(desk: &Desk) -> Option<Run> {
    let text = fs::read_to_string(desk.runs().first()?.join("result.json")).ok()?;
    Some(Run::read(&text).expect("what is stored is whole at any moment"))
}

fn measured(desk: &Desk) -> usize {
    stored(desk).map_or(0, |run| {
        run.sections
            .iter()
            .map(|section| section.points.len())
            .sum()
    })
}

#[track_caller]
fn ends_with_what_was_measured(signal: &str) {
    let desk = Desk::new();
    let mut measuring = Measuring::start(&desk);
    measuring.wait_until_begun(&desk);
    sleep(ROUND);
    measuring.signal(signal);
    assert_eq!(measuring.code(), Some(130), "{signal}");
    let run = stored(&desk).unwrap();
    assert!(run.interrupted);
    assert!(
        matches!(run.sections[0].state, SectionState::Partial { .. }),
        "{:?}",
        run.sections[0].state
    );
    assert!(measured(&desk) > 0);
    assert!(desk.runs()[0].join("report.html").is_file());
    assert!(!desk.lockgate(&["report", "latest"]).ok().stdout.is_empty());
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    testing::timed(|| {
        ends_with_what_was_measured("-INT");
    });
}

#[test]
fn sigterm_keeps_what_was_measured() {
    testing::timed(|| {
        ends_with_what_was_measured("-TERM");
    });
}

#[test]
fn sighup_keeps_what_was_measured() {
    testing::timed(|| {
        ends_with_what_was_measured("-HUP");
    });
}

/// The second signal does not wait for the section to end.
#[test]
fn a_second_ctrl_c_ends_at_once() {
    testing::timed(|| {
        let desk = Desk::new();
        let mut measuring = Measuring::start(&desk);
        measuring.wait_until_begun(&desk);
        measuring.signal("-INT");
        measuring.signal("-INT");
        assert_eq!(measuring.code(), Some(130));
        assert!(stored(&desk).is_some());
    });
}
