//! A second process of the same test program, to be killed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// This test program, running one of its tests: what a process does that is killed.
pub struct Again {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Again {
    /// Starts the test of this name; `variable` tells it that it is the process to be
    /// killed, and its value what to do.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn start(test: &str, variable: &str, value: impl AsRef<OsStr>) -> Self {
        let own = std::env::current_exe().expect("a test program has a path");
        let mut child = Command::new(own)
            .args(["--exact", test, "--nocapture"])
            .env(variable, value)
            // What it lacks is for this process to report.
            .env_remove(crate::note::FILE)
            .env_remove(crate::time::ALONE)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test program can be started");
        let output = child.stdout.take().expect("it is piped");
        let lines = BufReader::new(output).lines();
        Self { child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it prints, until it ends.
    pub fn lines(&mut self) -> impl Iterator<Item = String> {
        self.lines.by_ref().map_while(Result::ok)
    }

    /// The rest of the first line that begins so.
    ///
    /// # Panics
    /// If it ends without such a line.
    pub fn says(&mut self, start: &str) -> String {
        let rest = self
            .lines()
            .find_map(|line| Some(line.strip_prefix(start)?.trim().to_owned()));
        rest.unwrap_or_else(|| panic!("it ended without '{start}': {:?}", self.child.wait()))
    }

    /// How it ended, if it has.
    ///
    /// # Panics
    /// If the system does not say.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked")
    }

    /// Kills it, and waits until it is gone.
    ///
    /// # Panics
    /// If it cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
    }
}

/// A test that fails leaves none behind.
impl Drop for Again {
    fn drop(&mut self) {
        // Gone already where it was killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
