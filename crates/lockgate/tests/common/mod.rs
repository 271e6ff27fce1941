//! What the tests of the command line share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use tempfile::TempDir;
use trial::Run;

/// A time limit beyond that of any command of these tests; a hang is a failure.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An empty folder to run in, with a scenario that measures nothing.
pub struct Desk {
    folder: TempDir,
}

pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Desk {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("probe.toml"), "schema = 1\n[probe]\n").unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join("lockgate-runs")) else {
            return vec![];
        };
        let mut runs: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.is_symlink())
            .collect();
        runs.sort();
        runs
    }

    /// The stored run, where there is one alone.
    pub fn stored(&self) -> Run {
        let text = fs::read_to_string(self.runs()[0].join("result.json")).unwrap();
        Run::read(&text).unwrap()
    }

    /// Runs the program with the arguments in that line.
    pub fn line(&self, arguments: &str) -> Ended {
        self.lockgate(&words(arguments))
    }

    pub fn lockgate(&self, arguments: &[&str]) -> Ended {
        self.lockgate_with(arguments, &[])
    }

    /// Runs the program here with that environment; it never reads ours.
    pub fn lockgate_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = Command::from_std(self.command());
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .timeout(PATIENCE);
        Ended::from(command.output().unwrap())
    }

    /// One row a line: arguments, `=>`, and parts of the error, apart by ` | `. Each is
    /// refused, and leaves no run.
    #[track_caller]
    pub fn refuses(&self, rows: &str, environment: &[(&str, &str)]) {
        for row in rows.lines().filter(|row| !row.trim().is_empty()) {
            let (arguments, parts) = row.split_once("=>").expect("a row has an arrow");
            let arguments = words(arguments);
            let parts: Vec<_> = parts.trim().split(" | ").collect();
            let ended = self.lockgate_with(&arguments, environment);
            assert_eq!(
                (ended.code, &*ended.stdout),
                (Some(2), ""),
                "{row}: {}",
                ended.stderr
            );
            ended.says(&parts);
        }
        assert!(self.runs().is_empty());
    }

    pub fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(program());
        command.current_dir(self.path());
        for variable in [
            "LOCKGATE_RUNS",
            "LOCKGATE_LOG",
            "LOCKGATE_TIER",
            "OPENSSL_ia32cap",
            "NO_COLOR",
        ] {
            command.env_remove(variable);
        }
        // Calibrations of tests are none of the user's.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockgate-cache");
        command.env("LOCKGATE_CACHE", cache);
        command
    }
}

/// The same by env(1), with no signal ignored: who runs these tests may ignore some
/// (nohup(1), a shell's `&`), and a program that is started inherits that.
pub fn with_default_signals(command: &std::process::Command) -> std::process::Command {
    let mut own = std::process::Command::new("env");
    own.arg("--default-signal=HUP,INT,TERM")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => own.env(name, value),
            None => own.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        own.current_dir(folder);
    }
    own
}

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_lockgate"))
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ended {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Ended with 2 and an error that has all these parts; no result was shown.
    #[track_caller]
    pub fn refused(self, parts: &[&str]) {
        assert_eq!((self.code, &*self.stdout), (Some(2), ""), "{}", self.stderr);
        self.says(parts);
    }

    /// On stderr are all these parts.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        holds(&self.stderr, parts);
    }

    /// On stdout are all these parts.
    #[track_caller]
    pub fn shows(&self, parts: &[&str]) {
        holds(&self.stdout, parts);
    }
}

#[track_caller]
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}
