//! Where the program that keeps routers is asked: a folder of a file's, beside the
//! journals. The program reserves it, and it goes with the routers.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use forward::plane::RouterShown;
use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure, OrExit};

/// Only root may enter it.
const FOLDER: &str = "/run/lockgate";
/// How names of those folders begin.
const BEGIN: &str = "lockgate-router-";
/// A link to the file.
const FILE: &str = "file";
/// An answer takes as long as a reload: bird, and reading a million routes.
const PATIENCE: Duration = Duration::from_secs(60);
/// A killed program is gone by then.
const ENDING: Duration = Duration::from_secs(2);
/// No request and no answer is longer.
pub const LINE_BYTES_MAX: u64 = 16 << 20;
const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    Show,
    Reload,
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Shown(Vec<RouterShown>),
    Changed(Vec<String>),
    Failed { exit: u8, reason: String },
}

impl Answer {
    pub fn into_failure(self) -> Failure {
        let (exit, reason) = match self {
            Self::Failed { exit, reason } => (exit, reason),
            other => (3, format!("an answer that was not asked for: {other:?}")),
        };
        let exit = match exit {
            2 => Exit::Usage,
            4 => Exit::Missing,
            _ => Exit::Failed,
        };
        Failure::new(exit, reason)
    }
}

/// Of the routers of a file.
pub struct Desk {
    file: PathBuf,
    folder: PathBuf,
}

impl Desk {
    /// Finds the desks of all files whose routers are up, or were when the program that
    /// kept them was killed.
    pub fn all() -> Result<Vec<Self>, Failure> {
        let entries = match std::fs::read_dir(FOLDER) {
            Ok(entries) => entries.flatten(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read {FOLDER}"))
                    .or_failed();
            }
        };
        let of = |folder: PathBuf| {
            let name = folder.file_name()?.to_str()?;
            let file = std::fs::read_link(folder.join(FILE)).ok()?;
            name.starts_with(BEGIN).then_some(Self { file, folder })
        };
        let mut all: Vec<_> = entries.filter_map(|entry| of(entry.path())).collect();
        all.sort_by(|one, other| one.file.cmp(&other.file));
        Ok(all)
    }

    /// By the file's path, so that two files of one name are two.
    pub fn of(file: &Path) -> Result<Self, Failure> {
        // `down` is also for a file that was removed.
        let path = file
            .canonicalize()
            .or_else(|_| std::path::absolute(file))
            .with_context(|| format!("cannot read {}", file.display()))
            .or_usage()?;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(FOLDER)
            .with_context(|| format!("cannot make {FOLDER}"))
            .or_failed()?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let plain: String = stem
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter))
            .take(24)
            .collect();
        let digest = digest(path.as_os_str().as_encoded_bytes());
        let folder = Path::new(FOLDER).join(format!("{BEGIN}{plain}-{digest:08x}"));
        Ok(Self { file: path, folder })
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// For sockets of control planes, too.
    pub fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("sock")
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whose routers they are, for who does not name the file.
    pub fn sign(&self) -> std::io::Result<()> {
        std::os::unix::fs::symlink(&self.file, self.folder.join(FILE))
    }

    pub fn is_kept(&self) -> bool {
        UnixStream::connect(self.socket()).is_ok()
    }

    /// After no answer came: who is being killed accepts for a moment.
    pub fn is_still_kept(&self) -> bool {
        let deadline = Instant::now() + ENDING;
        while self.is_kept() {
            if Instant::now() > deadline {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }

    pub fn ask(&self, request: Request) -> Result<Answer, Failure> {
        let Ok(mut stream) = UnixStream::connect(self.socket()) else {
            return Err(Failure::new(
                Exit::Failed,
                format!(
                    "the routers of {0} are not up; `lockgate router up {0}` makes them",
                    self.file.display()
                ),
            ));
        };
        let exchange = || -> anyhow::Result<Answer> {
            stream.set_read_timeout(Some(PATIENCE))?;
            let line = serde_json::to_string(&request)?;
            writeln!(stream, "{line}")?;
            let mut text = String::new();
            BufReader::new((&stream).take(LINE_BYTES_MAX)).read_line(&mut text)?;
            if text.is_empty() {
                return Err(anyhow!("it ended"));
            }
            Ok(serde_json::from_str(&text)?)
        };
        let mut exchange = exchange;
        exchange()
            .with_context(|| {
                format!(
                    "the program that keeps the routers does not answer; it writes to {}",
                    self.log().display()
                )
            })
            .or_failed()
    }

    /// After it has said that it ends: its folder goes last.
    pub fn wait_until_gone(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        while self.folder.exists() {
            if Instant::now() > deadline {
                return Err(Failure::new(
                    Exit::Failed,
                    format!(
                        "the program that keeps the routers does not end; it writes to {}",
                        self.log().display()
                    ),
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// FNV-1a (draft-eastlake-fnv): names need to differ, nothing more.
fn digest(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
