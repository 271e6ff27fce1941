//! The daemon that is attacked, and what it takes of the host.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use sys::temporary::Folder;

use crate::player::cpus;

const PREFIX: &str = "lockgate-tenants-";
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// As long as its devices may take, and a little.
const ENDS_WITHIN: Duration = Duration::from_secs(45);
/// Between two looks at its memory.
const LOOK: Duration = Duration::from_millis(10);

/// Devices: who is measured, who is fair, and who attacks.
pub const VICTIM: &str = "victim";
pub const NEIGHBOUR: &str = "neighbour";
pub const ATTACKER: &str = "attacker";

/// `lockgate serve`, confined as by default. It dies with us, and its folder goes.
pub struct Daemon {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    largest: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    folder: Folder,
}

/// What it holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    pub resident_bytes: u64,
    /// `None` where this user may not look.
    pub descriptors: Option<u64>,
    pub mappings: Option<u64>,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if !self.is_alive() {
            return;
        }
        let _ = self.ask_to_end();
        if !self.ends() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Daemon {
    pub fn start() -> anyhow::Result<Self> {
        let folder = Folder::new(PREFIX)?;
        let [worker, ..] = cpus()?;
        let mut file = format!("workers = [{worker}]\n");
        for name in [VICTIM, NEIGHBOUR, ATTACKER] {
            let socket = folder.path().join(name);
            file += &format!("[[vf]]\nname = \"{name}\"\nsocket = {socket:?}\n");
        }
        let path = folder.path().join("tenants.toml");
        std::fs::write(&path, file)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockgate"));
        command.args(["serve", "--no-lines"]).arg(&path);
        command.env_remove("LOCKGATE_TIER");
        command.env("LOCKGATE_CACHE", cache());
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = sys::process::spawn_dying_with_us(command)?;
        let output = child.stderr.take().context("it was piped")?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            let all = BufReader::new(output).lines().map_while(Result::ok);
            for line in all {
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(line);
            }
        });
        let mut daemon = Self {
            child,
            lines,
            largest: Arc::default(),
            is_over: Arc::default(),
            folder,
        };
        daemon.wait_until_it_serves()?;
        let (largest, is_over) = (Arc::clone(&daemon.largest), Arc::clone(&daemon.is_over));
        let id = daemon.child.id();
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                largest.fetch_max(resident_bytes(id).unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        Ok(daemon)
    }

    fn wait_until_it_serves(&mut self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !self.lines().iter().any(|line| line.starts_with("serving")) {
            if !self.is_alive() || begin.elapsed() > STARTS_WITHIN {
                bail!("the daemon does not start: {}", self.lines().join("\n"));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    pub fn socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it has said.
    pub fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub fn held(&self) -> Held {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let descriptors = std::fs::read_dir(process.join("fd")).ok();
        let maps = std::fs::read_to_string(process.join("maps")).ok();
        Held {
            resident_bytes: resident_bytes(self.child.id()).unwrap_or(0),
            descriptors: descriptors.map(|all| all.count() as u64),
            mappings: maps.map(|text| text.lines().count() as u64),
        }
    }

    /// Its open files by name, each as often as it is there.
    pub fn files(&self) -> Vec<String> {
        let folder = format!("/proc/{}/fd", self.child.id());
        let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let links = all.filter_map(|one| std::fs::read_link(one.path()).ok());
        links.map(|link| link.display().to_string()).collect()
    }

    /// The most memory that was seen since this was asked last.
    pub fn take_largest(&self) -> u64 {
        self.largest.swap(0, Ordering::Relaxed)
    }

    fn ask_to_end(&self) -> anyhow::Result<()> {
        let id = Pid::from_child(&self.child);
        Ok(kill_process(id, Signal::TERM)?)
    }

    fn ends(&mut self) -> bool {
        let begin = Instant::now();
        while self.is_alive() && begin.elapsed() < ENDS_WITHIN {
            std::thread::sleep(LOOK);
        }
        !self.is_alive()
    }

    /// Ends it as an operator does; its counters.
    pub fn end(mut self) -> anyhow::Result<String> {
        self.ask_to_end()?;
        let mut counters = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut counters)?;
        }
        if !self.ends() {
            bail!("the daemon does not end within {ENDS_WITHIN:?}");
        }
        Ok(counters)
    }
}

pub fn cache() -> PathBuf {
    // Calibrations of a bench are none of the user's.
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockgate-cache")
}

/// Not `status`, which costs the process more.
fn resident_bytes(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/statm")).ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
