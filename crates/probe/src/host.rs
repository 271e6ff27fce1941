//! The machine being probed: this one, or a recorded one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cpu::{Dump, Native, Processor, Source};

use crate::command::{self, Outcome};

/// A file is read up to this many bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// A directory is listed up to this many entries.
const ENTRIES_MAX: usize = 4096;

/// A machine, seen through a path prefix: every file, directory, link and
/// device is looked up below it. Reads are bounded and never fail: what
/// cannot be read is not there.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
    live: bool,
}

impl Host {
    /// This machine: `/`, its processor and its programs.
    #[must_use]
    pub fn this() -> Self {
        Self {
            root: PathBuf::from("/"),
            live: true,
        }
    }

    /// The machine recorded in `dir`, which holds `proc`, `sys`, `etc`, … and
    /// optionally `cpuid.txt` (see [`cpu::Dump`]) and `commands/` with one
    /// file a command line, blanks and slashes written `_`. Nothing is run.
    #[must_use]
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self {
            root: dir.into(),
            live: false,
        }
    }

    /// Whether this is the machine we run on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The processor by CPUID; `None` without CPUID or a sound recording.
    pub(super) fn processor(&self) -> Option<Processor> {
        Processor::decode(&*self.source()?)
    }

    /// The leaves of CPUID; `None` without a sound recording.
    pub(super) fn source(&self) -> Option<Box<dyn Source>> {
        if self.live {
            return Some(Box::new(Native));
        }
        let dump = Dump::parse(&self.text("/cpuid.txt")?).ok()?;
        Some(Box::new(dump))
    }

    /// The first MiB of a regular file, invalid UTF-8 replaced.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let path = self.resolve(path);
        // Opening a FIFO would wait for a writer for ever.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        // Some attributes fail half-way; what came before still counts.
        let read = File::open(&path)
            .ok()?
            .take(FILE_BYTES_MAX)
            .read_to_end(&mut bytes);
        (read.is_ok() || !bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line, trimmed; `None` where empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The first line parsed.
    pub(super) fn parsed<T: FromStr>(&self, path: &str) -> Option<T> {
        self.line(path)?.parse().ok()
    }

    /// The first line as a hexadecimal number, with or without `0x`.
    pub(super) fn hex(&self, path: &str) -> Option<u64> {
        let line = self.line(path)?;
        u64::from_str_radix(line.strip_prefix("0x").unwrap_or(&line), 16).ok()
    }

    /// A module parameter's `Y` or `1`.
    pub(super) fn switch(&self, path: &str) -> Option<bool> {
        match self.line(path)?.as_str() {
            "Y" | "y" | "1" => Some(true),
            "N" | "n" | "0" => Some(false),
            _ => None,
        }
    }

    /// Names in a directory, sorted; empty where there is none.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.resolve(path)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .take(ENTRIES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }

    /// Whether there is something at `path`.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.resolve(path).exists()
    }

    /// The last component of a link's target: drivers are linked by name.
    pub(super) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.resolve(path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// Whether the kernel has registered a protocol of sockets.
    pub(super) fn has_protocol(&self, name: &str) -> bool {
        let protocols = self.text("/proc/net/protocols").unwrap_or_default();
        let mut names = protocols.lines().map(|line| line.split_whitespace().next());
        names.any(|first| first == Some(name))
    }

    /// Whether the device opens for reading and writing (a recorded one: for
    /// reading, since any user may own the recording).
    pub(super) fn opens(&self, path: &str) -> io::Result<()> {
        OpenOptions::new()
            .read(true)
            .write(self.live)
            .open(self.resolve(path))
            .map(drop)
    }

    /// What a command prints; a recorded host answers from its recording.
    pub(super) fn command(&self, program: &str, arguments: &[&str]) -> Outcome {
        if self.live {
            return command::run(program, arguments);
        }
        let name = [&[program], arguments].concat().join("_").replace('/', "_");
        self.text(&format!("/commands/{name}"))
            .map_or(Outcome::Missing, Outcome::Printed)
    }

    fn resolve(&self, path: &str) -> PathBuf {
        // An absolute path would replace the prefix; `..` would leave it.
        let below = Path::new(path).components().filter_map(|part| match part {
            std::path::Component::Normal(name) => Some(name),
            _ => None,
        });
        self.root.join(below.collect::<PathBuf>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_prefix() {
        let host = Host::at("/somewhere");
        assert_eq!(
            host.resolve("/proc/../../etc/passwd"),
            Path::new("/somewhere/proc/etc/passwd")
        );
    }

    #[test]
    fn endless_and_special_files_are_bounded() {
        let host = Host::this();
        assert_eq!(host.text("/dev/zero"), None);
        assert_eq!(host.text("/proc"), None);
        assert_eq!(host.names("/proc/version"), [] as [&str; 0]);
    }
}
