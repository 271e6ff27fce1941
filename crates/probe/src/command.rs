//! Running a program that prints a version or a setting.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that takes longer is ended.
const TIME_MAX: Duration = Duration::from_secs(2);
/// As much of its output is read.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
const POLL: Duration = Duration::from_millis(2);
/// Administration tools live here; a user's PATH often leaves them out.
const EXTRA_DIRS: [&str; 5] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it says whether the program ended well"]
pub enum Outcome {
    /// It succeeded; its standard output.
    Printed(String),
    /// It is not installed.
    Missing,
    /// Another user may have put it there: why and the remedy, apart by `; `.
    Refused(String),
    /// It failed (what it printed first), could not start or took more than
    /// two seconds.
    Failed(String),
}

impl Outcome {
    /// The output, if it succeeded.
    pub fn printed(self) -> Option<String> {
        match self {
            Self::Printed(text) => Some(text),
            Self::Missing | Self::Refused(_) | Self::Failed(_) => None,
        }
    }
}

/// Runs `program` found on PATH or among the usual directories.
pub fn run(program: &str, arguments: &[&str]) -> Outcome {
    run_with(program, arguments, &[], TIME_MAX)
}

/// Whether it is installed.
pub fn is_there(program: &str) -> bool {
    matches!(sys::program::find(program, &EXTRA_DIRS), Ok(Some(_)))
}

/// As [`run`], with folders named in its environment and another time limit.
pub fn run_with(
    program: &str,
    arguments: &[&str],
    folders: &[(&str, &Path)],
    time_max: Duration,
) -> Outcome {
    let path = match sys::program::find(program, &EXTRA_DIRS) {
        Ok(Some(path)) => path,
        Ok(None) => return Outcome::Missing,
        Err(untrusted) => return Outcome::Refused(untrusted.to_string()),
    };
    let mut command = Command::new(path);
    if let Err(error) = sys::program::vet(&mut command) {
        return Outcome::Refused(error.to_string());
    }
    // Not by the thread that starts others: a child has its starter's CPU.
    let child = command
        .args(arguments)
        .env("LC_ALL", "C")
        .envs(folders.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    child
        .ok()
        .and_then(|child| finish(child, time_max))
        .unwrap_or(Outcome::Failed(String::new()))
}

/// The outcome of a child that ends in time. A thread drains the pipe, so
/// that a long output cannot block the child; it is not joined when the time
/// is up, since a grandchild may hold the pipe open.
fn finish(mut child: Child, time_max: Duration) -> Option<Outcome> {
    let pipe = child.stdout.take()?;
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
        // The receiver may have given up: then the output is not read.
        let _ = sender.send(read.map(|_| bytes));
    });
    let deadline = Instant::now() + time_max;
    let ended_well = wait(&mut child, deadline);
    let left = deadline.saturating_duration_since(Instant::now());
    let bytes = receiver.recv_timeout(left).ok()?.ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(match ended_well {
        true => Outcome::Printed(text),
        false => Outcome::Failed(text),
    })
}

fn wait(child: &mut Child, deadline: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
            Ok(None) | Err(_) => {
                // Either may fail because the child has just ended.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_failure_absence_and_time_limit() {
        assert_eq!(
            run("echo", &["hello"]),
            Outcome::Printed("hello\n".to_owned())
        );
        assert_eq!(run("false", &[]), Outcome::Failed(String::new()));
        assert_eq!(run("no-such-program-anywhere", &[]), Outcome::Missing);
        let started = Instant::now();
        assert_eq!(run("sleep", &["60"]), Outcome::Failed(String::new()));
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "ended by its time limit"
        );
    }

    #[test]
    fn a_long_output_does_not_block() {
        let Outcome::Printed(text) = run("seq", &["100000"]) else {
            panic!("seq failed")
        };
        assert!(text.ends_with("100000\n"));
    }
}
