//! Control planes: programs in a router's namespace that fill its table.

mod bird;
mod frr;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use net::journal::Record;
use net::{Journal, Namespace};
use rustix::process::{Pid, Signal, kill_process};
use sys::failure::Failure;

use super::PlaneError;
use super::plan::Control;

/// Control sockets appear when the configuration was read, of a million lines perhaps;
/// or a program has ended with a reason.
const START_WAIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// How long programs may take to end after they were asked.
const END_WAIT: Duration = Duration::from_secs(3);

/// A control plane that runs.
pub(super) struct Running {
    pub control: Control,
    /// Of the configuration, as it was read: a change makes it be read again.
    text: Vec<u8>,
    /// In the order in which they were started.
    programs: Vec<Program>,
    /// Where people ask it, in their command's words.
    pub asked_by: String,
    files: Vec<PathBuf>,
    // Last: what is in it is used until then.
    _folder: Option<Record>,
}

struct Program {
    name: &'static str,
    child: Child,
    _record: Record,
}

/// Whether the programs are there, and take the configuration: before anything is made.
pub(super) fn check(control: &Control) -> Result<(), PlaneError> {
    match control {
        Control::Bird(file) => bird::check(file),
        Control::Frr(file) => frr::check(file),
    }
}

impl Running {
    /// Starts it inside. What its programs say is in `folder`, which is ours alone; their
    /// sockets are there, too, or where they can make them.
    pub(super) fn start(
        journal: &Journal,
        namespace: &Namespace,
        control: &Control,
        folder: &Path,
    ) -> Result<Self, PlaneError> {
        match control {
            Control::Bird(file) => bird::start(journal, namespace, file, folder),
            Control::Frr(file) => frr::start(journal, namespace, file, folder),
        }
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.programs.iter_mut().all(Program::is_alive)
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.programs.iter().map(|one| one.child.id()).collect()
    }

    /// Its programs and their numbers.
    pub(super) fn words(&self) -> String {
        let each = self.programs.iter();
        let each = each.map(|one| format!("{} {}", one.name, one.child.id()));
        format!("{}; {}", each.collect::<Vec<_>>().join(", "), self.asked_by)
    }

    /// Whether its configuration is another now.
    pub(super) fn is_changed(&self) -> Result<bool, PlaneError> {
        Ok(read(self.control.file())? != self.text)
    }

    /// Makes it read its configuration again, without an end if it can: it says whether.
    pub(super) fn reconfigure(&mut self) -> Result<bool, PlaneError> {
        check(&self.control)?;
        let (Control::Bird(file), [bird]) = (&self.control, &self.programs[..]) else {
            return Ok(false);
        };
        self.text = read(file)?;
        // bird(8).
        kill_process(Pid::from_child(&bird.child), Signal::HUP).map_err(|error| {
            failed("cannot tell bird of its new configuration".to_owned())(error.into())
        })?;
        Ok(true)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for one in self.programs.iter().rev() {
            let _ = kill_process(Pid::from_child(&one.child), Signal::TERM);
        }
        let deadline = Instant::now() + END_WAIT;
        for mut one in self.programs.drain(..).rev() {
            while one.is_alive() && Instant::now() < deadline {
                std::thread::sleep(LOOK);
            }
            let _ = one.child.kill();
            let _ = one.child.wait();
        }
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Program {
    /// Starts one, which writes what it says into `said`, and dies with us.
    fn start(
        journal: &Journal,
        namespace: &Namespace,
        name: &'static str,
        mut command: Command,
        said: &Path,
    ) -> Result<Self, PlaneError> {
        let log = std::fs::File::create(said);
        let log = log.map_err(failed(format!("cannot write {}", said.display())))?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let (child, record) = namespace
            .spawn_journalled(journal, command)
            .map_err(failed(format!("cannot start {name}")))?;
        Ok(Self {
            name,
            child,
            _record: record,
        })
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Until that socket is there.
    fn wait(&mut self, socket: &Path, said: &Path) -> Result<(), PlaneError> {
        let deadline = Instant::now() + START_WAIT;
        while !socket.exists() {
            if !self.is_alive() || Instant::now() > deadline {
                let text = std::fs::read(said).unwrap_or_default();
                return Err(PlaneError::Plan(format!(
                    "{} did not start: {}",
                    self.name,
                    shown(&text)
                )));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// The program, as `package` brings it.
fn program(name: &str, folders: &[&str], package: &str) -> Result<Command, PlaneError> {
    let lacks = |remedy: String| PlaneError::NotSupported {
        what: format!("a router with {package}"),
        remedy,
    };
    let found = sys::program::find(name, folders).map_err(|error| lacks(error.to_string()))?;
    found.map(Command::new).ok_or_else(|| {
        lacks(format!(
            "no '{name}' here; install it (apt-get install {package}), or leave the key out"
        ))
    })
}

/// Runs a command to its end, as a check of a configuration.
fn accepts(mut command: Command, whose: &str) -> Result<(), PlaneError> {
    let ran = command.stdin(Stdio::null()).output();
    let Output {
        status,
        stdout,
        stderr,
    } = ran.map_err(failed(format!("cannot run {whose}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(PlaneError::Plan(format!(
            "{whose} does not take its configuration: {}",
            shown(&[stderr, stdout].concat())
        ))),
    }
}

/// What is told of a reason, bytes.
const SAID_BYTES_MAX: usize = 2048;

fn shown(said: &[u8]) -> String {
    let part = &said[..said.len().min(SAID_BYTES_MAX)];
    sys::plain::plain(part).trim().to_owned()
}

fn read(file: &Path) -> Result<Vec<u8>, PlaneError> {
    std::fs::read(file).map_err(failed(format!("cannot read {}", file.display())))
}

fn failed(what: String) -> impl FnOnce(std::io::Error) -> PlaneError {
    move |error| PlaneError::Router {
        what,
        source: Failure::as_is(error),
    }
}
